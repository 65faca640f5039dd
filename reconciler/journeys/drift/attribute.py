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
from reconciler.engine.identity import info_in
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.look import Looked
from reconciler.kinds import REGISTRY
from reconciler.kinds.elastic_group.immutable import QUEUE
from reconciler.kinds.stream_config.stream_config import canonical
from reconciler.model.dataclass import dataclass
from reconciler.model.records import BUCKET, encode_key
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.server.read.audit_trail import capture, events_since, moment, reaches_back_to
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
class Heard:
    """What a watch has heard since it began, and what was live then."""

    events: Sequence[Event] = ()
    live: Mapping[Address, Config] = field(default_factory=dict)

    def trail(self) -> Trail:
        """Return what was heard, with the values that were live when the watch began."""

        def before(address: Address, path: str) -> Json:
            return value_in(self.live[address], path) if address in self.live else None

        return Trail(events=self.events, before=before)


async def attributed(found: Looked, js: JetStream, heard: Heard | None = None) -> Looked:
    """Add who did it to a drift. Only what drifted is looked up, and nothing is read where nothing drifted."""
    if not found.drift.drifted:
        return found
    heard_trail = heard.trail() if heard else None
    named = {item.address: _heard(item, heard_trail, found.view.snapshot) for item in found.drift.drifted}
    asked = [item for item in named.values() if not _is_settled(item)]
    trails = await _trails(asked, found.view.snapshot, js) if asked else {}
    named |= {item.address: _captured(item, trails[item.address], found.view.snapshot) for item in asked}
    drift: Drift = replace(found.drift, items=tuple(named.get(item.address, item) for item in found.drift.items))
    return replace(found, drift=drift)


def _raw(item: Item) -> Raw:
    address = Address.parse(item.address)
    return REGISTRY.of(address).primary(address)


def _audited(item: Item, one: FieldDrift | None = None) -> Raw | None:
    """What this field, or the whole object, is about, where the server tells who changed that; None: a record. Of a
    group's queue the server tells who deleted or recreated it."""
    if one.path == QUEUE if one else item.standing is Standing.RECREATED and _raw(item).type == "entry":
        address = Address.parse(item.address)
        return next(iter(REGISTRY.of(address).derived(address)), None)
    return None if _raw(item).type == "entry" else _raw(item)


def _heard(item: Item, trail: Trail | None, snapshot: Snapshot) -> Item:
    return _named(item, trail, snapshot) if trail else _untold(item, NO_TRAIL)


def _untold(item: Item, why: Attribution) -> Item:
    """Nobody is named: this is why, and of records nobody ever is."""
    return _by(item, lambda one: why if _audited(item, one) else KV_WRITES, why if _audited(item) else KV_WRITES)


def _is_settled(item: Item) -> bool:
    """Is every author named, or certain never to be?"""
    said = [(one.by, _audited(item, one)) for one in item.fields if one.counts]
    return all(by.actor for by, asked in [*said, (item.by, _audited(item))] if by and asked)


def _captured(item: Item, trail: Trail | Attribution, snapshot: Snapshot) -> Item:
    if isinstance(trail, Attribution):
        return _merged(item, _untold(item, trail))
    return _merged(item, _named(item, trail, snapshot))


def _merged(one: Item, other: Item) -> Item:
    """Combine two answers: an author beats a reason for having none."""
    fields = tuple(
        replace(a, by=a.by if a.by and a.by.actor else b.by) for a, b in zip(one.fields, other.fields, strict=True)
    )
    by = one.by if one.by and one.by.actor else other.by
    return replace(one, fields=fields, by=by, deleted_by=one.deleted_by or other.deleted_by)


async def _trails(items: Sequence[Item], snapshot: Snapshot, js: JetStream) -> dict[str, Trail | Attribution]:
    """Read what a stream holds since each record was written, once for all objects."""
    stream = capture(snapshot)
    if stream is None:
        return {item.address: NO_TRAIL for item in items}
    info = snapshot.streams[stream]
    found = await asyncio.gather(*(_recorded(item, js) for item in items))
    times = dict(zip((item.address for item in items), found, strict=True))
    begins = [when or moment(str(info.get("created") or "")) for when in times.values()]
    begin = min((when for when in begins if when), default=None)
    if begin is None:
        return {item.address: Attribution(unknown="no record says when the object was applied") for item in items}
    said = await events_since(js, stream, begin - MARGIN, last=int(info["state"]["last_seq"]))
    if isinstance(said, str):
        return {item.address: Attribution(unknown=said) for item in items}
    reach = None if said.is_cut else info
    return {item.address: _trail(item, said.events, times[item.address], reach) for item in items}


async def _recorded(item: Item, js: JetStream) -> datetime | None:
    """When the applied values were recorded."""
    if item.owned is None:
        return None
    said = await entry(js, BUCKET, encode_key(Address.parse(item.address)))
    return moment(said.stored) if isinstance(said, Entry) else None


def _trail(item: Item, events: Sequence[Event], recorded: datetime | None, info: Mapping[str, Json] | None) -> Trail:
    """The trail of an object. Where it reaches back to the record, it begins with the applied values, unless earlier
    events show what they were."""
    owned = item.owned
    if owned is None or recorded is None or info is None or not reaches_back_to(info, recorded):
        return Trail(events=events)
    if _earlier(events, _raw(item), recorded):
        return Trail(events=events)
    return Trail(events=events, before=lambda _address, path: value_in(owned.applied, path))


def _earlier(events: Sequence[Event], raw: Raw, recorded: datetime) -> bool:
    times = (moment(one.actor.at) for one in events if one.on == raw)
    return any(when is not None and when <= recorded for when in times)


def _named(item: Item, trail: Trail, snapshot: Snapshot) -> Item:
    address, raw = Address.parse(item.address), _raw(item)
    kind = REGISTRY.of(address)

    def of(one: FieldDrift) -> Attribution:
        on = _audited(item, one)
        if on is None:
            return KV_WRITES
        if one.path == QUEUE:
            return _whose_queue(on, trail, snapshot)

        def value(config: Config) -> Json:
            return value_in(_canonical(config, raw, address, kind, snapshot), one.path)

        return audit.who_changed(trail.events, raw, value, one.change.live, trail.before(address, one.path))

    whole = _audited(item)
    if whole is None:
        return _by(item, of, KV_WRITES)
    if item.standing is not Standing.RECREATED:
        return _by(item, of, audit.who_deleted(trail.events, whole))
    created = str((info_in(whole.on, snapshot) or {}).get("created") or "")
    made = _by(item, of, audit.who_made(trail.events, whole, created))
    return replace(made, deleted_by=audit.who_deleted_before(trail.events, whole, created))


def _whose_queue(queue: Raw, trail: Trail, snapshot: Snapshot) -> Attribution:
    """Who deleted it, or gave it the configuration that it has."""
    info = snapshot.streams.get(queue.on[0])
    if info is None:
        return audit.who_deleted(trail.events, queue)
    return audit.who_changed(trail.events, queue, canonical, canonical(info["config"]), UNKNOWN)


def _by(item: Item, of: Callable[[FieldDrift], Attribution], whole: Attribution) -> Item:
    fields = tuple(replace(one, by=of(one)) if one.counts else one for one in item.fields)
    return replace(item, fields=fields, by=whole if item.standing in (Standing.MISSING, Standing.RECREATED) else None)


def _canonical(config: Config, raw: Raw, address: Address, kind: Kind, snapshot: Snapshot) -> Config:
    """Read a raw configuration in the form of its kind."""
    stream = raw.on[0]
    if raw.type == "stream":
        alone = Snapshot(target=snapshot.target, streams={stream: {"config": {**config, "name": stream}, "state": {}}})
    else:
        info = {"config": {"durable_name": raw.on[1], **config}, "stream_name": stream, "name": raw.on[1]}
        streams = {stream: snapshot.streams[stream]} if stream in snapshot.streams else {}
        alone = Snapshot(target=snapshot.target, streams=streams, consumers={stream: {raw.on[1]: info}})
    return next((one.config for one in kind.recognise(alone) if one.address == address), {})
