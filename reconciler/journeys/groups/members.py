"""Previews another membership of a group: what it would move, before anybody edits a file; and makes the edit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Context
from reconciler.changes.plan import PlannedChange
from reconciler.documents.write.atomic import write_whole
from reconciler.documents.write.edit import edited
from reconciler.documents.write.splices import CannotEdit
from reconciler.journeys.plan.plan import planned
from reconciler.journeys.plan.validate import nowhere, versions
from reconciler.kinds import REGISTRY
from reconciler.kinds.elastic_group.movement import moved_partitions, owners
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.kinds.group_records import group_record
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.groups import membership
from reconciler.kinds.groups.live_group import Group, groups
from reconciler.kinds.groups.membership import Unwise, Wish
from reconciler.memory import remembered
from reconciler.model.code_pages import PAGES
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity, SourceSpan
from reconciler.model.resource import Address, Config, Declared, Terms
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry, Scope, Snapshot
from reconciler.server.wire.api import JetStream

GROUPS = REGISTRY["elastic_group"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The consequences of a new membership."""

    address: Address
    membership: Config
    """The membership as a file writes it."""
    change: PlannedChange | None
    """The change that a plan would show; None: nothing would change."""
    moved: int
    least: int | None
    """The number of partitions that would move with mappings; None where the group can have none."""
    declared: Declared | None
    """The declaration of the group in the files."""


async def preview_offline(topology: Topology, name: str, wish: Wish) -> Preview:
    """Preview as if the group were live as declared; what is queued or in flight is unknown."""
    target = nowhere(topology, versions(topology, None)[0])
    nothing = Snapshot(target=target, unknown={Scope.STREAMS: "no server was asked"})
    address, _, declared = _found(name, nothing, topology)
    config = _settled(declared, nothing) if declared else {}
    if not declared or not config.get("max_members"):
        raise _cannot("GR193", f"{address} has no partitions.", "Give it a `max_members` from 1.")
    record = Entry(group_record.write(config, elastic=True).encode(), revision=1)
    unseen = {**nothing.unknown, Scope.consumers(stream_name(*address.names)): "no server was asked"}
    as_declared = {group_record.ELASTIC_BUCKET: {group_record.key(*address.names): record}}
    alone = replace(topology, resources=(declared,))  # no file shows whether its stream exists
    return await preview(None, replace(nothing, entries=as_declared, unknown=unseen), name, wish, alone)


async def preview(
    js: JetStream | None, snapshot: Snapshot, name: str, wish: Wish, topology: Topology | None
) -> Preview:
    """Plan the group with the new membership against the live state. Changes nothing."""
    address, live, declared = _found(name, snapshot, topology)
    if live is not None and (why := live.record.broken or (live.unread if js else None)):
        raise _cannot("GR193", f"{address} cannot be understood: {why}.", "See `reconciler groups doctor`.")
    now = owners(live.config) if live else []
    base = _base(live, declared, snapshot)
    try:
        wanted = membership.granted_membership(base, wish, now or [None] * base.get("max_members", 0))
    except Unwise as no:
        raise _cannot("GR193", f"{address}: {no.message}.", f"{no.fix[:1].upper()}{no.fix[1:]}.") from None
    resource = _with(declared or _as_declared(address, live), wanted)
    then = owners(_settled(resource, snapshot))
    return Preview(
        address=address, membership=wanted, declared=declared, moved=len(moved_partitions(now, then)),
        change=await _change(js, snapshot, topology or _alone(address, snapshot), resource),
        least=membership.least_moves(base, now, [name for name in dict.fromkeys(then) if name]),
    )  # fmt: skip


def _found(name: str, snapshot: Snapshot, topology: Topology | None) -> tuple[Address, Group | None, Declared | None]:
    """Find the group, live, declared or both; only elastic groups may change their members."""
    stream, _, group = name.removeprefix("elastic_group/").partition("/")
    address = Address.of("elastic_group", stream, group)
    live = next((one for one in groups(snapshot) if one.address == address), None)
    declared = next((one for one in topology.resources if one.address == address), None) if topology else None
    if topology is not None and declared is None:
        raise _cannot("GR191", f"None of these files declares {address}.", "Name the file that declares it.")
    if live is None and declared is None:
        raise _cannot(
            "GR191", f"There is no elastic group {name} whose members could change.",
            "`reconciler groups list` names the existing groups; the members of a static group never change.",
        )  # fmt: skip
    return address, live, declared


def _base(live: Group | None, declared: Declared | None, snapshot: Snapshot) -> Config:
    """The membership to start from: the file's where it has one, otherwise the live one."""
    found = _settled(declared, snapshot) if declared else {}
    said = any(found.get(field) for field in MEMBERSHIP)
    if live is None or said:
        return found
    return {**live.config, **found, **{field: live.config[field] for field in MEMBERSHIP if field in live.config}}


def _settled(declared: Declared, snapshot: Snapshot) -> Config:
    return GROUPS.settle(declared, Context(target=snapshot.target, snapshot=snapshot)).config


def _as_declared(address: Address, live: Group | None) -> Declared:
    """Return the live group as a file would declare it."""
    config = {name: value for name, value in (live.config if live else {}).items() if name not in MEMBERSHIP}
    return Declared(address=address, spec=GROUPS.spec.model_validate(config))


def _with(declared: Declared, wanted: Config) -> Declared:
    said = declared.spec.model_dump(exclude_unset=True, exclude=set(MEMBERSHIP))
    spec: Terms = type(declared.spec).model_validate({**said, **wanted})
    return replace(declared, spec=spec)


def _alone(address: Address, snapshot: Snapshot) -> Topology:
    """An otherwise empty topology with the name of the group's owner."""
    owned = remembered.read(snapshot, REGISTRY).records.get(address)
    return Topology(name=owned.topology if owned else "")


async def _change(
    js: JetStream | None, snapshot: Snapshot, topology: Topology, wished: Declared
) -> PlannedChange | None:
    others = tuple(one for one in topology.resources if one.address != wished.address)
    changed = replace(topology, resources=(*others, wished), removed=(), forget=(), bulk=())
    plan = (await planned(changed, snapshot, js, RunOptions(only=(str(wished.address),)))).plan
    found = next((one for one in plan.changes if one.address == str(wished.address)), None)
    return replace(found, adopts=False) if found else None  # a real plan decides who comes to own it


def write(made: Preview) -> SourceSpan:
    """Edit the file that declares the group, and change nothing but its membership."""
    place = made.declared.where("") if made.declared else None
    if place is None:
        raise _cannot("GR194", f"No file declares {made.address}.", "Name the files that declare it.")
    stream, group = made.address.names
    file = Path(place.file)
    changes = {field: made.membership.get(field) for field in MEMBERSHIP}
    try:
        data = file.read_bytes()
        mark = data[:3] if data.startswith(b"\xef\xbb\xbf") else b""
        text = edited(place.file, data[len(mark) :].decode(), ["streams", stream, "groups", group], changes)
        write_whole({file: mark + text.encode()})
    except (CannotEdit, OSError) as why:
        said = why.strerror if isinstance(why, OSError) else str(why)
        raise _cannot("GR194", f"{place.file} was left as it is: {said}.", "Edit it by hand.", place) from None
    return place


def _cannot(code: str, message: str, fix: str, span: SourceSpan | None = None) -> CannotContinue:
    severity = Severity.ERROR
    return CannotContinue(
        Diagnostic(severity=severity, code=code, name=PAGES[code].name, message=message, fix=fix, span=span)
    )
