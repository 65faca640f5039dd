"""What the files no longer want: removals, what is given up, orphans, and what is now declared as another kind.

Entries of `removed:` and `forget:` that are about many: what they match, and whether they may match that many.

They are read as one entry for each object that they match, so everything after this treats an object as if the files
named it. They match what the records call this topology's own and its files no longer declare, so that a pattern never
reaches anything that is declared, or that somebody else owns. An entry for that very object goes before them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.engine.pairing import identity
from reconciler.memory.remembered import Ledger
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Resource, is_over, nowhere
from reconciler.model.topology import BulkEntry, Forgotten, Removed, Topology
from reconciler.model.wire.snapshot import Snapshot

GIVEN_UP = "no longer managed here; stays as it is"
GONE = "already gone; an apply deletes its record"


def changes_of_undeclared(
    topology: Topology,
    elsewhere: Iterable[Resource],
    live: Mapping[Address, Resource],
    ledger: Ledger,
    ours: set[Address],
    begun: Collection[Address],
    registry: Registry,
    snapshot: Snapshot,
    today: date,
) -> dict[Address, Change]:
    """Removals, forgettings and orphans: owned addresses that the files no longer declare, or declare as external."""
    changes: dict[Address, Change] = {}
    ended = {removal.address: removal for removal in topology.removed if removal.until and today > removal.until}
    for removed in topology.removed:
        if removed.address not in ended:
            changes[removed.address] = _removal(
                removed,
                live.get(removed.address),
                topology,
                ledger,
                registry,
                snapshot,
                is_begun=removed.address in begun,
            )
    given_up = {resource.address: resource.where for resource in elsewhere}
    given_up |= {forgotten.address: forgotten.where for forgotten in topology.forget}
    for address, where in given_up.items():
        if address not in ours and address in live and address not in begun:
            continue  # it was given up before: it lives on, and what happens to others concerns it
        action = Action.FORGET if address in ours else Action.ABSENT
        changes[address] = Change(
            address=address,
            action=action,
            live=live.get(address),
            owned=ledger.get(address),
            where=where,
            reason=GIVEN_UP if address in live else GONE,
        )
    declared = {d.address for d in topology.resources}
    rest = sorted(ours - declared - changes.keys())
    changes |= {orphan: _orphan(live[orphan], ledger[orphan], ended.get(orphan)) for orphan in rest if orphan in live}
    gone = [orphan for orphan in rest if orphan not in live]
    changes |= {
        orphan: _orphan_of_remains(ledger[orphan], orphan)
        for orphan in gone
        if registry.of(orphan).remains(orphan, snapshot)
    }
    changes |= _declared_as_other_kind([orphan for orphan in gone if orphan not in changes], topology, ledger, registry)
    return changes


def _declared_as_other_kind(
    gone: Collection[Address], topology: Topology, ledger: Ledger, registry: Registry
) -> dict[Address, Change]:
    """Owned resources that the files now declare as another kind, backed by the same stream: one object has one
    record."""
    declared = (
        {registry.of(resource.address).stream(resource.address): resource for resource in topology.resources}
        if gone
        else {}
    )
    now = {address: declared.get(registry.of(address).stream(address) or "") for address in gone}
    return {
        address: Change(
            address=address,
            action=Action.FORGET,
            owned=ledger[address],
            where=resource.where,
            reason=f"it is now {resource.address}",
        )
        for address, resource in now.items()
        if resource
    }


def _orphan(live: Resource, owned: Owned, ended: Removed | None) -> Change:
    return Change(
        address=live.address,
        action=Action.ORPHAN,
        live=live,
        owned=owned,
        where=ended.where if ended else nowhere,
        reason=f"its entry in `removed` ended on {ended.until}" if ended else "",
    )


def _orphan_of_remains(owned: Owned, address: Address) -> Change:
    reason = "only a part is left, as of a removal that was interrupted: `removed` deletes the rest"
    return Change(address=address, action=Action.ORPHAN, owned=owned, reason=reason)


def _removal(
    removed: Removed,
    live: Resource | None,
    topology: Topology,
    ledger: Ledger,
    registry: Registry,
    snapshot: Snapshot,
    *,
    is_begun: bool,
) -> Change:
    """`is_begun`: a run that was replacing it was interrupted, so a new object may be this topology's own."""
    address, owned = removed.address, ledger.get(removed.address)
    if live and owned and owned.topology == topology.name and not is_begun:
        owned = None if identity.is_recreated(owned, address, registry.of(address), snapshot, ledger) else owned
    action, reason = Action.DELETE, removed.reason
    if live is None:
        kind = registry.of(address)
        if why := kind.unknown(address, snapshot):
            action, reason = Action.UNKNOWN, why
        elif owned and owned.topology == topology.name and kind.remains(address, snapshot):
            reason = "a run that was deleting it was interrupted; this continues where it stopped"
        else:
            action, reason = (Action.FORGET, GONE) if owned else (Action.ABSENT, removed.reason)
    return Change(address=address, action=action, live=live, owned=owned, where=removed.where, reason=reason)


NAMED = 5
"""How many of the matched objects a message names; the plan lists the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """An entry with what it matches."""

    entry: BulkEntry
    addresses: tuple[Address, ...]


def match_entries(
    topology: Topology, ledger: Ledger, owners: Collection[str], registry: Registry, today: date
) -> tuple[EntryMatch, ...]:
    """Entries with what they match, if they still count today. `owners` are the names by which records know this topology."""
    if not topology.bulk:
        return ()
    left = sorted(_undeclared_addresses(topology, ledger, owners, registry, today))
    return tuple(
        EntryMatch(
            entry=entry,
            addresses=tuple(declared for declared in left if entry.selects(declared, ledger[declared].labels)),
        )
        for entry in topology.bulk
    )


def _undeclared_addresses(
    topology: Topology, ledger: Ledger, owners: Collection[str], registry: Registry, today: date
) -> Iterator[Address]:
    """Addresses that are owned, and neither declared, under whatever name, nor named by an entry of its own."""
    named = {resource.address for resource in topology.resources} | {forgotten.address for forgotten in topology.forget}
    named |= {removal.address for removal in topology.removed if not (removal.until and today > removal.until)}
    named |= {move.origin for move in topology.moved}
    streams = {registry.of(resource.address).stream(resource.address) for resource in topology.resources} - {None}
    for address, owned in ledger.items():
        if owned.topology in owners and address not in named and registry.of(address).stream(address) not in streams:
            yield address


def expand_entries(topology: Topology, matches: Sequence[EntryMatch], today: date) -> Topology:
    """The topology with an entry for each object in place of entries about many. The first entry that counts and matches
    an object says what becomes of it; one that deletes goes before one that gives up, and `refusals` stops it then."""
    entries: dict[Address, BulkEntry] = {}
    for match in sorted(matches, key=lambda match: is_over(match.entry, today)):
        for address in match.addresses:
            entries.setdefault(address, match.entry)
    removed = (
        Removed(address=address, reason=entry.reason or "", until=entry.until, where=entry.where)
        for address, entry in entries.items()
        if entry.key == "removed"
    )
    forget = (
        Forgotten(address=address, where=entry.where) for address, entry in entries.items() if entry.key == "forget"
    )
    return replace(topology, removed=(*topology.removed, *removed), forget=(*topology.forget, *forget))


def refusals_of_entries(matches: Sequence[EntryMatch], today: date) -> Iterator[tuple[Address, Verdict]]:
    """One for each object of an entry that matches more than it may, and for each that is to be deleted and given up at
    once."""
    counting = [match for match in matches if not is_over(match.entry, today)]
    for match in counting:
        if len(match.addresses) > match.entry.upto:
            yield from ((address, _refusal_of_too_many(address, match)) for address in match.addresses)
    forgotten = {
        address: match.entry for match in counting if match.entry.key == "forget" for address in match.addresses
    }
    for match in counting:
        if match.entry.key == "removed":
            in_both = (address for address in match.addresses if address in forgotten)
            yield from ((address, _refusal_of_both(address, match.entry, forgotten[address])) for address in in_both)


def _refusal_of_too_many(address: Address, match: EntryMatch) -> Verdict:
    """A refusal at one object; only that at the first names what is matched."""
    entry, number, is_first = match.entry, len(match.addresses), address == match.addresses[0]
    named = ", ".join(map(str, match.addresses[:NAMED])) + (f" and {number - NAMED:_} more" if number > NAMED else "")
    names = f": {named}" if is_first else ""
    return Verdict(
        code="XX111", name="more-than-upto", outcome=Outcome.REFUSED, address=str(address), span=entry.where("upto"),
        message=f"`{entry.on}` in `{entry.key}` matches {number:_} objects, and its `upto` is {entry.upto:_}{names}",
        fix=f"write a narrower `on`; if every one of them is meant, write upto: {number}",
        quantities={"matched": number},
    )  # fmt: skip


def _refusal_of_both(address: Address, removed: BulkEntry, forgotten: BulkEntry) -> Verdict:
    elsewhere = f" ({span})" if (span := forgotten.where("on")) else ""
    return Verdict(
        code="XX112", name="removed-and-forgotten", outcome=Outcome.REFUSED, address=str(address), span=removed.where("on"),
        message=f"`{removed.on}` in `removed` matches it, and so does `{forgotten.on}` in `forget`{elsewhere}",
        fix=f"write a narrower `on`, or name it: {{address: {address}, reason: …}} in `removed`, or {address} in `forget`",
    )  # fmt: skip
