"""Names who changed a value, from a stream that captures the audit trail or from what a watch has heard.

Nobody is named on suspicion. A value has an author only where the trail shows its change: the request after which the
value was as it is, and that it was different before. The applied value counts as seen where the trail reaches back to
the time of its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta

from reconciler.changes.diff import value_in
from reconciler.changes.kind import Kind, Raw
from reconciler.engine.pairing.identity import info_in
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.look import Looked
from reconciler.kinds import REGISTRY
from reconciler.kinds.elastic_group.immutable import QUEUE
from reconciler.kinds.stream_config.stream_config import canonical
from reconciler.model.dataclass import dataclass
from reconciler.model.ledger.records import BUCKET, encode_key
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.server.read.audit_trail import capturing_stream, events_since, moment, reaches_back_to
from reconciler.server.read.read_kv import entry
from reconciler.server.wire import audit
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.audit import UNKNOWN, Attribution, Event

MARGIN = timedelta(seconds=60)
"""A record is written a moment after the change it is about, so the trail is read from a little earlier."""
KV_WRITES = Attribution(unknown="writes to KV buckets leave no audit event")
NO_TRAIL = Attribution(unknown="no stream captures $JS.EVENT.ADVISORY.API")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """The requests heard since a moment at which the live configurations were known."""

    events: Sequence[Event]
    before: Callable[[Address, str], Json] = lambda _address, _path: UNKNOWN
    """Return the value at a path of a resource when the trail begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardEvents:
    """What a watch has heard since it began, and what was live then."""

    events: Sequence[Event] = ()
    live: Mapping[Address, Config] = field(default_factory=dict)

    def trail(self) -> Trail:
        """Return what was heard, with the values that were live when the watch began."""

        def before(address: Address, path: str) -> Json:
            return value_in(self.live[address], path) if address in self.live else None

        return Trail(events=self.events, before=before)


async def attribute_drift(looked: Looked, js: JetStream, heard: HeardEvents | None = None) -> Looked:
    """Add who did it to a drift. Only what drifted is looked up, and nothing is read where nothing drifted."""
    if not looked.drift.drifted:
        return looked
    heard_trail = heard.trail() if heard else None
    named = {item.address: _with_heard(item, heard_trail, looked.view.snapshot) for item in looked.drift.drifted}
    unsettled = [item for item in named.values() if not _is_settled(item)]
    trails = await _trails(unsettled, looked.view.snapshot, js) if unsettled else {}
    named |= {item.address: _with_captured(item, trails[item.address], looked.view.snapshot) for item in unsettled}
    drift: Drift = replace(looked.drift, items=tuple(named.get(item.address, item) for item in looked.drift.items))
    return replace(looked, drift=drift)


def _raw_of(item: Item) -> Raw:
    address = Address.parse(item.address)
    return REGISTRY.of(address).primary(address)


def _audited_raw(item: Item, drifting: FieldDrift | None = None) -> Raw | None:
    """What this field, or the whole object, is about, where the server tells who changed that; None: a record. Of a
    group's queue the server tells who deleted or recreated it."""
    if drifting.path == QUEUE if drifting else item.standing is Standing.RECREATED and _raw_of(item).type == "entry":
        address = Address.parse(item.address)
        return next(iter(REGISTRY.of(address).derived(address)), None)
    return None if _raw_of(item).type == "entry" else _raw_of(item)


def _with_heard(item: Item, trail: Trail | None, snapshot: Snapshot) -> Item:
    return _with_authors(item, trail, snapshot) if trail else _with_reason_only(item, NO_TRAIL)


def _with_reason_only(item: Item, why: Attribution) -> Item:
    """Nobody is named: this is why, and of records nobody ever is."""
    return _with_attributions(
        item,
        lambda drifting: why if _audited_raw(item, drifting) else KV_WRITES,
        why if _audited_raw(item) else KV_WRITES,
    )


def _is_settled(item: Item) -> bool:
    """Is every author named, or certain never to be?"""
    attributions = [(drifting.by, _audited_raw(item, drifting)) for drifting in item.fields if drifting.is_drift]
    return all(by.actor for by, raw in [*attributions, (item.by, _audited_raw(item))] if by and raw)


def _with_captured(item: Item, trail: Trail | Attribution, snapshot: Snapshot) -> Item:
    if isinstance(trail, Attribution):
        return _merge(item, _with_reason_only(item, trail))
    return _merge(item, _with_authors(item, trail, snapshot))


def _merge(first: Item, other: Item) -> Item:
    """Combine two answers: an author beats a reason for having none."""
    fields = tuple(
        replace(a, by=a.by if a.by and a.by.actor else b.by) for a, b in zip(first.fields, other.fields, strict=True)
    )
    by = first.by if first.by and first.by.actor else other.by
    return replace(first, fields=fields, by=by, deleted_by=first.deleted_by or other.deleted_by)


async def _trails(items: Sequence[Item], snapshot: Snapshot, js: JetStream) -> dict[str, Trail | Attribution]:
    """Read what a stream holds since each record was written, once for all objects."""
    stream = capturing_stream(snapshot)
    if stream is None:
        return {item.address: NO_TRAIL for item in items}
    info = snapshot.streams[stream]
    times_recorded = await asyncio.gather(*(_time_recorded(item, js) for item in items))
    times = dict(zip((item.address for item in items), times_recorded, strict=True))
    begins = [when or moment(str(info.get("created") or "")) for when in times.values()]
    begin = min((when for when in begins if when), default=None)
    if begin is None:
        return {item.address: Attribution(unknown="no record says when the object was applied") for item in items}
    answer = await events_since(js, stream, begin - MARGIN, last=int(info["state"]["last_seq"]))
    if isinstance(answer, str):
        return {item.address: Attribution(unknown=answer) for item in items}
    reach = None if answer.is_cut else info
    return {item.address: _trail_of(item, answer.events, times[item.address], reach) for item in items}


async def _time_recorded(item: Item, js: JetStream) -> datetime | None:
    """When the applied values were recorded."""
    if item.owned is None:
        return None
    stored = await entry(js, BUCKET, encode_key(Address.parse(item.address)))
    return moment(stored.stored) if isinstance(stored, Entry) else None


def _trail_of(item: Item, events: Sequence[Event], recorded: datetime | None, info: Mapping[str, Json] | None) -> Trail:
    """The trail of an object. Where it reaches back to the record, it begins with the applied values, unless earlier
    events show what they were."""
    owned = item.owned
    if owned is None or recorded is None or info is None or not reaches_back_to(info, recorded):
        return Trail(events=events)
    if _has_events_before(events, _raw_of(item), recorded):
        return Trail(events=events)
    return Trail(events=events, before=lambda _address, path: value_in(owned.applied, path))


def _has_events_before(events: Sequence[Event], raw: Raw, recorded: datetime) -> bool:
    times = (moment(event.actor.at) for event in events if event.on == raw)
    return any(when is not None and when <= recorded for when in times)


def _with_authors(item: Item, trail: Trail, snapshot: Snapshot) -> Item:
    address, raw = Address.parse(item.address), _raw_of(item)
    kind = REGISTRY.of(address)

    def attribution_of(drifting: FieldDrift) -> Attribution:
        on = _audited_raw(item, drifting)
        if on is None:
            return KV_WRITES
        if drifting.path == QUEUE:
            return _author_of_queue(on, trail, snapshot)

        def value(config: Config) -> Json:
            return value_in(_canonical_config(config, raw, address, kind, snapshot), drifting.path)

        return audit.who_changed(trail.events, raw, value, drifting.change.live, trail.before(address, drifting.path))

    raw_of_object = _audited_raw(item)
    if raw_of_object is None:
        return _with_attributions(item, attribution_of, KV_WRITES)
    if item.standing is not Standing.RECREATED:
        return _with_attributions(item, attribution_of, audit.who_deleted(trail.events, raw_of_object))
    created = str((info_in(raw_of_object.on, snapshot) or {}).get("created") or "")
    with_creator = _with_attributions(item, attribution_of, audit.who_made(trail.events, raw_of_object, created))
    return replace(with_creator, deleted_by=audit.who_deleted_before(trail.events, raw_of_object, created))


def _author_of_queue(queue: Raw, trail: Trail, snapshot: Snapshot) -> Attribution:
    """Who deleted it, or gave it the configuration that it has."""
    info = snapshot.streams.get(queue.on[0])
    if info is None:
        return audit.who_deleted(trail.events, queue)
    return audit.who_changed(trail.events, queue, canonical, canonical(info["config"]), UNKNOWN)


def _with_attributions(item: Item, of: Callable[[FieldDrift], Attribution], of_object: Attribution) -> Item:
    fields = tuple(replace(drifting, by=of(drifting)) if drifting.is_drift else drifting for drifting in item.fields)
    return replace(
        item, fields=fields, by=of_object if item.standing in (Standing.MISSING, Standing.RECREATED) else None
    )


def _canonical_config(config: Config, raw: Raw, address: Address, kind: Kind, snapshot: Snapshot) -> Config:
    """Read a raw configuration in the form of its kind."""
    stream = raw.on[0]
    if raw.type == "stream":
        alone = Snapshot(target=snapshot.target, streams={stream: {"config": {**config, "name": stream}, "state": {}}})
    else:
        info = {"config": {"durable_name": raw.on[1], **config}, "stream_name": stream, "name": raw.on[1]}
        streams = {stream: snapshot.streams[stream]} if stream in snapshot.streams else {}
        alone = Snapshot(target=snapshot.target, streams=streams, consumers={stream: {raw.on[1]: info}})
    return next((resource.config for resource in kind.recognise(alone) if resource.address == address), {})
