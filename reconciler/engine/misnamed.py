"""Entries of `removed:`, `forget:` and `moved:` that name nothing: usually their work is done, sometimes a name is
misspelt.

Such an entry stays in the file after it was applied. Bucket `reconciler` tells the two apart, since the record of a
removed, forgotten or moved object leaves a deletion marker. An account that never had the object has neither. So a name
is only called misspelt if something is live that it may mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date
from typing import NamedTuple

from reconciler.changes.kind import Registry
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.records import BUCKET, Owned, decode_key
from reconciler.model.resource import Address
from reconciler.model.selection import is_label, likely
from reconciler.model.spelling import likeness, meant
from reconciler.model.topology import BulkEntry, Topology
from reconciler.model.wire.snapshot import Snapshot


class _Named(NamedTuple):
    """An address that an entry names, the key of the entry, and its place."""

    address: Address
    key: str
    span: SourceSpan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownNames:
    """Names that exist."""

    live: Set[Address]
    ledger: Mapping[Address, Owned]
    begun: Set[Address]
    """Half replaced."""
    snapshot: Snapshot
    ledger_known: bool


def misnamed(
    topology: Topology, known: KnownNames, registry: Registry, today: date, unmatched: Sequence[BulkEntry] = ()
) -> Iterator[Diagnostic]:
    """One for each entry that names nothing and resembles something; an error if that is this topology's own.
    `unmatched` are entries about many that match nothing."""
    named = list(_named_entries(topology, today))
    yield from _misspelt_names(named, topology, known, registry) if named else ()
    yield from _unmatched_patterns([one for one in unmatched if not one.is_over(today)], topology, known)
    yield from _misspelt_owners(topology, known, today)


def _unmatched_patterns(entries: Sequence[BulkEntry], topology: Topology, known: KnownNames) -> Iterator[Diagnostic]:
    """The mark of a removed or forgotten record shows that the work of a pattern is done. A mark has no labels, so that
    a label may always be one whose work is done."""
    if not entries:
        return
    marks = {decode_key(key) for key in known.snapshot.entries.get(BUCKET, {})} - {None}
    gone = [address for address in marks if address and address not in known.ledger]
    declared = {one.address: one.spec.labels for one in topology.resources}
    spoken_for = {*declared, *let_go(topology)}
    free = {one: known.ledger.get(one) for one in sorted(known.live) if one not in spoken_for}
    ours = {one: owned.labels for one, owned in free.items() if owned and owned.topology == topology.name}
    strange = [one for one, owned in free.items() if owned is None]
    for entry in entries:
        said = f"`{entry.key}` names `{entry.on}`"
        if not known.ledger_known:
            message = f"{said}, and nobody can tell what that matches, because bucket {BUCKET} could not be read"
            yield _diagnostic_about_pattern(entry, message, "plan and apply as a user who may use that bucket")
        elif any(entry.reaches(one, {}) for one in gone):
            continue
        elif near := likely(entry.on, ours.keys(), ours.values()):
            message = (
                f"{said}, which matches nothing that this topology owns and no longer declares; did you mean `{near}`?"
            )
            severity = Severity.WARNING if is_label(entry.on) else Severity.ERROR
            yield _diagnostic_about_pattern(entry, message, f"write {near}, or remove the entry", severity)
        elif is_label(entry.on):
            continue
        elif alike := [str(one) for one in strange if entry.reaches(one, {})]:
            more = f" and {len(alike) - 1:_} more" if alike[1:] else ""
            message = f"{said}, which matches nothing that this topology owns: {alike[0]}{more} may be another's"
            yield _diagnostic_about_pattern(
                entry, message, "declare what is meant as it is and apply once to adopt it; or remove the entry"
            )
        elif there := next((one for one, labels in declared.items() if entry.reaches(one, labels)), None):
            message = f"{said}, which matches only what the files declare, such as {there}, and leaves that alone"
            yield _diagnostic_about_pattern(entry, message, "take out of the files what is to go, or remove the entry")


def _diagnostic_about_pattern(
    entry: BulkEntry, message: str, fix: str, severity: Severity = Severity.WARNING
) -> Diagnostic:
    return Diagnostic(
        severity=severity, code="XX916", name="names-nothing", message=message, span=entry.where("on"), fix=fix
    )  # fmt: skip


def _misspelt_names(
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
        alike = [(how, other in known.ledger, other) for other in free if (how := _likeness_of_addresses(at, other))]
        if alike and not registry.of(at).unknown(at, known.snapshot):
            _, is_ours, near = max(alike)
            yield _diagnostic_about_name(one, near, is_ours=is_ours, ledger_known=known.ledger_known)


def let_go(topology: Topology) -> set[Address]:
    """What its entries say is removed, forgotten or renamed."""
    return {one.address for one in _named_entries(topology, date.min)}


def _named_entries(topology: Topology, today: date) -> Iterator[_Named]:
    """Entries that have ended do nothing any more, whatever they name."""
    for removed in topology.removed:
        if not (removed.until and today > removed.until):
            yield _Named(removed.address, "removed", removed.where("address"))
    for forgotten in topology.forget:
        yield _Named(forgotten.address, "forget", forgotten.where(""))
    for moved in topology.moved:
        if not (moved.is_of_topology or (moved.until and today > moved.until)):
            yield _Named(moved.origin, "moved", moved.where("from"))


def _likeness_of_addresses(address: Address, other: Address) -> float:
    """A typo in the names, or another kind with the same name."""
    if address.kind == other.kind:
        return likeness(address.names, other.names)
    return float(address.names == other.names)


def _diagnostic_about_name(one: _Named, near: Address, *, is_ours: bool, ledger_known: bool) -> Diagnostic:
    never = "and nothing of that name was ever applied here" if ledger_known else "as far as this user may read"
    whose = "" if is_ours else ", which is live and not known to be this topology's own"
    return Diagnostic(
        severity=Severity.ERROR if is_ours else Severity.WARNING, code="XX916", name="names-nothing",
        message=f"`{one.key}` names `{one.address}`, which does not exist, {never}; did you mean `{near}`{whose}?",
        address=str(one.address), span=one.span, fix=f"write {near}, or remove the entry",
    )  # fmt: skip


def _misspelt_owners(topology: Topology, known: KnownNames, today: date) -> Iterator[Diagnostic]:
    """Former topology names that own nothing. They own nothing after the move either, so nobody can tell a typo from
    that."""
    owners = {owned.topology for owned in known.ledger.values()} - {topology.name}
    for one in topology.moved:
        is_over = one.until is not None and today > one.until
        has_moved = any(owned.taken_from == one.origin.name for owned in known.ledger.values())
        if one.is_of_topology and not (is_over or has_moved) and (near := meant(one.origin.name, owners)):
            yield Diagnostic(
                severity=Severity.WARNING, code="XX916", name="names-nothing", address=str(one.origin),
                message=f"`moved` names topology `{one.origin.name}`, which owns nothing; did you mean `{near}`?",
                span=one.where("from"), fix=f"write topology/{near}, or remove the entry if the move is done",
            )  # fmt: skip
