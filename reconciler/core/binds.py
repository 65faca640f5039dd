"""Values known only while a plan runs: each is read off a server's answer by one of these pure functions, and no other.

The step that reads binds the value under its own id; later steps say where it belongs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from reconciler.core.resource import Json
from reconciler.core.wire import Call, Step

Info = Mapping[str, Json]
"""The answer to CONSUMER.INFO."""

PAUSE = timedelta(seconds=10)
"""Long enough to read a position and delete; short enough that nobody waits long after a run that was cut off."""


class Bind(StrEnum):
    """The closed list, by the names that plans say them with."""

    AFTER_ACK_FLOOR = "after_ack_floor"
    SOON = "soon"


def after_ack_floor(info: Info) -> Json:
    """The stream sequence of the first message that may still need this consumer; None when nobody can say.

    Before 2.14 the ack floor is 0 until something is acknowledged, wherever the consumer started.
    """
    delivered, floor = info.get("delivered") or {}, info.get("ack_floor") or {}
    if not delivered.get("consumer_seq"):
        return delivered.get("stream_seq", 0) + 1
    if floor.get("consumer_seq") or floor.get("stream_seq"):
        return floor["stream_seq"] + 1
    started = {"all": 1, "by_start_sequence": info["config"].get("opt_start_seq")}
    return started.get(info["config"].get("deliver_policy", "all"))


def soon(info: Info) -> Json:
    """A moment from now on the server's clock, whatever ours says."""
    return f"{datetime.fromisoformat(info['ts'][:19]) + PAUSE:%Y-%m-%dT%H:%M:%SZ}"


BINDS: Mapping[Bind, Callable[[Info], Json]] = {
    Bind.AFTER_ACK_FLOOR: after_ack_floor,
    Bind.SOON: soon,
}


def filled(step: Step, bound: Mapping[str, Json]) -> Step:
    """The step with every value it uses; the steps that bind them have succeeded before."""
    if not step.uses:
        return step
    if step.call is not Call.ENTRY_PUT:
        return replace(step, body=_with(dict(step.body), step, bound))
    record = _with(json.loads(step.value or "{}"), step, bound)
    return replace(step, value=json.dumps(record, separators=(",", ":"), ensure_ascii=False))


def _with(body: dict[str, Any], step: Step, bound: Mapping[str, Json]) -> dict[str, Any]:
    for path, source in step.uses.items():
        body = _placed(body, path.split("."), bound[source])
    return body


def _placed(body: dict[str, Any], path: list[str], value: Json) -> dict[str, Any]:
    head, *rest = path
    return {**body, head: _placed(dict(body.get(head) or {}), rest, value) if rest else value}
