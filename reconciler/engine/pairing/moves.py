"""Resources with a new name: recreated at their position if their kind can do that; otherwise left alone, with
instructions.

Servers rename nothing. A kind that `renames` is replaced: the change has the old object as `live`, and is carried out,
interrupted and finished like every replacement. The reason of the entry is the consent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Kind, Registry
from reconciler.changes.renaming import moved_section_text
from reconciler.engine.pairing import unfinished
from reconciler.model.ledger.intents import Intent
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Consent, Resource
from reconciler.model.topology import Moved, Topology
from reconciler.model.wire.snapshot import Snapshot

RENAMING = "330"
"""Number of the rule by which a kind judges a rename, after the letters of its family."""


def changes_by_moves(
    topology: Topology,
    live: Mapping[Address, Resource],
    ledger: Mapping[Address, Owned],
    changes: Mapping[Address, Change],
    registry: Registry,
    snapshot: Snapshot,
) -> Iterator[tuple[Address, Change]]:
    """The changes that an entry in `moved` turns into others."""
    for entry in topology.moved:
        change = changes.get(entry.address)
        if entry.is_of_topology or change is None or change.desired is None or change.action is Action.UNKNOWN:
            continue
        kind = registry.of(entry.origin)
        origin_change = changes.get(entry.origin)
        why = kind.unknown(entry.origin, snapshot) if entry.origin not in live else None
        if origin_change and origin_change.action is Action.UNKNOWN:
            why = origin_change.reason
        if why:
            yield entry.address, replace(change, action=Action.UNKNOWN, reason=why)
        elif entry.origin in live and change.live is None:
            yield from _renamed_change(entry, change, live[entry.origin], ledger.get(entry.origin), kind)
        elif entry.origin in live and origin_change and origin_change.action is Action.ORPHAN:
            yield entry.origin, replace(origin_change, reason=_reason_when_both_exist(entry, kind))
        elif entry.origin not in live and (owned := ledger.get(entry.origin)) and owned.topology == topology.name:
            if kind.remains(entry.origin, snapshot):
                yield entry.address, replace(change, origin=entry.origin)
                continue
            yield from _changes_for_gone_origin(entry, change, owned, kind)


def is_renamable(entry: Moved, kind: Kind) -> bool:
    """Can a replacement give the object its new name? A consumer stays on its stream."""
    return kind.renames and entry.origin.names[:-1] == entry.address.names[:-1]


def _renamed_change(
    entry: Moved, change: Change, old: Resource, owned: Owned | None, kind: Kind
) -> Iterator[tuple[Address, Change]]:
    if not is_renamable(entry, kind) or change.desired is None:
        yield entry.address, replace(change, origin=entry.origin)
        return
    intent = change.intent if isinstance(change.intent, Intent) else None
    compared = unfinished.compare_unfinished(change.desired, old, owned, intent, kind.fields)
    yield (
        entry.address,
        replace(
            compared,
            action=Action.REPLACE,
            intent=intent,
            origin=entry.origin,
            allow=_consent_of_entry(entry, kind),
            reason=unfinished.RESUMED if change.intent else f"it is {entry.origin} under a new name",
        ),
    )
    # It is part of that one change: no orphan, and gone for every rule that reads what will exist.
    yield entry.origin, Change(address=entry.origin, action=Action.ABSENT)


def _reason_when_both_exist(entry: Moved, kind: Kind) -> str:
    sentence = f"`moved` does nothing, because {entry.address} is there already"
    if not kind.renames:
        return sentence
    return f"{sentence} and has a position of its own; if it is deleted, the next plan makes it again at this one's position"


def _changes_for_gone_origin(
    entry: Moved, change: Change, owned: Owned, kind: Kind
) -> Iterator[tuple[Address, Change]]:
    """The old one is gone, and its record speaks for the new one, which takes its place."""
    is_there = change.live is not None
    reason = f"it is now {entry.address}" if is_there else f"it is gone; {entry.address} takes its place"
    yield (
        entry.origin,
        Change(address=entry.origin, action=Action.FORGET, owned=owned, where=entry.where, reason=reason),
    )
    is_copied = is_there and not kind.renames  # clients or a source filled it; nobody can tell what is missing
    is_known = change.owned is not None or change.intent is not None
    if not is_known and not is_copied and entry.origin.names[:-1] == entry.address.names[:-1]:
        created = change.live.state.get("created") if change.live else None
        recreation = (
            f"{entry.origin} is gone, and this one was made{f' at {created}' if created else ''}" if is_there else ""
        )
        yield entry.address, replace(change, former=owned, made_anew=recreation)


def orphans_with_advice(changes: Mapping[Address, Change], registry: Registry) -> Iterator[tuple[Address, Change]]:
    """Orphans beside something new that is declared alike, with the entry in `moved` that says it is the same object. One
    that was renamed or replaced before needs to be no more than alone beside the only new one: a revert takes back more."""
    orphans = [
        change for change in changes.values() if change.action is Action.ORPHAN and registry.of(change.address).renames
    ]
    orphans_by_parent = Counter(_parent_key(change.address) for change in orphans)
    created: dict[object, list[Address]] = {}
    for new in changes.values() if orphans else ():
        if new.action is Action.CREATE and new.desired:
            created.setdefault(_configuration_key(new.desired), []).append(new.address)
            created.setdefault(_parent_key(new.address), []).append(new.address)
    for orphan in orphans:
        alike = (
            created.get(_configuration_key(_with_start_of_file(orphan.live, orphan.owned)), ()) if orphan.live else ()
        )
        is_alone = (
            orphans_by_parent[_parent_key(orphan.address)] == 1 and orphan.owned and orphan.owned.start
        )  # it was moved before
        others = created.get(_parent_key(orphan.address), ()) if is_alone else ()
        candidates = alike if len(alike) == 1 else others
        if len(candidates) == 1 and not orphan.reason:
            entry = moved_section_text(orphan.address, candidates[0])
            reason = (
                f"{candidates[0]} is new{' and declared alike' if alike else ''}. If it is this one under a new name, write `{entry}` at "
                "the top level of the file: it then keeps its position, if the server knows it"
            )
            yield orphan.address, replace(orphan, reason=reason)


def _parent_key(address: Address) -> object:
    """Equal for two resources of one kind under the same parent."""
    return address.kind, address.names[:-1]


def _with_start_of_file(live: Resource, owned: Owned | None) -> Resource:
    """An object that was renamed or replaced before has another start than its file says."""
    return unfinished.with_stated_start(live, owned.start, owned.fields) if owned else live


def _configuration_key(resource: Resource) -> object:
    """Equal for two resources under the same parent that are configured the same."""
    return resource.address.kind, resource.address.names[:-1], json.dumps(resource.config, sort_keys=True)


def _consent_of_entry(entry: Moved, kind: Kind) -> tuple[Consent, ...]:
    if entry.reason is None:
        return ()
    code = f"{kind.family}{RENAMING}"
    return (Consent(code=code, to=entry.origin.name, reason=entry.reason, until=entry.until),)
