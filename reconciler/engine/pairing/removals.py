"""What the files no longer want: removals, what is given up, orphans, and what is now declared as another kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Registry
from reconciler.engine.pairing import identity
from reconciler.memory.remembered import Ledger
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Resource, nowhere
from reconciler.model.topology import Removed, Topology
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
