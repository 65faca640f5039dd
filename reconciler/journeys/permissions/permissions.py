"""Computes the permissions that a user needs to plan, apply or watch a topology, whatever the state of the account.

No server is asked. What an apply may do to each resource is expressed as the steps it may take, and the subjects of
those stand in one table beside the code that sends the requests. Deletion and replacement count only where the files
allow them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import takewhile

from reconciler.changes.kind import Kind, Raw, Registry, declared_config
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config.consumer_config import placeholder_name
from reconciler.kinds.fields import peers
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Address, Config, Declared, Json
from reconciler.model.selection import WILDCARDS, is_label
from reconciler.model.topology import Topology
from reconciler.model.wire.permissions import Needs, Purpose, minimal_needs
from reconciler.model.wire.questions import Peers
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.audit_trail import captures_audit_events
from reconciler.server.read.permission_subjects import Api


@dataclass(frozen=True, slots=True, kw_only=True)
class _PossibleChange:
    """What the files and the command line permit for one resource."""

    address: Address
    kind: Kind
    spec: Json = None
    """The declaration; None: the resource is to be removed."""
    replaced: bool = False
    origin: Address | None = None
    """Its current name, where it may be recreated under a new one."""
    queued: bool = False
    """Whether it is a consumer with others on a work queue: filters may go from one to another."""
    retention: str = ""

    def says(self, name: str) -> Json:
        return getattr(self.spec, name, None)

    @property
    def primary(self) -> Raw:
        return _with_wildcard_names(self.kind.primary(self.address))

    @property
    def raws(self) -> set[Raw]:
        return {self.primary, *map(_with_wildcard_names, self.kind.derived(self.address))}


def permissions(
    topology: Topology,
    purpose: Purpose,
    api: Api,
    *,
    allow: Iterable[tuple[str, str]] = (),
    backup: bool = False,
    watch: bool = False,
    registry: Registry = REGISTRY,
) -> Needs:
    """Return the permissions. `allow` is the consent of the command line, as (code, address pattern). With `backup`,
    streams are backed up before. With `watch`, drift is looked for whenever something changes."""
    patterns = [pattern for _, pattern in allow]
    possible = [*_possible_changes(topology, patterns, registry)]
    publish = [*api.needs_to_look()]
    if purpose is Purpose.DRIFT:
        publish += api.needs_to_attribute(_trail_streams(topology))
    else:
        publish += [*api.needs_to_measure(_streams_measured(possible)), *api.needs_to_ask(_peers_asked(possible))]
    if purpose is Purpose.APPLY:
        steps = [step for may in possible for step in _possible_steps(may)]
        publish += [*api.needs_to_remember(), *api.needs_to_carry_out(steps), *api.needs_to_verify(steps)]
        if backup:
            publish += api.needs_to_back_up(
                dict.fromkeys(_stream_of(raw) for may in possible for raw in sorted(may.raws))
            )
    heard = api.needs_to_watch() if watch else ()
    return Needs(publish=minimal_needs(publish), subscribe=(api.answers(), *heard))


def permissions_for_all(
    topologies: Iterable[Topology],
    purpose: Purpose,
    api: Api,
    *,
    allow: Collection[tuple[str, str]] = (),
    backup: bool = False,
    watch: bool = False,
) -> Needs:
    """Return the permissions of one user for several topologies of an account."""
    every = [permissions(topology, purpose, api, allow=allow, backup=backup, watch=watch) for topology in topologies]
    return Needs(
        publish=minimal_needs(need for needs in every for need in needs.publish),
        subscribe=minimal_needs(need for needs in every for need in needs.subscribe),
    )


def _possible_changes(topology: Topology, patterns: list[str], registry: Registry) -> Iterator[_PossibleChange]:
    retention = {d.address.name: getattr(d.spec, "retention", None) or "" for d in topology.resources if _is_stream(d)}
    consumers = [d.address.stream for d in topology.resources if d.address.kind == "consumer"]
    moves = {moved.address: moved for moved in topology.moved}
    for declared in topology.resources:
        address, spec = declared.address, declared.spec
        if getattr(spec, "external", False):
            continue
        kind, kept = registry.of(address), retention.get(address.stream, "")
        replaced = bool(spec.allow) or any(allowance.selects(address, spec.labels) for allowance in topology.allow)
        replaced = replaced or any(fnmatchcase(str(address), pattern) for pattern in patterns)
        moved = moves.get(address) if kind.renames else None
        yield _PossibleChange(
            address=address, kind=kind, spec=spec, retention=kept, replaced=replaced,
            origin=moved.origin if moved and (moved.reason or replaced) else None,
            queued=address.kind == "consumer" and kept == "workqueue" and consumers.count(address.stream) > 1,
        )  # fmt: skip
    for removed in topology.removed:
        yield _PossibleChange(address=removed.address, kind=registry.of(removed.address))
    for entry in topology.bulk:
        if entry.key == "removed":
            yield from (
                _PossibleChange(address=other_address, kind=registry.of(other_address))
                for other_address in _addresses_to_match(entry.on, registry)
            )


def _addresses_to_match(on: str, registry: Registry) -> Iterator[Address]:
    """Return addresses that cover everything a pattern or label can match, with `*` for names that are unknown. Subjects
    know no patterns but that."""
    kind_wanted, *names = ["*"] if is_label(on) else on.split("/")
    for kind in registry.kinds:
        if "*" in kind_wanted or fnmatchcase(kind.name, kind_wanted):
            known = () if "*" in kind_wanted else tuple(takewhile(lambda part: not set(WILDCARDS) & set(part), names))
            yield Address(kind.name, (*known, *("*" for _ in range(_depth(kind, registry))))[: _depth(kind, registry)])


def _depth(kind: Kind, registry: Registry) -> int:
    """Return how many names an address of this kind has."""
    return 1 + _depth(registry[kind.place.within], registry) if kind.place.within else 1


def _with_wildcard_names(raw: Raw) -> Raw:
    """Return the object with `*` for a name of which only a part is known: a subject has no such tokens."""
    return raw if raw.type == "entry" else Raw(raw.type, tuple("*" if "*" in part else part for part in raw.on))


def _is_stream(declared: Declared) -> bool:
    return declared.address.kind == "stream"


def _trail_streams(topology: Topology) -> list[str]:
    """Streams declared here that capture the account's audit events; other capturing streams are unknown without a
    look."""
    streams = (declared for declared in topology.resources if _is_stream(declared))
    return [
        resource.address.name
        for resource in streams
        if captures_audit_events(getattr(resource.spec, "subjects", None) or ())
    ]


def _streams_measured(possible: Iterable[_PossibleChange]) -> list[str]:
    """Streams whose messages a change may cost; for an elastic group, its queue and the source of that."""
    streams: list[str] = []
    for may in possible:
        first, queues = may.primary, [raw for raw in sorted(may.raws) if raw.type == "stream"]
        if first.type != "entry":
            streams.append(first.on[0])
        elif queues and may.spec is not None:
            streams += [*(raw.on[0] for raw in queues), may.address.stream]
    return list(dict.fromkeys(streams))


def _peers_asked(possible: Iterable[_PossibleChange]) -> Iterator[Peers]:
    """Questions about the servers that streams find. A placement that is left as found may be any."""
    for may in possible:
        if may.spec is not None and may.primary.type == "stream":
            config = declared_config(may.spec)
            is_found = any(path.partition(".")[0] == "placement" for path in may.spec.unmanaged)
            placement = {"cluster": "*"} if is_found else config.get("placement")
            yield from peers.question(int(config.get("num_replicas") or 1), placement)


def _possible_steps(may: _PossibleChange) -> Iterator[Step]:
    for raw in sorted(may.raws):
        if may.spec is None:
            yield from _removal_steps(may, raw)
        elif raw.type == "stream":
            yield from _steps_of_stream(may, raw)
        elif raw.type == "consumer":
            yield from _steps_of_consumer(may, raw)
        else:
            yield from _steps_of_entry(raw)


def _removal_steps(may: _PossibleChange, raw: Raw) -> Iterator[Step]:
    if raw.type == "consumer":
        yield _step(Call.CONSUMER_DELETE, raw.on)
    elif raw.type == "entry":
        yield _step(Call.ENTRY_DELETE, raw.on)
        if may.kind.name == "static_group":  # the durables of its members, whose names only the record knows
            yield _step(Call.CONSUMER_DELETE, (may.address.stream, "*"))
    else:
        yield _step(Call.STREAM_DELETE, raw.on)
        if may.kind.place.within:  # before its queue goes, it stops copying, and the members of the group leave
            yield _step(Call.STREAM_UPDATE, raw.on)
            yield _step(Call.GATE_CONSUMERS_GONE, raw.on)


def _steps_of_stream(may: _PossibleChange, raw: Raw) -> Iterator[Step]:
    yield _step(Call.STREAM_CREATE, raw.on)
    if not may.kind.place.within:
        yield _step(Call.STREAM_UPDATE, raw.on)
        return
    feeding = {"from": may.address.stream}
    yield _step(Call.STREAM_UPDATE, raw.on)  # the replicas of a group's queue, which follow those of its source
    # for an earlier apply that recreated the queue with consent and could not settle it
    yield _step(Call.QUEUE_SETTLE, raw.on, feeding)
    if may.replaced:
        for call in (Call.QUEUE_READ, Call.GATE_CONSUMERS_GONE, Call.STREAM_DELETE, Call.GATE_QUEUE_CAUGHT_UP):
            yield _step(call, raw.on, feeding)


def _steps_of_consumer(may: _PossibleChange, raw: Raw) -> Iterator[Step]:
    yield _step(Call.CONSUMER_CREATE, raw.on)
    yield _step(Call.CONSUMER_UPDATE, raw.on)
    # apply resumes what somebody paused by hand
    is_resumed = may.address.kind == "consumer" and "pause_until" not in may.says("unmanaged")
    if is_resumed or may.replaced or may.queued:
        yield _step(Call.CONSUMER_PAUSE, raw.on)
    if may.queued:
        yield _step(Call.CONSUMER_RESET, raw.on)
    if may.queued or may.replaced:  # servers before 2.14 have no reset
        yield _step(Call.CONSUMER_DELETE, raw.on)
    if may.replaced:
        yield _step(Call.CONSUMER_UNPIN, raw.on)
    if may.origin:
        for call in (Call.CONSUMER_READ, Call.CONSUMER_PAUSE, Call.CONSUMER_DELETE, Call.CONSUMER_CREATE):
            yield _step(call, may.origin.names)
    if (may.replaced or may.origin) and may.retention != "limits":
        stands_in = (raw.on[0], placeholder_name(raw.on[1]))
        yield from (_step(call, stands_in) for call in (Call.CONSUMER_CREATE, Call.CONSUMER_DELETE))


def _steps_of_entry(raw: Raw) -> Iterator[Step]:
    bucket = raw.on[0]
    if bucket != BUCKET:
        yield _step(Call.STREAM_CREATE, (f"KV_{bucket}",))
    yield _step(Call.ENTRY_PUT, raw.on)


def _stream_of(raw: Raw) -> str:
    return f"KV_{raw.on[0]}" if raw.type == "entry" else raw.on[0]


def _step(call: Call, on: tuple[str, ...], body: Config | None = None) -> Step:
    return Step(id="", call=call, on=on, address="", body=body or {})
