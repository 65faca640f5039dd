"""An imagined server: steps applied to a snapshot, with answers as `settle` predicts them. It refuses nothing.

The convergence tests check its state against real servers; reviews compare revisions on it without an account.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from reconciler.changes.plan import Plan
from reconciler.engine.bindings import BINDS, record_of_created, with_bound_values
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide
from reconciler.engine.pairing.misnamed import removed_or_renamed_addresses
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.consumer_config.consumer_settle import ACK_WAIT, MAX_ACK_PENDING, MAX_WAITING
from reconciler.kinds.fields.known import V2_14, Known
from reconciler.kinds.stream_config import stream_config
from reconciler.kinds.stream_config.stream_settle import DUPLICATE_WINDOW
from reconciler.memory.remembered import Memory
from reconciler.model.ledger.records import BUCKET, encode_key, encode_owned
from reconciler.model.resource import Address, Config
from reconciler.model.run_options import NO_OPTIONS
from reconciler.model.selection import is_label
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.steps import Bind, Call, Step
from reconciler.server.remember.ledger import Record, revisions

Info = dict[str, Any]


EMPTY: Info = {"state": {"messages": 0, "consumer_count": 0}, "created": "then"}
"""A stream that was just created."""
BEGUN: Info = {position: {"consumer_seq": 1, "stream_seq": 1} for position in ("delivered", "ack_floor")}
"""A consumer that has had one message; before that, older servers do not report its position."""


class HeldObjects:
    """What the server holds while steps run, between two snapshots."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._before = snapshot
        self.target: Target = snapshot.target
        self.streams: dict[str, Info] = {name: dict(info) for name, info in snapshot.streams.items()}
        self.consumers: dict[str, dict[str, Info]] = {
            stream: {name: dict(info) for name, info in own.items()} for stream, own in snapshot.consumers.items()
        }
        self.entries = {bucket: dict(entries) for bucket, entries in snapshot.entries.items()}
        self._newest = {
            bucket: max((entry.revision for entry in held.values()), default=0) for bucket, held in self.entries.items()
        }
        self.bound: dict[str, Any] = {}

    def put_stream(self, name: str, body: Config) -> None:
        """Make the stream, or rewrite it, with everything that a server fills in. A new one holds no messages."""
        mirror = body.get("mirror") or {}
        origin = self.streams.get(mirror.get("name", ""))
        settled = stream_config.settle(
            body, self.target, name=name, origin=stream_config.canonical(origin["config"]) if origin else None
        )
        config = {**_defaults(stream_config.FIELDS, self.target), **settled.config, "name": name}
        if "duplicate_window" not in settled.config and self._remembers_ids(settled.config):
            config["duplicate_window"] = min(DUPLICATE_WINDOW, body.get("max_age") or DUPLICATE_WINDOW)
        self.streams[name] = {**self.streams.get(name, EMPTY), "config": config}

    def _remembers_ids(self, config: Config) -> bool:
        """Does the server fill in a window? Newer ones do not for copies of other streams."""
        return "mirror" not in config and ("sources" not in config or self.target.version < V2_14)

    def put_consumer(self, stream: str, name: str, body: Config) -> None:
        """Make the consumer, or rewrite it, with everything that a server fills in. Its stream must exist."""
        parent = stream_config.canonical(self.streams[stream]["config"])
        settled = consumer_config.settle(body, self.target, parent=parent)
        config = {
            **_defaults(consumer_config.FIELDS, self.target),
            **settled.config,
            **_filled_in(settled.config, parent),
        }
        config |= {"durable_name": name, "name": name}
        held = self.consumers.setdefault(stream, {})
        self._count_consumers(stream, name not in held)
        held[name] = {**held.get(name, BEGUN), "stream_name": stream, "name": name, "config": config}

    def delete_consumer(self, stream: str, name: str) -> None:
        """Delete the consumer, unless it went with its stream."""
        if self.consumers.get(stream, {}).pop(name, None):
            self._count_consumers(stream, -1)

    def _count_consumers(self, stream: str, more: int) -> None:
        info = self.streams[stream]
        state = info["state"]
        info["state"] = {**state, "consumer_count": state.get("consumer_count", 0) + more}

    def put_entry(self, bucket: str, key: str, value: bytes, *, deleted: bool = False) -> None:
        """Write a key under the next revision of its bucket; with `deleted`, write a deletion marker."""
        held = self.entries.setdefault(bucket, {})
        self._newest[bucket] = self._newest.get(bucket, 0) + 1
        held[key] = Entry(value, self._newest[bucket], deleted, self.target.at or "")

    def forget_entries(self, bucket: str) -> None:
        """Drop all entries of a bucket whose stream is gone; its revisions start over."""
        self.entries.pop(bucket, None)
        self._newest.pop(bucket, None)

    def snapshot(self) -> Snapshot:
        """Return what a look at the server would read now."""
        return replace(self._before, streams=self.streams, consumers=self.consumers, entries=self.entries)


def _defaults(fields: Mapping[str, Known], target: Target) -> Info:
    """Return the defaults as a server of this version answers them."""
    return {
        name: known.default
        for name, known in fields.items()
        if known.default is not None and known.since <= target.version
    }


def _filled_in(config: Config, parent: Config) -> Info:
    """Return what the server fills in where the request says nothing."""
    limits = parent.get("consumer_limits") or {}
    values: Info = {}
    if "deliver_subject" not in config:
        values["max_waiting"] = MAX_WAITING
    if config.get("ack_policy") in ("explicit", "all"):
        values["ack_wait"] = ACK_WAIT
    if "ack_policy" in config or limits.get("max_ack_pending"):
        values["max_ack_pending"] = limits.get("max_ack_pending") or MAX_ACK_PENDING
    if limits.get("inactive_threshold"):
        values["inactive_threshold"] = limits["inactive_threshold"]
    return {name: value for name, value in values.items() if name not in config}


def snapshot_after_steps(snapshot: Snapshot, steps: Iterable[Step]) -> Snapshot:
    """Return the snapshot after these steps; every one of them succeeds."""
    held = HeldObjects(snapshot)
    for step in steps:
        apply_step(step, held)
    return held.snapshot()


def apply_step(step: Step, held: HeldObjects) -> None:
    """Do to these objects what the step does, unless it only undoes another one: none is refused here."""
    if step.undoes is None:
        _DO[step.call](held, with_bound_values(step, held.bound))
        if step.bind == Bind.MADE:
            is_stream = len(step.on) == 1
            held.bound[step.id] = record_of_created(
                held.streams[step.on[0]] if is_stream else held.consumers[step.on[0]][step.on[1]]
            )


def _create_stream(held: HeldObjects, step: Step) -> None:
    held.put_stream(step.on[0], step.body)


def _update_stream(held: HeldObjects, step: Step) -> None:
    before = held.streams[step.on[0]]["config"]
    held.put_stream(step.on[0], stream_config.update_body(before, step.set, step.unset))


def _delete_stream(held: HeldObjects, step: Step) -> None:
    held.streams.pop(step.on[0], None)
    held.consumers.pop(step.on[0], None)
    held.forget_entries(step.on[0].removeprefix("KV_"))


def _create_consumer(held: HeldObjects, step: Step) -> None:
    held.put_consumer(step.on[0], step.on[1], step.body)


def _update_consumer(held: HeldObjects, step: Step) -> None:
    stream, name = step.on
    before = held.consumers[stream][name]["config"]
    held.put_consumer(stream, name, consumer_config.update_body(before, step.set, step.unset))


def _delete_consumer(held: HeldObjects, step: Step) -> None:
    held.delete_consumer(*step.on)


def _pause_consumer(held: HeldObjects, step: Step) -> None:
    stream, name = step.on
    config = {key: value for key, value in held.consumers[stream][name]["config"].items() if key != "pause_until"}
    held.consumers[stream][name]["config"] = {**config, **step.body}


def _read_consumer(held: HeldObjects, step: Step) -> None:
    if step.bind:
        info = held.consumers[step.on[0]][step.on[1]]
        held.bound[step.id] = BINDS[Bind(step.bind)]({"ts": "2026-03-01T00:00:00.000Z", **info})


def _settle_queue(held: HeldObjects, step: Step) -> None:
    """Take off the start sequence: by then every queue has stored something."""
    held.put_stream(step.on[0], {**held.streams[step.on[0]]["config"], **step.set})


def _bind_first(held: HeldObjects, step: Step) -> None:
    held.bound[step.id] = 1


def _put_entry(held: HeldObjects, step: Step) -> None:
    held.put_entry(step.on[0], step.on[1], (step.value or "").encode())


def _delete_entry(held: HeldObjects, step: Step) -> None:
    held.put_entry(step.on[0], step.on[1], b"", deleted=True)


def _change_nothing(_held: HeldObjects, _step: Step) -> None:
    """Gates and pins leave no trace in a snapshot."""


_DO: Mapping[Call, Callable[[HeldObjects, Step], None]] = {
    Call.STREAM_CREATE: _create_stream,
    Call.STREAM_UPDATE: _update_stream,
    Call.STREAM_DELETE: _delete_stream,
    Call.CONSUMER_CREATE: _create_consumer,
    Call.CONSUMER_UPDATE: _update_consumer,
    Call.CONSUMER_DELETE: _delete_consumer,
    Call.CONSUMER_PAUSE: _pause_consumer,
    Call.CONSUMER_UNPIN: _change_nothing,
    Call.CONSUMER_READ: _read_consumer,
    Call.CONSUMER_RESET: _change_nothing,
    Call.QUEUE_READ: _bind_first,
    Call.QUEUE_SETTLE: _settle_queue,
    Call.ENTRY_PUT: _put_entry,
    Call.ENTRY_DELETE: _delete_entry,
    **dict.fromkeys((call for call in Call if call.waits), _change_nothing),
}


def snapshot_with_records(snapshot: Snapshot, records: Mapping[Address, Record]) -> Snapshot:
    """Return the snapshot with these ownership records written, or dropped where there is none."""
    held = HeldObjects(snapshot)
    for address, record in records.items():
        value = json.dumps(encode_owned(record)).encode() if record else b""
        held.put_entry(BUCKET, encode_key(address), value, deleted=record is None)
    return held.snapshot()


def snapshot_after_plan(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Return the snapshot as it will be once this plan, which was made from it, is applied."""
    return (
        snapshot_with_records(snapshot_after_steps(snapshot, plan.steps), plan.records)
        if plan.steps or plan.records
        else snapshot
    )


def empty_snapshot(target: Target) -> Snapshot:
    """Return an account that holds nothing, and to which nothing was ever applied, as is known."""
    return replace(Snapshot(target=target), entries={BUCKET: {}})


def snapshot_of_topologies(topologies: Iterable[Topology], target: Target, outside: Mapping[str, Config]) -> Snapshot:
    """Return what applying these to an empty account would leave, whatever rules say, with streams of others."""
    held = HeldObjects(empty_snapshot(target))
    for name, config in outside.items():
        held.put_stream(name, config)
    snapshot = held.snapshot()
    for topology in topologies:
        plan = _plan_without_rules(topology, snapshot)
        snapshot = snapshot_after_plan(snapshot, plan)
        done = {*removed_or_renamed_addresses(topology), *_bulk_examples(topology)}
        snapshot = snapshot_with_records(snapshot, dict.fromkeys(done - revisions(snapshot).keys()))
    return snapshot


def _bulk_examples(topology: Topology) -> Iterator[Address]:
    """Yield, for each pattern of an entry about many, an address that it matches: the entry has done its work."""
    for bulk in topology.bulk:
        if not is_label(bulk.on) and bulk.selects(example := Address.parse(bulk.on), {}):
            yield example


def _plan_without_rules(topology: Topology, snapshot: Snapshot) -> Plan:
    return decide(compare(topology, snapshot, Memory(), REGISTRY), REGISTRY, NO_OPTIONS, judged={})
