"""Exports an account as YAML whose plan is empty at once: in one file, in one for each owner, or in one for each
stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from fnmatch import fnmatchcase

from reconciler.changes.kind import Registry
from reconciler.documents.write.atomic import file_names
from reconciler.documents.write.dump import dump
from reconciler.documents.write.order import document_order, in_order
from reconciler.journeys.export.left_out import left_out, not_exported, written_as_streams
from reconciler.journeys.export.sections import Writer
from reconciler.journeys.plan.validate import ALONE, offline
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.ledger.records import BUCKET, Owned
from reconciler.model.resource import Address, Json
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Scope, Snapshot
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream

NOBODYS = "exported"
"""The topology name for objects that no topology owns yet."""


class Layout(StrEnum):
    """How the objects are divided among the files of a folder."""

    OWNER = "owner"
    """One file for each topology."""
    STREAM = "stream"
    """One file for each stream, bucket or store with everything that belongs to it, in a folder for its topology."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """One file, and the live objects that could not be written into it."""

    text: str
    topology: str
    left_out: tuple[Diagnostic, ...] = ()
    others: tuple[str, ...] = ()
    """Other topologies that own part of the file, as far as the account's records say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedFolder:
    """A folder of files, by their paths inside the folder."""

    files: Mapping[str, str]
    plans: tuple[str, ...] = ()
    """What to plan: one path inside the folder for each topology."""
    left_out: tuple[Diagnostic, ...] = ()


async def exported_file(
    js: JetStream, *, topology: str | None = None, only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Exported:
    """Export the whole account, or what the patterns select, as one deterministic file, and report what had to be left
    out."""
    account = await _account(js, only, exclude)
    owners = tuple(sorted({account.owner(a) for a in account.chosen if a in account.records}))
    name = topology or (owners[0] if len(owners) == 1 else NOBODYS)
    sections = account.writer.sections(set(account.chosen).__contains__)
    text = dump(name, in_order(sections, document_order(REGISTRY)))
    others = tuple(owner for owner in owners if owner != name)
    return Exported(text=text, topology=name, left_out=account.left_out, others=others)


async def exported_folder(
    js: JetStream, layout: Layout, *, topology: str | None = None, only: Sequence[str] = (), exclude: Sequence[str] = ()
) -> ExportedFolder:
    """Export into the files of a folder; objects without an owner go to `topology`."""
    account = await _account(js, only, exclude, unowned=topology or NOBODYS)
    owners = sorted({account.owner(address) for address in account.chosen})
    stems = file_names(owners)
    files: dict[str, str] = {}
    order = document_order(REGISTRY)
    for owner in owners:
        own = account.writer.sections({a for a in account.chosen if account.owner(a) == owner}.__contains__)
        own = in_order(own, order)
        parts = (
            {".yaml": own}
            if layout is Layout.OWNER
            else {f"/{path}": content for path, content in files_apart(own).items()}
        )
        files |= {f"{stems[owner]}{rest}": dump(owner, sections) for rest, sections in parts.items()}
    plans = tuple(f"{stems[owner]}.yaml" if layout is Layout.OWNER else stems[owner] for owner in owners)
    return ExportedFolder(files=files, plans=plans, left_out=account.left_out)


def files_apart(sections: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    """Write a file for each name in each section, in a folder for the section."""
    parts: dict[str, dict[str, Json]] = {}
    for section, entries in sections.items():
        stems = file_names(entries)
        for name, entry in entries.items():
            parts[f"{section}/{stems[name]}.yaml"] = {section: {name: entry}}
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedAccount:
    """What was read of an account, and which part of it to export."""

    writer: Writer
    chosen: tuple[Address, ...]
    records: Mapping[Address, Owned]
    left_out: tuple[Diagnostic, ...] = field(default=())
    unowned: str = NOBODYS

    def owner(self, address: Address) -> str:
        record = self.records.get(address)
        return record.topology if record else self.unowned


async def _account(
    js: JetStream, only: Sequence[str], exclude: Sequence[str], *, unowned: str = NOBODYS
) -> ExportedAccount:
    return account(await observe(js), REGISTRY, only, exclude, unowned=unowned)


def account(
    snapshot: Snapshot, registry: Registry, only: Sequence[str] = (), exclude: Sequence[str] = (), *, unowned: str = ""
) -> ExportedAccount:
    """Return what of a snapshot can be exported under these patterns, and what has to be left out."""
    records = remembered.read_memory(snapshot, REGISTRY).records
    protected = {address: {"protect": True} for address, record in records.items() if record.protected}
    writer = Writer(snapshot, registry, protected, known=[record for record in records if registry.of(record).backing])
    records = {**records, **_by_another_name(writer, records, registry)}
    wanted = [address for address in writer.addresses if matches_selection(str(address), only, exclude)]
    broken = {address: why for address, resource in writer.live.items() if (why := resource.why_unreadable)}
    broken |= _unfit(writer, wanted, snapshot.target.version, registry)
    twins = _groups_of_same_name([address for address in wanted if address not in broken], registry)
    chosen = tuple(address for address in wanted if address not in broken and address not in twins)

    def is_selected(address: Address) -> bool:
        return matches_selection(str(address), only, exclude)

    return ExportedAccount(
        writer=writer,
        chosen=chosen,
        records=records,
        left_out=(
            *_unread_diagnostics(snapshot),
            *(not_exported(address, why, REPAIR) for address, why in sorted(broken.items()) if is_selected(address)),
            *(
                not_exported(
                    other_address,
                    f"a file can hold only one of this name: {other}",
                    f"export it by itself: --only {other_address}",
                )
                for other_address, other in twins.items()
            ),
            *left_out(writer, snapshot, registry, chosen, is_selected),
            *written_as_streams(
                snapshot, registry, [other_address for other_address in chosen if other_address not in records]
            ),
            *_unmatched_pattern_warnings(writer, only, exclude),
        ),
        unowned=unowned or NOBODYS,
    )


def _by_another_name(writer: Writer, records: Mapping[Address, Owned], registry: Registry) -> dict[Address, Owned]:
    """Records of objects that are written as another kind than recorded: a stream that now has the form of a bucket is
    written as one."""
    recorded = {stream: owned for address, owned in records.items() if (stream := registry.of(address).stream(address))}
    unrecorded = {address: registry.of(address).stream(address) for address in writer.live if address not in records}
    return {address: recorded[stream] for address, stream in unrecorded.items() if stream in recorded}


def matches_selection(address: str, only: Sequence[str], exclude: Sequence[str]) -> bool:
    """Does the selection include this address? Without `only` it includes all; `exclude` has the last word."""
    wanted = not only or any(fnmatchcase(address, pattern) for pattern in only)
    return wanted and not any(fnmatchcase(address, pattern) for pattern in exclude)


def _unread_diagnostics(snapshot: Snapshot) -> Iterator[Diagnostic]:
    """Report what could not be read. Records of this tool are no part of an export."""
    for scope, why in sorted(snapshot.unknown.items()):
        if scope != Scope.bucket(BUCKET):
            yield Diagnostic(
                severity=Severity.ERROR, code="XX904", name="export-incomplete",
                message=f"{scope} could not be read, so the file lacks what it holds: {why}",
                fix="export again when it can be read, as a user who may read it",
            )  # fmt: skip


def _unfit(writer: Writer, wanted: Sequence[Address], version: Version, registry: Registry) -> dict[Address, str]:
    """Group records that no member can work with: anybody may write one, and every file that declares one is
    refused."""
    entries = [address for address in wanted if registry.of(address).primary(address).type == "entry"]
    declared = tuple(writer.declared_resource(address) for address in entries)
    unfit: dict[Address, str] = {}
    for diagnostic in offline(Topology(name=NOBODYS, resources=declared), version, registry, ALONE):
        if diagnostic.is_error and diagnostic.address:
            unfit.setdefault(Address.parse(diagnostic.address), diagnostic.message)
    return unfit


def _groups_of_same_name(wanted: Sequence[Address], registry: Registry) -> dict[Address, Address]:
    """A static and an elastic group may share a name, but a file can hold one of the two. Return those left out, with
    the one that is kept."""
    first: dict[tuple[str, ...], Address] = {}
    places = {address: (registry.of(address).section, *address.names) for address in wanted}
    return {address: first[place] for address, place in places.items() if first.setdefault(place, address) != address}


REPAIR = "repair or delete its record, with all members stopped"


def _unmatched_pattern_warnings(writer: Writer, only: Sequence[str], exclude: Sequence[str]) -> Iterator[Diagnostic]:
    """Warn of a pattern without a match: a misspelt selection must not look like an account that holds nothing."""
    for option, patterns in (("--only", only), ("--exclude", exclude)):
        for pattern in patterns:
            if not any(fnmatchcase(str(address), pattern) for address in writer.live):
                yield Diagnostic(
                    severity=Severity.WARNING, code="XX907", name="selects-nothing",
                    message=f"{option} {pattern} matches nothing that is live",
                    fix="write an address as stream/ORDERS or 'consumer/ORDERS/*'; labels exist only in files",
                )  # fmt: skip
