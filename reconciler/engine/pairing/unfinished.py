"""Comparing replaced objects: they may have a start that the file does not know, or an interrupted run may have left
them half replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from reconciler.changes.change import Action, Change, FieldChange, FieldClass
from reconciler.changes.diff import resource_change
from reconciler.changes.kind import Registry
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.intents import Intent
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Resource
from reconciler.model.topology import Topology

INTERRUPTED = "A run that was replacing this was interrupted"
RESUMED = f"{INTERRUPTED}; this continues where it stopped."
TAKEN_BACK = (
    "A run that was replacing this was interrupted, and nobody wants that change any more; this cleans up after it."
)
UNREADABLE = "it is being replaced, but the entry about that in bucket reconciler cannot be used"

Begun = Mapping[Address, Intent | str]


def compare_unfinished(
    desired: Resource,
    live: Resource | None,
    owned: Owned | None,
    intent: Intent | None,
    fields: Mapping[str, FieldInfo],
    begins: Collection[str] = (),
) -> Change:
    """`compare`, for objects that may have been replaced, may be half replaced, or have moved on from their start."""
    if intent is None:
        as_stated = _with_start_of_file(live, desired, owned.start, owned.fields) if live and owned else live
        change = resource_change(desired, as_stated, owned, fields)
        return _accept_moved_on(change, live, owned, fields, begins) if live else change
    owned = owned or Owned(topology=intent.topology, source=intent.source)  # whoever began it owns it
    if live is None:
        change = resource_change(desired, None, owned, fields)
        return replace(change, action=Action.REPLACE, intent=intent, reason=RESUMED)
    start, made = start_and_config_given(live.config, intent, owned)
    as_stated = _with_start_of_file(live, desired, start, made or owned.fields)
    change = resource_change(desired, as_stated, owned, fields)
    change = replace(
        change, fields=tuple(_mark_made(field_change, as_stated.config, made) for field_change in change.fields)
    )
    if intent.is_made(live.config):
        return replace(change, action=Action.REPLACE, intent=intent, reason=RESUMED)
    reason = RESUMED if change.touches(*intent.fields) else TAKEN_BACK
    left = tuple(_mark_unfinished(field_change, intent, fields) for field_change in change.fields)
    return replace(change, action=Action.UPDATE, intent=intent, reason=reason, fields=left, began=start)


def start_and_config_given(live: Config, intent: Intent, owned: Owned | None) -> tuple[Config, Config]:
    """What no record says of a live object, since replacements were interrupted: the start that one gave it, and the
    configuration with which one made it; nothing where it is the recorded object."""
    if intent.is_made(live):
        return intent.start, intent.wanted
    starts = (intent.start, intent.stood, owned.start if owned else {})
    return next((start for start in starts if start and has_start(live, start)), {}), intent.made


def _mark_made(field_change: FieldChange, live: Config, made: Config) -> FieldChange:
    """A value with which an interrupted replacement made the object is its own; nobody changed it outside."""
    is_its_own = bool(made) and live.get(field_change.top) == made.get(field_change.top)
    is_blamed = field_change.field_class in (FieldClass.DRIFTED, FieldClass.BOTH)
    return replace(field_change, field_class=FieldClass.UNFINISHED) if is_its_own and is_blamed else field_change


def changes_left_by_renames(
    changes: Mapping[Address, Change], begun: Begun, registry: Registry
) -> dict[Address, Change]:
    """Objects that a run was about to rename when it was interrupted, and that keep their names: what the run wrote there
    for a moment is its own."""
    by_age = {intent.created: intent for intent in begun.values() if isinstance(intent, Intent) and intent.created}
    marked: dict[Address, Change] = {}
    for address, change in changes.items() if by_age else ():
        intent = by_age.get(str(change.live.state.get("created"))) if change.live else None
        if intent and change.intent is None:
            fields = registry.of(address).fields
            marked[address] = replace(
                change, fields=tuple(_mark_unfinished(field_change, intent, fields) for field_change in change.fields)
            )
    return marked


def _mark_unfinished(field_change: FieldChange, intent: Intent, fields: Mapping[str, FieldInfo]) -> FieldChange:
    """A value that a replacement writes for a moment is its own; nobody changed it outside."""
    is_its_own = bool(
        field_change.top in fields and fields[field_change.top].passing
    ) and field_change.live != intent.old.get(field_change.top)
    return replace(field_change, field_class=FieldClass.UNFINISHED) if is_its_own else field_change


MOVED_ON = "only where a consumer starts, and this one has moved on: apply records it and leaves the server's value"


def _accept_moved_on(
    change: Change, live: Resource, owned: Owned | None, fields: Mapping[str, FieldInfo], begins: Collection[str]
) -> Change:
    """If only the file says another start, changing it would have no effect. If the object was applied, and somebody
    else created it with another start, that is drift. `live`: as the server shows it."""
    if not begins or not change.touches(*begins) or change.live is None or change.desired is None:
        return change
    desired_config, live_config = change.desired.config, change.live.config
    if owned and any(live_config.get(name) != owned.applied.get(name) for name in begins):
        return change
    words = {name: desired_config[name] for name in begins if name in desired_config}
    config = {name: value for name, value in live_config.items() if name not in begins} | words
    rest = resource_change(change.desired, replace(change.live, config=config), owned, fields)
    changed = [name for name in begins if live_config.get(name) != desired_config.get(name)]
    return replace(
        rest,
        action=Action.ADOPT if rest.action is Action.KEEP else rest.action,
        began={name: live.config.get(name) for name in begins},
        reason=f"{' and '.join(changed)} {'say' if len(changed) > 1 else 'says'} {MOVED_ON}",
    )


def _with_start_of_file(live: Resource, desired: Resource, start: Config, words: Config) -> Resource:
    """The start that a replacement had to use counts as what the file said then, unless the file now says that very
    start."""
    return live if has_start(desired.config, start) else with_stated_start(live, start, words)


def with_stated_start(live: Resource, start: Config, words: Config) -> Resource:
    """The live object, with what a file said of its start in place of the start that a replacement had to use."""
    if not start or not has_start(live.config, start):
        return live
    config = {name: value for name, value in live.config.items() if name not in start}
    return replace(live, config={**config, **{name: words[name] for name in start if name in words}})


def has_start(config: Config, start: Config) -> bool:
    """Was it created with this start?"""
    return all(config.get(name) == value for name, value in start.items())


def undeclared_replacements(
    topology: Topology, begun: Begun, changes: Mapping[Address, Change]
) -> dict[Address, Change]:
    """Resources that were being replaced and are no longer declared."""
    undeclared: dict[Address, Change] = {}
    for address, intent in begun.items():
        change = changes.get(address)
        if change and change.desired:
            continue
        if isinstance(intent, str):
            if change:  # nobody knows what of it is half done
                undeclared[address] = replace(change, action=Action.UNKNOWN, reason=f"{UNREADABLE}: {intent}")
        elif change is None and intent.topology == topology.name:
            kept = intent.notes.get("placeholder")
            reason = "a run was interrupted while it replaced this: declare it to finish that, or remove it"
            reason += f". Until then placeholder {kept} may keep messages that nobody wants any more" if kept else ""
            undeclared[address] = Change(address=address, action=Action.ORPHAN, intent=intent, reason=reason)
        elif (
            change
            and change.action in (Action.FORGET, Action.ABSENT)
            and address in {r.address for r in topology.removed}
        ):
            undeclared[address] = replace(change, action=Action.DELETE, intent=intent)
        elif change:
            undeclared[address] = replace(change, intent=intent)
    return undeclared
