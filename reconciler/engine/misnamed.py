"""`removed:`, `forget:` and `moved:` that name nothing: most often work that is done, sometimes a name that is misspelt.

Such an entry stays in the file after it was applied. Bucket `reconciler` tells the two apart: the record of what was
removed, let go or moved away leaves a deletion marker. An account that never had the object has neither, so a name is
only called misspelt where something is live that it may have been meant for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from reconciler.changes.kind import Registry
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.records import BUCKET, Owned, decode_key
from reconciler.model.resource import Address
from reconciler.model.spelling import likeness, meant
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot


class _Named(NamedTuple):
    """An address that an entry names, under which key, and where."""

    address: Address
    key: str
    span: SourceSpan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """What there is to name."""

    live: Set[Address]
    ledger: Mapping[Address, Owned]
    begun: Set[Address]
    """Half replaced."""
    snapshot: Snapshot
    ledger_known: bool


def misnamed(topology: Topology, known: KnownNames, registry: Registry, today: date) -> Iterator[Diagnostic]:
    """One for each entry that names nothing and resembles something. An error where that is this topology's own."""
    named = list(_named(topology, today))
    yield from _resembling(named, topology, known, registry) if named else ()
    yield from _owners(topology, known, today)


def _resembling(
    named: Sequence[_Named], topology: Topology, known: KnownNames, registry: Registry
) -> Iterator[Diagnostic]:
    spoken_for = {one.address for one in topology.resources} | let_go(topology)
    others = {a for a, owned in known.ledger.items() if owned.topology != topology.name}
    free = [address for address in known.live if address not in spoken_for and address not in others]
    remembered = {decode_key(key) for key in known.snapshot.entries.get(BUCKET, {})}
    for one in named:
        at = one.address
        if at in known.live or at in known.ledger or at in known.begun or at in remembered:
            continue
        alike = [(how, other in known.ledger, other) for other in free if (how := _likeness(at, other))]
        if alike and not registry.of(at).unknown(at, known.snapshot):
            _, is_ours, near = max(alike)
            yield _told(one, near, is_ours=is_ours, ledger_known=known.ledger_known)


def let_go(topology: Topology) -> set[Address]:
    """What its entries say is gone, or no longer managed, by that name."""
    return {one.address for one in _named(topology, date.min)}


def _named(topology: Topology, today: date) -> Iterator[_Named]:
    """What has ended does nothing any more, whatever it names."""
    for removed in topology.removed:
        if not (removed.until and today > removed.until):
            yield _Named(removed.address, "removed", removed.where("address"))
    for forgotten in topology.forget:
        yield _Named(forgotten.address, "forget", forgotten.where(""))
    for moved in topology.moved:
        if not (moved.is_of_topology or (moved.until and today > moved.until)):
            yield _Named(moved.origin, "moved", moved.where("from"))


def _likeness(address: Address, other: Address) -> float:
    """A slip in the names, or another kind of the same name."""
    if address.kind == other.kind:
        return likeness(address.names, other.names)
    return float(address.names == other.names)


def _told(one: _Named, near: Address, *, is_ours: bool, ledger_known: bool) -> Diagnostic:
    never = "and nothing of that name was ever applied here" if ledger_known else "as far as this user may read"
    whose = "" if is_ours else ", which is live and not known to be ours"
    return Diagnostic(
        severity=Severity.ERROR if is_ours else Severity.WARNING, code="XX916", name="names-nothing",
        message=f"`{one.key}` names `{one.address}`, which is not there, {never}; did you mean `{near}`{whose}?",
        address=str(one.address), span=one.span, fix=f"write {near}, or take the entry out",
    )  # fmt: skip


def _owners(topology: Topology, known: KnownNames, today: date) -> Iterator[Diagnostic]:
    """A former name that owns nothing. After the move it owns nothing either, so nobody can tell a slip from that."""
    owners = {owned.topology for owned in known.ledger.values()} - {topology.name}
    for one in topology.moved:
        is_over = one.until is not None and today > one.until
        has_moved = any(owned.taken_from == one.origin.name for owned in known.ledger.values())
        if one.is_of_topology and not (is_over or has_moved) and (near := meant(one.origin.name, owners)):
            yield Diagnostic(
                severity=Severity.WARNING, code="XX916", name="names-nothing", address=str(one.origin),
                message=f"`moved` names topology `{one.origin.name}`, which owns nothing; did you mean `{near}`?",
                span=one.where("from"), fix=f"write topology/{near}, or take the entry out if the move is done",
            )  # fmt: skip
