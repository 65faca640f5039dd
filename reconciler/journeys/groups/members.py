"""Previews another membership of a group: what it would move, before anybody edits a file; and makes the edit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reconciler.changes.kind import Context
from reconciler.changes.plan import PlannedChange
from reconciler.documents.write.atomic import write_whole
from reconciler.documents.write.edit import CannotEdit, edited_bytes
from reconciler.journeys.groups.groups import group_error
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.journeys.plan.validate import imagined_target, versions
from reconciler.kinds import REGISTRY
from reconciler.kinds.elastic_group.movement import moved_partitions
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.kinds.group_records import group_record
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.group_records.member_subjects import owners
from reconciler.kinds.groups import membership
from reconciler.kinds.groups.live_group import Group, groups
from reconciler.kinds.groups.membership import MembershipRefused, MembershipRequest
from reconciler.memory import remembered
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan
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


async def preview_offline(topology: Topology, name: str, wish: MembershipRequest) -> Preview:
    """Preview as if the group were live as declared; what is queued or in flight is unknown."""
    target = imagined_target(topology, versions(topology, None)[0])
    unread_account = Snapshot(target=target, unknown={Scope.STREAMS: "no server was asked"})
    address, _, declared = _live_and_declared(name, unread_account, topology)
    config = _settled_config(declared, unread_account) if declared else {}
    if not declared or not config.get("max_members"):
        raise group_error("GR193", f"{address} has no partitions.", "Give it a `max_members` from 1.")
    record = Entry(group_record.new_record_text(config, elastic=True).encode(), revision=1)
    unseen = {**unread_account.unknown, Scope.consumers(stream_name(*address.names)): "no server was asked"}
    as_declared = {group_record.ELASTIC_BUCKET: {group_record.key(*address.names): record}}
    group_only = replace(topology, resources=(declared,))  # no file shows whether its stream exists
    return await preview(None, replace(unread_account, entries=as_declared, unknown=unseen), name, wish, group_only)


async def preview(
    js: JetStream | None, snapshot: Snapshot, name: str, wish: MembershipRequest, topology: Topology | None
) -> Preview:
    """Plan the group with the new membership against the live state. Changes nothing."""
    address, live, declared = _live_and_declared(name, snapshot, topology)
    if live is not None and (why := live.record.broken or (live.unread if js else None)):
        raise group_error("GR193", f"{address} cannot be understood: {why}.", "See `reconciler groups doctor`.")
    now = owners(live.config) if live else []
    base = _base_config(live, declared, snapshot)
    try:
        wanted = membership.requested_membership(base, wish, now or [None] * base.get("max_members", 0))
    except MembershipRefused as refusal:
        raise group_error(
            "GR193", f"{address}: {refusal.message}.", f"{refusal.fix[:1].upper()}{refusal.fix[1:]}."
        ) from None
    resource = declared if declared and not wish else _with_membership(declared or _as_declared(address, live), wanted)
    then = owners(_settled_config(resource, snapshot) if wish else base)
    return Preview(
        address=address, membership=wanted, declared=declared, moved=len(moved_partitions(now, then)),
        change=await _change_of_group(js, snapshot, topology or _topology_of_the_group_only(address, snapshot), resource),
        least=membership.least_moves(base, now, [name for name in dict.fromkeys(then) if name]),
    )  # fmt: skip


def _live_and_declared(
    name: str, snapshot: Snapshot, topology: Topology | None
) -> tuple[Address, Group | None, Declared | None]:
    """Find the group, live, declared or both; only elastic groups may change their members."""
    stream, _, group = name.removeprefix("elastic_group/").partition("/")
    address = Address.of("elastic_group", stream, group)
    live = next((candidate for candidate in groups(snapshot) if candidate.address == address), None)
    declared = (
        next((candidate for candidate in topology.resources if candidate.address == address), None)
        if topology
        else None
    )
    if topology is not None and declared is None:
        raise group_error("GR191", f"None of these files declares {address}.", "Name the file that declares it.")
    if live is None and declared is None:
        raise group_error(
            "GR191", f"There is no elastic group {name} whose members could change.",
            "`reconciler groups list` names the existing groups; the members of a static group never change.",
        )  # fmt: skip
    return address, live, declared


def _base_config(live: Group | None, declared: Declared | None, snapshot: Snapshot) -> Config:
    """The membership to start from: the file's where it has one, otherwise the live one."""
    declared_config = _settled_config(declared, snapshot) if declared else {}
    has_membership = any(declared_config.get(field) for field in MEMBERSHIP)
    if live is None or has_membership:
        return declared_config
    return {
        **live.config,
        **declared_config,
        **{field: live.config[field] for field in MEMBERSHIP if field in live.config},
    }


def _settled_config(declared: Declared, snapshot: Snapshot) -> Config:
    return GROUPS.settle(declared, Context(target=snapshot.target, snapshot=snapshot)).config


def _as_declared(address: Address, live: Group | None) -> Declared:
    """Return the live group as a file would declare it."""
    config = {name: value for name, value in (live.config if live else {}).items() if name not in MEMBERSHIP}
    return Declared(address=address, spec=GROUPS.spec.model_validate(config))


def _with_membership(declared: Declared, wanted: Config) -> Declared:
    declared_values = declared.spec.model_dump(exclude_unset=True, exclude=set(MEMBERSHIP))
    spec: Terms = type(declared.spec).model_validate({**declared_values, **wanted})
    return replace(declared, spec=spec)


def _topology_of_the_group_only(address: Address, snapshot: Snapshot) -> Topology:
    """An otherwise empty topology with the name of the group's owner."""
    owned = remembered.read_memory(snapshot, REGISTRY).records.get(address)
    return Topology(name=owned.topology if owned else "")


async def _change_of_group(
    js: JetStream | None, snapshot: Snapshot, topology: Topology, wished: Declared
) -> PlannedChange | None:
    others = tuple(candidate for candidate in topology.resources if candidate.address != wished.address)
    changed = replace(topology, resources=(*others, wished), removed=(), forget=(), bulk=())
    plan = (await plan_from_snapshot(changed, snapshot, js, RunOptions(only=(str(wished.address),)))).plan
    own_change = next((candidate for candidate in plan.changes if candidate.address == str(wished.address)), None)
    return replace(own_change, adopts=False) if own_change else None  # a real plan decides who comes to own it


def write(previewed: Preview) -> SourceSpan:
    """Edit the file that declares the group, and change nothing but its membership."""
    span = previewed.declared.where("") if previewed.declared else None
    if span is None:
        raise group_error("GR194", f"No file declares {previewed.address}.", "Name the files that declare it.")
    stream, group = previewed.address.names
    file = Path(span.file)
    changes = {field: previewed.membership.get(field) for field in MEMBERSHIP}
    try:
        data = edited_bytes(span.file, file.read_bytes(), ["streams", stream, "groups", group], changes)
        write_whole({file: data})
    except (CannotEdit, OSError) as why:
        reason = why.strerror if isinstance(why, OSError) else str(why)
        raise group_error("GR194", f"{span.file} was left as it is: {reason}.", "Edit it by hand.", span) from None
    return span
