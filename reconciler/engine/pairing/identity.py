"""Which object is it? This tells an object from one that was deleted and recreated under the same name, perhaps with
the same settings.

A record holds when the object was created and how far it had come. Before 2.15 the creation time moves with restarts of
the server, while the state goes back only with a new object. So before 2.15 both must differ, or the server that holds
the object must not have restarted since; its id tells, if one server holds everything. A recreated stream has lost its
consumers, however far they had come.

What no server before 2.15 reveals, in a cluster or after a restart: a recreated object that has come as far as the old
one had when it was last applied. A consumer that was new then has always come as far.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from reconciler.changes.kind import Kind, Raw
from reconciler.engine.bindings import age_and_progress, possible_loss
from reconciler.model.ledger.records import BUCKET, Owned
from reconciler.model.resource import Address, Config, Json
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.steps import Step
from reconciler.model.wire.version import Version

STABLE_CREATED = Version(2, 15)
"""From this version on, `created` changes only with the object itself; before, a restart may move it."""
SHORT = 12
"""How many letters of a server's id tell one start of it from others."""
nothing_known: Mapping[Address, Owned] = MappingProxyType({})


BEHIND = "behind"
"""In what was seen of a resource, the same of the stream that belongs to it: the queue of a group."""


def identity_of_resource(snapshot: Snapshot, address: Address, kind: Kind) -> Config:
    """The data that tells this resource from others of its name; empty if it does not exist."""
    seen, behind = _identity_of_raw(kind.primary(address), snapshot), _stream_behind(address, kind)
    seen_behind = _identity_of_raw(behind, snapshot) if seen and behind else {}
    return {**seen, BEHIND: seen_behind} if seen_behind else seen


def identity_after_request(was: Config, done: Raw, seen_now: Config, address: Address, kind: Kind) -> Config:
    """The identity of a resource as it was seen, with what a request found out about one of its objects."""
    if done == kind.primary(address):
        return {**seen_now, BEHIND: was[BEHIND]} if BEHIND in was else seen_now
    return {**was, BEHIND: seen_now}


def raw_written_by(step: Step, address: Address, kind: Kind) -> Raw | None:
    """Which of the objects that tell this resource from others the step writes."""
    raws = (kind.primary(address), _stream_behind(address, kind))
    return next((raw for raw in raws if raw and raw.on == step.on and step.call.startswith(f"{raw.type}.")), None)


def _stream_behind(address: Address, kind: Kind) -> Raw | None:
    return next(iter(kind.derived(address)), None)


def _identity_of_raw(raw: Raw, snapshot: Snapshot) -> Config:
    if raw.type == "entry":
        bucket, key = raw.on
        entry = snapshot.entries.get(bucket, {}).get(key)
        return identity_of_entry(entry.revision) if entry and not entry.deleted else {}
    info = info_in(raw.on, snapshot)
    return identity_in_answer(info, snapshot.target) if info else {}


def identity_of_entry(revision: int) -> Config:
    """The same for a record in a bucket: its revision goes back only with the bucket."""
    return {"at": revision}


def identity_in_answer(echo: Mapping[str, Json], target: Target) -> Config:
    """The same from the answer to a create or update; empty if the answer does not tell."""
    if not echo.get("created"):
        return {}
    return {**age_and_progress(echo), **server_identity(target), **possible_loss(echo)}


def server_identity(target: Target) -> Config:
    """Which server says so, and which start of it where that matters."""
    says_more = target.server and target.is_all and not _keeps_creation_times(target.version)
    return {
        "server": str(target.version),
        **({"process": target.server[-SHORT:]} if says_more and target.server else {}),
    }


def is_another_object(was: Mapping[str, Json], now: Mapping[str, Json], *, keeps: bool) -> bool:
    """Is the live object certainly not the remembered one? `keeps`: it outlives a restart of its server; what lives in
    memory starts again from nothing."""
    if not was or not now or not _are_numbers(was.get("at"), now.get("at")):
        return False
    went_back = now["at"] < was["at"]
    if "created" not in was or "created" not in now:
        return bool(went_back)
    if was["created"] == now["created"]:
        return False
    return (_has_stable_time(was) and _has_stable_time(now)) or _keeps_running(was, now) or bool(went_back and keeps)


def _keeps_running(was: Mapping[str, Json], now: Mapping[str, Json]) -> bool:
    """The same server process has been running since then."""
    return bool(was.get("process")) and was["process"] == now.get("process")


def is_recreated(
    owned: Owned, address: Address, kind: Kind, snapshot: Snapshot, ledger: Mapping[Address, Owned] = nothing_known
) -> bool:
    """Is the live object certainly not the one the record is about? `ledger` tells about its stream."""
    raw = kind.primary(address)
    if _is_other_object(owned.seen, raw, snapshot):
        return True
    above = ledger.get(Address.of("stream", raw.on[0])) if raw.type == "consumer" else None
    return (
        above is not None
        and _has_other_creation_time(owned, raw, snapshot)
        and _is_other_object(above.seen, Raw("stream", raw.on[:1]), snapshot)
    )


def recreated_stream_behind(owned: Owned, address: Address, kind: Kind, snapshot: Snapshot) -> str | None:
    """The stream that belongs to this resource, if the live one is certainly not the one the record is about."""
    behind = _stream_behind(address, kind)
    return behind.on[0] if behind and _is_other_object(owned.seen.get(BEHIND, {}), behind, snapshot) else None


def _is_other_object(was: Config, raw: Raw, snapshot: Snapshot) -> bool:
    keeps = raw.type == "entry" or _outlives_restart(raw.on[0], snapshot)
    return is_another_object(was, _identity_of_raw(raw, snapshot), keeps=keeps)


def _has_other_creation_time(owned: Owned, raw: Raw, snapshot: Snapshot) -> bool:
    """Is its creation time another one?"""
    was, now = owned.seen.get("created"), _identity_of_raw(raw, snapshot).get("created")
    return bool(was and now and was != now)


def _outlives_restart(name: str, snapshot: Snapshot) -> bool:
    info = snapshot.streams.get(name) or {}
    return (info.get("config") or {}).get("storage") != "memory"


def _are_numbers(*values: Json) -> bool:
    return all(isinstance(value, int) for value in values)


def _has_stable_time(seen: Mapping[str, Json]) -> bool:
    try:
        return _keeps_creation_times(Version.parse(str(seen.get("server", ""))))
    except ValueError:
        return False


def _keeps_creation_times(version: Version) -> bool:
    return version >= STABLE_CREATED


Seen = Mapping[str, Mapping[str, Json]]
"""By name (`ORDERS`, `ORDERS/dispatch`): when the server says it was created, how far it had come, and which server says so."""


def identities_touched(steps: Iterable[Step], snapshot: Snapshot) -> dict[str, Mapping[str, Json]]:
    """Everything that the steps touch, as far as it is live."""
    touched = dict.fromkeys(on for step in steps for on in _objects_of_step(step))
    return {"/".join(on): seen_now for on in sorted(touched) if (seen_now := identity_of_object(on, snapshot))}


def _objects_of_step(step: Step) -> Iterator[tuple[str, ...]]:
    """The stream, and the consumer; for an entry, the stream behind its bucket."""
    if step.call.value.startswith("entry."):
        yield (f"KV_{step.on[0]}",)
        return
    yield step.on[:1]
    if len(step.on) > 1:
        yield step.on


def identity_of_object(on: tuple[str, ...], snapshot: Snapshot) -> Mapping[str, Json] | None:
    """The data that tells this stream or consumer from others of its name; None: it does not exist."""
    info = info_in(on, snapshot)
    return identity_in_info(info, snapshot.target) if info else None


def identity_in_info(info: Mapping[str, Json], target: Target) -> Mapping[str, Json]:
    """The time at which an object was created, and how far it has come, as this server says."""
    return {**age_and_progress(info), **server_identity(target)}


def info_in(on: tuple[str, ...], snapshot: Snapshot) -> Mapping[str, Json] | None:
    """The answer of the server about this stream or consumer; None: it does not exist."""
    return snapshot.streams.get(on[0]) if len(on) == 1 else snapshot.consumers.get(on[0], {}).get(on[1])


def recreated_object(step: Step, then: Seen, now: Seen) -> str | None:
    """The object of this step that was certainly deleted and recreated since. Reconciler's own bucket is recognised by
    its id."""
    for on in _objects_of_step(step):
        name = "/".join(on)
        if name != f"KV_{BUCKET}" and is_another_object(then.get(name, {}), now.get(name, {}), keeps=True):
            return f"{'stream' if len(on) == 1 else 'consumer'} {name}"
    return None
