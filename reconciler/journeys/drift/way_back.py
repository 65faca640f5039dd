"""Plans the way back: what drifted returns to what was last applied, and nothing else changes.

The same engine plans it, with rules, consent and order, but from other wishes: every live object as it is, with only
its drifted fields as they were. Later changes of the file are not applied. A field that changed on both sides goes back
too.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.changes.change import Action, Change
from reconciler.changes.diff import differences, explain_changes
from reconciler.changes.kind import Registry
from reconciler.changes.plan import Plan
from reconciler.changes.view import View
from reconciler.journeys.drift.drift import AT_REST, Drift, FieldDrift, Item, Standing
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Json, Resource
from reconciler.model.run_options import RunOptions

ABOUT_FILES = frozenset({"XX301", "XX302"})
"""Unused consents and guards are not reported: they are about what the file wants, and this plans something else."""


def restorable(drift: Drift) -> tuple[Item, ...]:
    """What drifted and may be put back from here."""
    return tuple(item for item in drift.drifted if item.is_restorable)


def missing_streams(address: Address, view: View, registry: Registry) -> tuple[Address, ...]:
    """Return the stream that someone else manages and that does not exist, if the object stands on one. Nothing puts
    the object back before the owner recreates that stream."""
    above = registry.backed_by(address.stream) if registry.of(address).place.within else ()
    return tuple(stream for stream in above if (change := view.changes.get(stream)) and _is_missing(change))


def _is_missing(change: Change) -> bool:
    return change.live is None and change.desired is not None and change.desired.external


def _missing_stream_changes(drift: Drift, view: View, registry: Registry) -> dict[Address, Change]:
    """The changes of missing streams that objects to put back stand on."""
    items = (Address.parse(item.address) for item in restorable(drift))
    return {stream: view.changes[stream] for item in items for stream in missing_streams(item, view, registry)}


def narrowed_view(view: View, drift: Drift, registry: Registry) -> View:
    """Reduce the comparison to the changes that put something back, and what refuses them."""
    items = {Address.parse(item.address): item for item in restorable(drift)}
    changes = {**dict(_changes_back(view, items, registry)), **_missing_stream_changes(drift, view, registry)}
    desired = {address: change.desired for address, change in changes.items() if change.desired}
    return replace(view, changes=changes, desired=desired)


def patterns_of_restorable(drift: Drift, view: View, registry: Registry) -> tuple[str, ...]:
    """Return patterns that select exactly the objects to put back, and what refuses them."""
    selected = (
        *(item.address for item in restorable(drift)),
        *map(str, _missing_stream_changes(drift, view, registry)),
    )
    return tuple(map(glob.escape, selected))


def with_old_records(plan: Plan, view: View, drift: Drift, options: RunOptions, registry: Registry) -> Plan:
    """Keep the records as they were, and count what is left out: changes that wait to be applied, and drift that is
    not selected."""
    owned = {str(address): record for address, record in view.ledger.items()}
    changes = tuple(
        replace(its, record=owned[its.address]) if its.record and its.address in owned else its for its in plan.changes
    )
    waiting = sum(item.standing is Standing.PENDING or _is_waiting(item, view, registry) for item in drift.items)
    unselected = (change for a, change in view.changes.items() if not options.selects(a, change.labels))
    left_out = waiting + sum(change.action.writes for change in unselected)
    addresses = {its.address for its in plan.changes}
    kept = sum(change.action in AT_REST and str(a) not in addresses for a, change in view.changes.items())
    diagnostics = tuple(its for its in plan.diagnostics if its.code not in ABOUT_FILES)
    return replace(plan, changes=changes, diagnostics=diagnostics, kept=kept, hidden=left_out)


def _is_waiting(item: Item, view: View, registry: Registry) -> bool:
    """Does the file change something of it that is not put back? Where an object that is recreated starts is the file's to say."""
    address = Address.parse(item.address)
    change = view.changes.get(address)
    starts = registry.of(address).starts if change is None or change.live is None or change.made_anew else ()
    others = (field for field in item.fields if field.change.top not in starts)
    return any(not field.drifted or field.applied != field.change.desired for field in others)


def _changes_back(view: View, items: Mapping[Address, Item], registry: Registry) -> Iterator[tuple[Address, Change]]:
    for address, change in view.changes.items():
        if change.desired is None or change.desired.external:
            continue
        if address in items:
            yield address, _change_back(change, items[address], registry)
        elif change.live is not None:
            yield address, _as_live(change)


def _as_live(change: Change) -> Change:
    """The object as it is live, whatever the file says."""
    assert change.live is not None
    assert change.desired is not None
    desired = replace(change.desired, config=change.live.config)
    return replace(change, action=Action.KEEP, desired=desired, fields=(), intent=None)


def _change_back(change: Change, item: Item, registry: Registry) -> Change:
    assert change.desired is not None
    owned = change.owned
    kind = registry.of(change.address)
    if change.live is None:
        config = _applied_config(change.desired.config, owned, kind.starts)
        return replace(change, desired=replace(change.desired, config=config))
    config = dict(change.live.config)
    for field in item.fields:
        if field.is_drift:
            _restore_field(config, field, owned.applied if owned else change.desired.config)
    if change.made_anew:  # and where it starts is what the file may correct
        config = _with_declared_start(config, change.desired.config, kind.starts)
    infos = kind.fields
    desired = replace(change.desired, config=config)
    fields = explain_changes(
        differences(config, change.live.config, owned, infos), _with_live_defaults(desired, change), change.live
    )
    action = Action.UPDATE if fields else Action.ADOPT
    return replace(change, action=action, desired=desired, fields=fields, intent=None)


def _applied_config(declared: Config, owned: Owned | None, starts: Iterable[str]) -> Config:
    """The applied configuration, except that the start comes from the file: a recreated consumer continues at the position
    of the old one, and a recreated stream at its numbers."""
    if owned is None:
        return declared
    return _with_declared_start(owned.applied, declared, starts)


def _with_declared_start(config: Config, declared: Config, starts: Iterable[str]) -> dict[str, Json]:
    """The same with the start that the file says."""
    names = tuple(starts)
    rest = {name: value for name, value in config.items() if name not in names}
    return {**rest, **{name: declared[name] for name in names if name in declared}}


def _with_live_defaults(desired: Resource, change: Change) -> Resource:
    """A value that nobody gave when it was applied keeps its present origin, as far as the value is still the same."""
    assert change.desired is not None
    same = {name for name, value in desired.config.items() if change.desired.config.get(name) == value}
    filled = {name: default for name, default in desired.filled.items() if name in same or name not in desired.config}
    return replace(
        desired, filled=filled, follows={name: desired.follows[name] for name in desired.follows.keys() & same}
    )


def _restore_field(config: dict[str, Any], field: FieldDrift, applied: Config) -> None:
    """Put a field back: for metadata only the key, because other keys may belong to others; any other field as a
    whole."""
    top = field.change.top
    if top != "metadata" or field.path == "metadata":
        _set_or_remove(config, top, applied.get(top))
        return
    inner = dict(config.get(top) or {})
    _set_or_remove(inner, field.path.removeprefix("metadata."), field.applied)
    _set_or_remove(config, top, inner or None)


def _set_or_remove(config: dict[str, Any], name: str, value: Json) -> None:
    if value is None:
        config.pop(name, None)
    else:
        config[name] = value
