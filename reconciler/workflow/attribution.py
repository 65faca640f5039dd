"""Who did it: drift beside the account's audit trail, from a stream that captures it or from what a watch has heard.

Nobody is named on suspicion. A value has an author only where its change was seen: the request after which it was so,
and that it was otherwise before. What was applied counts as seen where the trail reaches back to when that was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from reconciler.core import audit
from reconciler.core.attribution import Attribution
from reconciler.core.audit import UNKNOWN, Event
from reconciler.core.diff import value_in
from reconciler.core.drift import Drift, FieldDrift, Item, Standing
from reconciler.core.kind import Kind, Raw
from reconciler.core.records import BUCKET, encode_key
from reconciler.core.resource import Address, Config, Json
from reconciler.core.wire import Snapshot
from reconciler.kinds import REGISTRY
from reconciler.server.api import JetStream
from reconciler.server.audit_trail import capture, events_since, moment, reaches_back_to
from reconciler.server.read_kv import dated
from reconciler.workflow.drift import Looked

MARGIN = timedelta(seconds=60)
"""Records are written a moment after what they are about; what happened in between is looked at too."""
KV_WRITES = Attribution(unknown="writes to KV buckets leave no audit event")
NO_TRAIL = Attribution(unknown="no stream captures $JS.EVENT.ADVISORY.API")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What was heard since a moment at which the live configurations were known."""

    events: Sequence[Event]
    before: Callable[[Address, str], Json] = lambda _address, _path: UNKNOWN
    """The value of a path of a resource when it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a watch has heard since it began, and what was live then."""

    events: Sequence[Event] = ()
    live: Mapping[Address, Config] = field(default_factory=dict)

    def trail(self) -> Trail:
        def before(address: Address, path: str) -> Json:
            return value_in(self.live[address], path) if address in self.live else None

        return Trail(events=self.events, before=before)


async def attributed(found: Looked, js: JetStream, heard: Heard | None = None) -> Looked:
    """The same drift with who did it. Only what strayed is asked about, and nothing where nothing did."""
    if not found.drift.drifted:
        return found
    items = [await _item(item, found, js, heard) if item.is_drift else item for item in found.drift.items]
    drift: Drift = replace(found.drift, items=tuple(items))
    return replace(found, drift=drift)


async def _item(item: Item, found: Looked, js: JetStream, heard: Heard | None) -> Item:
    address = Address.parse(item.address)
    raw = REGISTRY.of(address).primary(address)
    if raw.type == "entry":
        return _by(item, lambda _: KV_WRITES, KV_WRITES)
    named = _named(item, raw, heard.trail(), found.snapshot) if heard else _by(item, lambda _: NO_TRAIL, NO_TRAIL)
    if all(by.actor for by in _said(named)):
        return named
    captured = await _captured(item, found.snapshot, js)
    if isinstance(captured, Attribution):
        return _merged(named, _by(item, lambda _: captured, captured))
    return _merged(named, _named(item, raw, captured, found.snapshot))


def _said(item: Item) -> Iterator[Attribution]:
    yield from ([item.by] if item.by else [])
    yield from (one.by for one in item.fields if one.counts and one.by)


def _merged(one: Item, other: Item) -> Item:
    """An actor beats a reason for having none."""
    fields = tuple(
        replace(a, by=a.by if a.by and a.by.actor else b.by) for a, b in zip(one.fields, other.fields, strict=True)
    )
    return replace(one, fields=fields, by=one.by if one.by and one.by.actor else other.by)


async def _captured(item: Item, snapshot: Snapshot, js: JetStream) -> Trail | Attribution:
    """What a stream holds since the object was recorded; without a record, since ever, and then nothing is known before."""
    stream = capture(snapshot)
    if stream is None:
        return NO_TRAIL
    address, owned = Address.parse(item.address), item.owned
    said = await dated(js, BUCKET, encode_key(address)) if owned else None
    since = moment(said[1]) if isinstance(said, tuple) else None
    begin = since or moment(str(snapshot.streams[stream].get("created") or ""))
    if begin is None:
        return Attribution(unknown="nobody can say when it was applied")
    events = await events_since(js, stream, begin, MARGIN)
    if isinstance(events, str):
        return Attribution(unknown=events)
    raw = REGISTRY.of(address).primary(address)
    if (
        owned is None
        or since is None
        or not reaches_back_to(snapshot.streams[stream], since)
        or _earlier(events, raw, said)
    ):
        return Trail(events=events)
    return Trail(events=events, before=lambda _address, path: value_in(owned.fields, path))


def _earlier(events: Sequence[Event], raw: Raw, said: object) -> bool:
    """Was it changed just before it was recorded? Then those events themselves tell what it was."""
    recorded = moment(said[1]) if isinstance(said, tuple) else None
    times = (moment(one.actor.at) for one in events if one.on == raw)
    return recorded is not None and any(when is not None and when <= recorded for when in times)


def _named(item: Item, raw: Raw, trail: Trail, snapshot: Snapshot) -> Item:
    address = Address.parse(item.address)
    kind = REGISTRY.of(address)

    def of(one: FieldDrift) -> Attribution:
        def value(config: Config) -> Json:
            return value_in(_canonical(config, raw, address, kind, snapshot), one.path)

        return audit.who_changed(trail.events, raw, value, one.change.live, trail.before(address, one.path))

    return _by(item, of, _whole(item, raw, trail, snapshot))


def _whole(item: Item, raw: Raw, trail: Trail, snapshot: Snapshot) -> Attribution:
    if item.standing is Standing.MISSING:
        return audit.who_deleted(trail.events, raw)
    info = snapshot.streams.get(raw.on[0]) if len(raw.on) == 1 else snapshot.consumers.get(raw.on[0], {}).get(raw.on[1])
    return audit.who_made(trail.events, raw, str((info or {}).get("created") or ""))


def _by(item: Item, of: Callable[[FieldDrift], Attribution], whole: Attribution) -> Item:
    fields = tuple(replace(one, by=of(one)) if one.counts else one for one in item.fields)
    return replace(item, fields=fields, by=whole if item.standing in (Standing.MISSING, Standing.RECREATED) else None)


def _canonical(config: Config, raw: Raw, address: Address, kind: Kind, snapshot: Snapshot) -> Config:
    """This raw configuration as the kind reads it."""
    stream = raw.on[0]
    if raw.type == "stream":
        alone = Snapshot(target=snapshot.target, streams={stream: {"config": {**config, "name": stream}, "state": {}}})
    else:
        info = {"config": config, "stream_name": stream, "name": raw.on[1]}
        streams = {stream: snapshot.streams[stream]} if stream in snapshot.streams else {}
        alone = Snapshot(target=snapshot.target, streams=streams, consumers={stream: {raw.on[1]: info}})
    return next((one.config for one in kind.recognise(alone) if one.address == address), {})
