"""Changes of streams and consumers as primitive calls, shared by every kind that is stored in one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.fields.canonical_form import patch
from reconciler.kinds.stream_config import stream_config
from reconciler.kinds.stream_config.origins import taken_subjects
from reconciler.kinds.subjects.filters import FILTERS
from reconciler.model.resource import Config, Json
from reconciler.model.wire.snapshot import is_moving, mirror_hears_origin
from reconciler.model.wire.steps import Call, Step

Rename = Callable[[str], str]

REPLICAS_TIMEOUT = 600_000_000_000
"""How long a stream may take to move; large ones take longer, and the next apply continues from there."""


def create_stream(change: Change, name: str, config: Config) -> Step:
    """Create a stream with this configuration, on servers with the API level that its fields need."""
    return Step(
        id=f"create stream/{name}",
        call=Call.STREAM_CREATE,
        on=(name,),
        address=str(change.address),
        body={"name": name, **config},
        level=stream_config.required_level(config),
        effect=f"create stream {name}",
    )


def update_stream(
    change: Change,
    name: str,
    view: View,
    server_name: Rename = lambda field: field,
    repaired: Config = MappingProxyType({}),
) -> tuple[Step, ...]:
    """Patch the fields that differ, after everything that must be awaited. `server_name` translates a kind's own field
    names; `repaired` are fields that a kind never shows and needs back."""
    gates = [gate for gate in (wait_for_moving_replicas(change, name, view), wait_for_mirror(change, name)) if gate]
    set_, unset = patch(change)
    renamed = {server_name(field): value for field, value in set_.items()} | dict(repaired)
    update = Step(
        id=f"update stream/{name}",
        call=Call.STREAM_UPDATE,
        on=(name,),
        address=str(change.address),
        set=renamed,
        unset=tuple(
            path for path in (_with_server_name(field, server_name) for field in unset) if path not in repaired
        ),
        before=_planned_values(change, server_name),
        level=stream_config.required_level(renamed),
        after=tuple(gate.id for gate in gates),
        effect=f"update {_field_names(change)} of stream {name}",
    )
    return (*gates, update)


def wait_for_moving_replicas(change: Change, name: str, view: View) -> Step | None:
    """Wait until replicas that are being moved or added are current: a cluster reconfigures one thing at a time."""
    state = change.live.state if change.live else {}
    number = int(state.get("config", {}).get("num_replicas") or 1)
    touches = change.touches("num_replicas", "placement")
    if not view.target.is_clustered or not touches or not is_moving(state, number):
        return None
    return wait_for_replicas(change, name, number)


def wait_for_replicas(change: Change, name: str, replicas: int) -> Step:
    """Wait until the stream has this many replicas and all of them are current, for ten minutes at most."""
    return Step(
        id=f"wait for replicas of stream/{name}",
        call=Call.GATE_REPLICAS_CURRENT,
        on=(name,),
        address=str(change.address),
        body={"replicas": replicas, "timeout": REPLICAS_TIMEOUT},
        effect=f"wait until the replicas of stream {name} are current",
    )


def wait_for_mirror(change: Change, name: str) -> Step | None:
    """Wait until a mirror that is to be promoted has everything. If it hears nothing from its origin, there is no
    wait; the plan has said so."""
    if (
        not change.was("mirror")
        or change.becomes("mirror")
        or not mirror_hears_origin(change.live.state if change.live else {})
    ):
        return None
    return Step(
        id=f"wait for mirror stream/{name}",
        call=Call.GATE_MIRROR_CAUGHT_UP,
        on=(name,),
        address=str(change.address),
        body={"timeout": REPLICAS_TIMEOUT, **_origin_request(change.was("mirror"))},
        effect=f"wait until mirror {name} has everything that its origin has",
    )


def _origin_request(mirror: Config) -> Config:
    """The origin, if this account can ask it what the mirror lacks: a lag of 0 may also mean that copying has not
    begun. A mirror that starts at a time has no sequence to ask for."""
    if "external" in mirror or "opt_start_time" in mirror:
        return {}
    return {"from": mirror["name"], "first": mirror.get("opt_start_seq", 1), "subjects": taken_subjects(mirror)}


def _planned_config(change: Change) -> Mapping[str, Json] | None:
    """The whole raw configuration that a deletion was planned from: if anything has changed since, the deletion must be
    planned again."""
    return change.live.state.get("config") if change.live else None


def delete_stream(change: Change, name: str, *, after: tuple[str, ...] = ()) -> Step:
    """Delete a stream with its messages, if its configuration is still the planned one."""
    return Step(
        id=f"delete stream/{name}",
        call=Call.STREAM_DELETE,
        on=(name,),
        address=str(change.address),
        before=_planned_config(change),
        after=after,
        effect=f"delete stream {name} and everything in it",
    )


def create_consumer(change: Change, stream: str, name: str, config: Config) -> Step:
    """Create a durable consumer with this configuration, on servers with the API level that its fields need."""
    return Step(
        id=f"create consumer/{stream}/{name}",
        call=Call.CONSUMER_CREATE,
        on=(stream, name),
        address=str(change.address),
        body={"durable_name": name, "name": name, **config},
        level=consumer_config.required_level(config),
        effect=f"create consumer {name} on {stream}",
    )


def loses_its_filter(change: Change) -> bool:
    """Does it take everything afterwards, and only a part before?"""
    set_, unset = patch(change)
    is_unset = any(name in unset for name in FILTERS) and not any(name in set_ for name in FILTERS)
    return is_unset and change.becomes("deliver_policy") != "last_per_subject"


def update_consumer(change: Change, stream: str, name: str) -> Step:
    """Patch the fields that differ, except `pause_until`, which needs a request of its own."""
    set_, unset = patch(change)
    set_.pop("pause_until", None)
    if loses_its_filter(change):
        # No server wakes a consumer for new messages once an update has taken its filter away.
        set_["filter_subject"] = ">"
    return Step(
        id=f"update consumer/{stream}/{name}",
        call=Call.CONSUMER_UPDATE,
        on=(stream, name),
        address=str(change.address),
        set=set_,
        unset=tuple(path for path in unset if path not in ("pause_until", *set_)),
        before={field: value for field, value in _planned_values(change).items() if field != "pause_until"},
        level=consumer_config.required_level(set_),
        effect=f"update {_field_names(change)} of consumer {name} on {stream}",
    )


def delete_consumer(
    change: Change, stream: str, name: str, *, after: tuple[str, ...] = (), before: Config | None = None
) -> Step:
    """Delete a consumer. `before`: the raw configuration it was planned from, if it is not the change's own object."""
    return Step(
        id=f"delete consumer/{stream}/{name}",
        call=Call.CONSUMER_DELETE,
        on=(stream, name),
        address=str(change.address),
        before=_planned_config(change) if change.address.kind == "consumer" else before,
        after=after,
        effect=f"delete consumer {name} of {stream}",
    )


def _with_server_name(path: str, server_name: Rename) -> str:
    head, dot, rest = path.partition(".")
    return server_name(head) + dot + rest


def _planned_values(change: Change, server_name: Rename = lambda field: field) -> Mapping[str, Json]:
    """The raw values of the touched fields that the plan was made from. A change in between is noticed before it is
    overwritten."""
    raw = change.live.state.get("config", {}) if change.live else {}
    return {field: raw.get(field) for field in dict.fromkeys(server_name(item.top) for item in change.fields)}


def _field_names(change: Change) -> str:
    return ", ".join(dict.fromkeys(item.top for item in change.fields))
