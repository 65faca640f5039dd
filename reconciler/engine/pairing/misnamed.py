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
from reconciler.model.ledger.records import BUCKET, Owned, decode_key
from reconciler.model.resource import Address, is_over
from reconciler.model.selection import is_label, likely_pattern
from reconciler.model.spelling import likeness, meant_choice
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


def misnamed_entries(
    topology: Topology, names: KnownNames, registry: Registry, today: date, unmatched: Sequence[BulkEntry] = ()
) -> Iterator[Diagnostic]:
    """One for each entry that names nothing and resembles something; an error if that is this topology's own.
    `unmatched` are entries about many that match nothing."""
    named = list(_named_entries(topology, today))
    yield from _misspelt_entries(named, topology, names, registry) if named else ()
    yield from _unmatched_patterns([entry for entry in unmatched if not is_over(entry, today)], topology, names)
    yield from _misspelt_owners(topology, names, today)


def _unmatched_patterns(entries: Sequence[BulkEntry], topology: Topology, names: KnownNames) -> Iterator[Diagnostic]:
    """The mark of a removed or forgotten record shows that the work of a pattern is done. A mark has no labels, so that
    a label may always be one whose work is done."""
    if not entries:
        return
    marks = {decode_key(key) for key in names.snapshot.entries.get(BUCKET, {})} - {None}
    gone = [address for address in marks if address and address not in names.ledger]
    declared = {resource.address: resource.spec.labels for resource in topology.resources}
    spoken_for = {*declared, *removed_or_renamed_addresses(topology)}
    free = {address: names.ledger.get(address) for address in sorted(names.live) if address not in spoken_for}
    ours = {address: owned.labels for address, owned in free.items() if owned and owned.topology == topology.name}
    strange = [address for address, owned in free.items() if owned is None]
    for entry in entries:
        statement = f"`{entry.key}` names `{entry.on}`"
        if not names.ledger_known:
            message = f"{statement}, and nobody can tell what that matches, because bucket {BUCKET} could not be read"
            yield _diagnostic_about_pattern(entry, message, "plan and apply as a user who may use that bucket")
        elif any(entry.selects(address, {}) for address in gone):
            continue
        elif near := likely_pattern(entry.on, ours.keys(), ours.values()):
            message = f"{statement}, which matches nothing that this topology owns and no longer declares; did you mean `{near}`?"
            severity = Severity.WARNING if is_label(entry.on) else Severity.ERROR
            yield _diagnostic_about_pattern(entry, message, f"write {near}, or remove the entry", severity)
        elif is_label(entry.on):
            continue
        elif alike := [str(address) for address in strange if entry.selects(address, {})]:
            more = f" and {len(alike) - 1:_} more" if alike[1:] else ""
            message = f"{statement}, which matches nothing that this topology owns: {alike[0]}{more} may be another's"
            yield _diagnostic_about_pattern(
                entry, message, "declare what is meant as it is and apply once to adopt it; or remove the entry"
            )
        elif match := next((address for address, labels in declared.items() if entry.selects(address, labels)), None):
            message = f"{statement}, which matches only what the files declare, such as {match}, and leaves that alone"
            yield _diagnostic_about_pattern(entry, message, "take out of the files what is to go, or remove the entry")


def _diagnostic_about_pattern(
    entry: BulkEntry, message: str, fix: str, severity: Severity = Severity.WARNING
) -> Diagnostic:
    return Diagnostic(
        severity=severity, code="XX916", name="names-nothing", message=message, span=entry.where("on"), fix=fix
    )  # fmt: skip


def _misspelt_entries(
    named: Sequence[_Named], topology: Topology, names: KnownNames, registry: Registry
) -> Iterator[Diagnostic]:
    spoken_for = {entry.address for entry in topology.resources} | removed_or_renamed_addresses(topology)
    others = {a for a, owned in names.ledger.items() if owned.topology != topology.name}
    free = [address for address in names.live if address not in spoken_for and address not in others]
    remembered = {decode_key(key) for key in names.snapshot.entries.get(BUCKET, {})}
    for entry in named:
        target = entry.address
        if target in names.live or target in names.ledger or target in names.begun or target in remembered:
            continue
        alike = [
            (how, other in names.ledger, other) for other in free if (how := _likeness_of_addresses(target, other))
        ]
        if alike and not registry.of(target).unknown(target, names.snapshot):
            _, is_ours, near = max(alike)
            yield _diagnostic_about_name(entry, near, is_ours=is_ours, ledger_known=names.ledger_known)


def removed_or_renamed_addresses(topology: Topology) -> set[Address]:
    """Addresses that its entries say are removed, forgotten or renamed."""
    return {entry.address for entry in _named_entries(topology, date.min)}


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


def _diagnostic_about_name(entry: _Named, near: Address, *, is_ours: bool, ledger_known: bool) -> Diagnostic:
    never = "and nothing of that name was ever applied here" if ledger_known else "as far as this user may read"
    whose = "" if is_ours else ", which is live and not known to be this topology's own"
    return Diagnostic(
        severity=Severity.ERROR if is_ours else Severity.WARNING, code="XX916", name="names-nothing",
        message=f"`{entry.key}` names `{entry.address}`, which does not exist, {never}; did you mean `{near}`{whose}?",
        address=str(entry.address), span=entry.span, fix=f"write {near}, or remove the entry",
    )  # fmt: skip


def _misspelt_owners(topology: Topology, names: KnownNames, today: date) -> Iterator[Diagnostic]:
    """Former topology names that own nothing. They own nothing after the move either, so nobody can tell a typo from
    that."""
    owners = {owned.topology for owned in names.ledger.values()} - {topology.name}
    for entry in topology.moved:
        has_moved = any(owned.taken_from == entry.origin.name for owned in names.ledger.values())
        if (
            entry.is_of_topology
            and not (is_over(entry, today) or has_moved)
            and (near := meant_choice(entry.origin.name, owners))
        ):
            yield Diagnostic(
                severity=Severity.WARNING, code="XX916", name="names-nothing", address=str(entry.origin),
                message=f"`moved` names topology `{entry.origin.name}`, which owns nothing; did you mean `{near}`?",
                span=entry.where("from"), fix=f"write topology/{near}, or remove the entry if the move is done",
            )  # fmt: skip
