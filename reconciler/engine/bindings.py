"""Values that are known only while a plan runs. Only these pure functions read them from a server's answer.

The step that reads binds the value under its own id; later steps say where it belongs.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from reconciler.model.ledger.entries import compact_json
from reconciler.model.resource import Json
from reconciler.model.wire.steps import Bind, Call, Step

Info = Mapping[str, Json]
"""The answer to CONSUMER.INFO; for a queue, what `queue.read` read."""

PAUSE = timedelta(seconds=10)
"""Long enough to read a position and delete; short enough that nobody waits long after an interrupted run."""


def first_needed_sequence(info: Info) -> Json:
    """The stream sequence of the first message that may still need this consumer; None if nobody can tell.

    Before 2.14 the ack floor is 0 until something is acknowledged, wherever the consumer started. Where it has passed
    messages in flight, it tells nothing.
    """
    if passed_in_flight(info):
        return None
    delivered, floor = info.get("delivered") or {}, info.get("ack_floor") or {}
    if not delivered.get("consumer_seq"):
        return delivered.get("stream_seq", 0) + 1
    if floor.get("consumer_seq") or floor.get("stream_seq"):
        return floor["stream_seq"] + 1
    return start_sequence(info["config"])


# Measured on every version: of five messages in flight and one that was purged from under a client, none is above the ack floor
# once the two after them are acknowledged. A stream that turns to interest deletes all five.
def passed_in_flight(info: Info) -> int:
    """How many messages in flight the ack floor has passed, at least: it does that where messages in flight are purged by
    subject."""
    delivered, floor = info.get("delivered") or {}, info.get("ack_floor") or {}
    spans = [reached - floor.get(counter, 0) for counter, reached in delivered.items() if counter in _COUNTERS]
    return max(0, int(info.get("num_ack_pending") or 0) - int(min(spans))) if spans else 0


_COUNTERS = ("consumer_seq", "stream_seq")


def start_sequence(config: Mapping[str, Json]) -> int | None:
    """The sequence at which a consumer was created to start; None if that is no number."""
    started = {"all": 1, "by_start_sequence": config.get("opt_start_seq")}
    return started.get(config.get("deliver_policy", "all"))


def soon_on_server(info: Info) -> Json:
    """A moment from now on the server's clock, whatever the local clock says."""
    return f"{datetime.fromisoformat(info['ts'][:19]) + PAUSE:%Y-%m-%dT%H:%M:%SZ}"


def resume_point(seen: Info) -> Json:
    """The sequence of the source from which a new queue misses nothing that is still to be processed; None if unknown.

    The queue copies messages in order and deletes them when they are processed, so the lowest queued message tells it.
    If the queue is empty, servers from 2.15 on tell it. Before, it is the end of the source, once both have been at
    rest for a while. A queue that was full is empty and reports no lag, and yet copies afterwards what it could not
    store.
    """
    queue, source, lowest = seen["queue"], seen["source"]["state"], seen.get("lowest")
    origin, progress = queue["config"]["sources"][0], source_progress(queue)
    if not same_source(seen):
        return None
    if lowest is not None:
        point = source_sequence(lowest, origin["name"])
    elif not queue["state"].get("last_seq"):
        point = origin.get("opt_start_seq") or 1
    elif progress.get("seq"):
        point = progress["seq"] + 1
    else:
        point = source["last_seq"] + 1 if seen["rested"] and not progress.get("lag") else None
    return point


def same_source(seen: Info) -> Json:
    """Are the copied sequence numbers still those of the source? None if the source ends before them: it is a new
    one."""
    queue, lowest = seen["queue"], seen.get("lowest")
    origin, progress = queue["config"]["sources"][0], source_progress(queue)
    reached = source_sequence(lowest, origin["name"]) if lowest else progress.get("seq") or 0
    return True if reached is not None and reached <= seen["afterwards"]["state"]["last_seq"] else None


def count_gone_from_source(seen: Info) -> int:
    """How many of the queued messages the source no longer holds, at most: those before its first one, or all if it has
    lost its end."""
    if seen.get("rewound"):
        return int(seen["queue"]["state"]["messages"])
    point, first = lowest_queued_sequence(seen), seen["afterwards"]["state"].get("first_seq", 0)
    return 0 if point is None else min(seen["queue"]["state"]["messages"], max(0, first - point))


def is_other_message(copy: Info, origin: Info | None, stream: str, last: int) -> bool:
    """Does the source (`stream`, which ends at `last`) hold another message where it gave this copy? Then it lost its
    end and gave the numbers to other messages."""
    number = source_sequence(copy, stream)
    if number is None:
        return False
    return number > last or (origin is not None and origin.get("data") != copy.get("data"))


def lowest_queued_sequence(seen: Info) -> int | None:
    """Which message of its source the lowest queued one is; None if nothing is queued, or nobody knows."""
    lowest, fed = seen.get("lowest"), seen["queue"]["config"].get("sources")
    return source_sequence(lowest, fed[0]["name"]) if lowest and fed else None


def source_progress(queue: Info) -> Info:
    """The position of a queue in its source, as the server lists it; empty if it lists no source at the moment."""
    listed: Sequence[Info] = queue.get("sources") or [{}]
    return listed[0]


_SOURCE = re.compile(rb"\r\nNats-Stream-Source: (\S+) (\d+) ", re.IGNORECASE)


def source_sequence(message: Mapping[str, Json], stream: str) -> int | None:
    """Which message of the source this one was."""
    match = _SOURCE.search(base64.b64decode(message.get("hdrs") or ""))
    return int(match[2]) if match and match[1].decode() == stream else None


SERVERS_FILL = (
    "duplicate_window", "mirror_direct", "max_waiting", "max_ack_pending", "max_batch", "inactive_threshold",
)  # fmt: skip
"""Fields for which a server's own limits, or another object, decide what a left-out value becomes."""


def server_filled(info: Info) -> dict[str, Json]:
    """The values of an object in these fields, whether or not the request named them."""
    return {name: info["config"][name] for name in SERVERS_FILL if info["config"].get(name)}


def age_and_progress(info: Info) -> dict[str, Json]:
    """The time at which an object was created, and how far it had come."""
    part, how_far = ("delivered", "consumer_seq") if "delivered" in info else ("state", "last_seq")
    return {"created": info.get("created"), "at": (info.get(part) or {}).get(how_far, 0)}


def possible_loss(info: Info) -> dict[str, Json]:
    """The position or messages that would be lost with the object, as far as there is something to lose."""
    if "delivered" in info:
        goes_on = first_needed_sequence({"config": {}, **info})
        return {"next": goes_on} if goes_on and goes_on > 1 else {}
    messages = (info.get("state") or {}).get("messages", 0)
    return {"messages": messages} if messages else {}


SEEN = ("created", "at", "next", "messages")
"""What the answer to a create tells of the object, for its record."""


def record_of_created(info: Info) -> dict[str, Json]:
    """Values for the record of an object that was just made, under the paths where it belongs."""
    seen = {**age_and_progress(info), **possible_loss(info)} if info.get("created") else {}
    return {"filled": server_filled(info), **{f"seen.{name}": value for name, value in seen.items()}}


BINDS: Mapping[Bind, Callable[[Info], Json]] = {
    Bind.AFTER_ACK_FLOOR: first_needed_sequence,
    Bind.SOON: soon_on_server,
    Bind.RESUME_POINT: resume_point,
    Bind.SAME_SOURCE: same_source,
    Bind.MADE: record_of_created,
}


def with_bound_values(step: Step, bound: Mapping[str, Json]) -> Step:
    """The step with every value it uses; the steps that bind them have already succeeded."""
    if not step.uses:
        return step
    if step.call is not Call.ENTRY_PUT:
        return replace(step, body=_bind_values(dict(step.body), step, bound))
    record = _bind_values(json.loads(step.value or "{}"), step, bound)
    return replace(step, value=compact_json(record).decode())


def _bind_values(body: dict[str, Any], step: Step, bound: Mapping[str, Json]) -> dict[str, Any]:
    """A step that binds several values binds each under the path where it belongs."""
    for path, source in step.uses.items():
        value = bound[source]
        if not isinstance(value, Mapping):
            body = dict(_set_at_path(body, path.split("."), value))
        elif path in value:
            body = dict(_set_at_path(body, path.split("."), value[path]))
    return body


def _set_at_path(body: Any, path: list[str], value: Json) -> Any:
    if not path:
        return value
    head, *rest = path
    if isinstance(body, list):
        return [_set_at_path(item, rest, value) if str(number) == head else item for number, item in enumerate(body)]
    return {**(body or {}), head: _set_at_path((body or {}).get(head), rest, value)}
