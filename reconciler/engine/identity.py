"""Which object it was: told from one that was deleted and made anew under the same name, perhaps in the same words.

A record of ours holds when the object was created and how far it had come. Both must say so before anything counts as
made anew: the first moves with restarts of servers before 2.15, the second goes back only with a new object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.changes.kind import Kind, Raw
from reconciler.engine.bindings import after_ack_floor
from reconciler.model.records import BUCKET, Owned
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire import Snapshot, Step, Version

STABLE_CREATED = Version(2, 15)
"""From here on `created` changes only with the object itself; before, a restart may move it."""


def seen_in(snapshot: Snapshot, raw: Raw) -> Config:
    """What tells this object from others; empty where it is not there."""
    if raw.type == "entry":
        bucket, key = raw.on
        entry = snapshot.entries.get(bucket, {}).get(key)
        return entry_seen(entry.revision) if entry and not entry.deleted else {}
    info = found_in(raw.on, snapshot)
    return echoed(info, snapshot.target.version) if info else {}


def entry_seen(revision: int) -> Config:
    """Of a record in a bucket: its revision goes back only with the bucket."""
    return {"at": revision}


def echoed(echo: Mapping[str, Json], server: Version) -> Config:
    """The same from the answer to a create or update; empty where that does not tell."""
    return {**stands(echo), "server": str(server), **_holds(echo)} if echo.get("created") else {}


def _holds(info: Mapping[str, Json]) -> Config:
    """What would go with it, as far as there is something to lose."""
    if "delivered" in info:
        goes_on = after_ack_floor({"config": {}, **info})
        return {"next": goes_on} if goes_on and goes_on > 1 else {}
    messages = (info.get("state") or {}).get("messages", 0)
    return {"messages": messages} if messages else {}


def is_another(was: Config, now: Config, *, keeps: bool) -> bool:
    """Is what is live surely another object than the one remembered? `keeps`: it outlives a restart of its server;
    what lives in memory starts again from nothing."""
    if not was or not now or not _are_numbers(was.get("at"), now.get("at")):
        return False
    went_back = now["at"] < was["at"]
    if "created" not in was or "created" not in now:
        return bool(went_back)
    if was["created"] == now["created"]:
        return False
    return (_is_stable(was) and _is_stable(now)) or bool(went_back and keeps)


def made_anew(owned: Owned, address: Address, kind: Kind, snapshot: Snapshot) -> bool:
    """Is what is live now surely another object than the one the record is about?"""
    raw = kind.primary(address)
    keeps = raw.type == "entry" or _stream_keeps(raw.on[0], snapshot)
    return is_another(owned.seen, seen_in(snapshot, raw), keeps=keeps)


def _stream_keeps(name: str, snapshot: Snapshot) -> bool:
    info = snapshot.streams.get(name) or {}
    return (info.get("config") or {}).get("storage") != "memory"


def _are_numbers(*values: Json) -> bool:
    return all(isinstance(value, int) for value in values)


def _is_stable(seen: Config) -> bool:
    try:
        return Version.parse(str(seen.get("server", ""))) >= STABLE_CREATED
    except ValueError:
        return False


Seen = Mapping[str, Mapping[str, Json]]
"""By name (`ORDERS`, `ORDERS/dispatch`): when the server says it was created, and how far it had come."""


def seen(steps: Iterable[Step], snapshot: Snapshot) -> dict[str, Mapping[str, Json]]:
    """What the steps touch, as far as it is live."""
    touched = dict.fromkeys(on for step in steps for on in _objects(step))
    return {"/".join(on): found for on in sorted(touched) if (found := standing(on, snapshot))}


def _objects(step: Step) -> Iterator[tuple[str, ...]]:
    """The stream, and the consumer; of an entry, the stream behind its bucket."""
    if step.call.value.startswith("entry."):
        yield (f"KV_{step.on[0]}",)
        return
    yield step.on[:1]
    if len(step.on) > 1:
        yield step.on


def standing(on: tuple[str, ...], snapshot: Snapshot) -> Mapping[str, Json] | None:
    """When this stream or consumer was created, and how far it has come; None: it is not there."""
    info = found_in(on, snapshot)
    return stands(info) if info else None


def found_in(on: tuple[str, ...], snapshot: Snapshot) -> Mapping[str, Json] | None:
    """What the server said of this stream or consumer; None: it is not there."""
    return snapshot.streams.get(on[0]) if len(on) == 1 else snapshot.consumers.get(on[0], {}).get(on[1])


def stands(info: Mapping[str, Json]) -> Mapping[str, Json]:
    """The same of an INFO reply."""
    part, how_far = ("delivered", "consumer_seq") if "delivered" in info else ("state", "last_seq")
    return {"created": info.get("created"), "at": (info.get(part) or {}).get(how_far, 0)}


def recreated(step: Step, then: Seen, now: Seen, version: Version) -> str | None:
    """The object of this step that was deleted and made anew since: created at another time, and its state went
    backwards. An account bucket of ours is told by its id."""
    for on in _objects(step):
        name = "/".join(on)
        was, is_ = then.get(name), now.get(name)
        if not (was and is_) or was["created"] == is_["created"] or name == f"KV_{BUCKET}":
            continue
        if is_["at"] < was["at"] or version >= STABLE_CREATED:
            return f"{'stream' if len(on) == 1 else 'consumer'} {name}"
    return None
