"""Resources with a new name: recreated at their position if their kind can do that; otherwise left alone, with
instructions.

Servers rename nothing. A kind that `renames` is replaced: the change has the old object as `live`, and is carried out,
interrupted and finished like every replacement. The reason of the entry is the consent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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
        if _is_done(entry, change, topology, ledger):
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


def _is_done(entry: Moved, change: Change, topology: Topology, ledger: Mapping[Address, Owned]) -> bool:
    """Did an apply carry it out? What has the old name now is another object, which this topology does not own."""
    owned, origin = change.owned, ledger.get(entry.origin)
    if owned is None or change.intent is not None or str(entry.origin) not in owned.earlier:
        return False
    return origin is None or origin.topology != topology.name


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
            earlier=_former_addresses(entry, owned),
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
    change = replace(change, earlier=_former_addresses(entry, owned)) if is_renamable(entry, kind) else change
    if not is_known and not is_copied and entry.origin.names[:-1] == entry.address.names[:-1]:
        created = change.live.state.get("created") if change.live else None
        recreation = (
            f"{entry.origin} is gone, and this one was made{f' at {created}' if created else ''}" if is_there else ""
        )
        change = replace(change, former=owned, made_anew=recreation)
    yield entry.address, change


def _former_addresses(entry: Moved, owned: Owned | None) -> tuple[str, ...]:
    """The addresses until now of what is renamed."""
    return (*(owned.earlier if owned else ()), str(entry.origin))


def orphans_with_advice(changes: Mapping[Address, Change], registry: Registry) -> Iterator[tuple[Address, Change]]:
    """Orphans beside something new that is the same object by another name, as its record or an equal configuration
    tells, with the entry in `moved` that says so."""
    orphans = {
        address: change
        for address, change in changes.items()
        if change.action is Action.ORPHAN and not change.reason and registry.of(address).renames
    }
    created = {
        address: change.desired
        for address, change in changes.items()
        if orphans and change.action is Action.CREATE and change.desired
    }
    recorded = _pairs({address: _recorded_name(orphan, created) for address, orphan in orphans.items()}, created, str)
    rest = {address: resource for address, resource in created.items() if address not in recorded.values()}
    keys = {
        address: _configuration_key(_with_start_of_file(orphan.live, orphan.owned))
        for address, orphan in orphans.items()
        if orphan.live and address not in recorded
    }
    alike = _pairs(keys, rest, lambda address: _configuration_key(rest[address]))
    for address, new in (recorded | alike).items():
        entry = moved_section_text(address, new)
        reason = (
            f"{new} is new, and this one had that name before. To rename it back, write `{entry}` at"
            if address in recorded
            else f"{new} is new and declared alike. If it is this one under a new name, write `{entry}` at"
        )
        reason += " the top level of the file: it then keeps its position, if the server knows it"
        yield address, replace(orphans[address], counterpart=new, reason=reason)


def _pairs(
    orphans: Mapping[Address, object], created: Iterable[Address], key: Callable[[Address], object]
) -> dict[Address, Address]:
    """New resources by orphan, as far as one key fits exactly one of each."""
    new, taken = dict[object, list[Address]](), Counter(orphans.values())
    for address in created:
        new.setdefault(key(address), []).append(address)
    return {
        address: new[wanted][0]
        for address, wanted in orphans.items()
        if taken[wanted] == 1 and len(new.get(wanted, ())) == 1
    }


def _recorded_name(orphan: Change, created: Collection[Address]) -> str | None:
    """Its latest earlier address that is now to be created."""
    earlier = orphan.owned.earlier if orphan.owned else ()
    new = {str(address) for address in created} if earlier else set[str]()
    return next((address for address in reversed(earlier) if address in new), None)


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
