"""Waiting for the members of an elastic group to stop reading its queue: they end when they see that the record is
deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reconciler.changes.diff import Change
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.derived import stream_name
from reconciler.kinds.elastic_group.movement import owners
from reconciler.model.resource import Config, Json
from reconciler.model.wire.steps import Call, Step

Info = Mapping[str, Json]


def members_gone(change: Change, view: View) -> Step:
    """A step that waits until nobody reads the queue any more."""
    name = stream_name(*change.address.names)
    return Step(
        id=f"wait for members of {name}",
        call=Call.GATE_CONSUMERS_GONE,
        on=(name,),
        address=str(change.address),
        body={"timeout": _patience(name, view)},
        effect="wait until the members have stopped reading the queue",
    )


def members_back(change: Change, view: View, written: Step) -> Step | None:
    """A step that waits until the members that consumed before consume again, with the partitions of the new membership
    that was `written`."""
    queue = stream_name(*change.address.names)
    consumers = view.snapshot.consumers.get(queue, {})
    at_work = {name: info for name, info in consumers.items() if _has_a_client(info)}
    wanted = _partitions(change.desired.config if change.desired else {})
    awaited = {name: numbers for name, numbers in wanted.items() if name in at_work}
    if not awaited:
        return None
    held, again = longest_held(consumers.values()), tries_again(consumers.values())
    last = {"held": held, "again": again, "timeout": held + again + SECOND}
    return Step(
        id=f"see members of {queue} back",
        call=Call.GATE_MEMBERS_BACK,
        on=(queue,),
        address=str(change.address),
        body={"partitions": awaited, **last, "record": [*written.on]},
        after=(written.id,),
        effect=f"check that {', '.join(awaited)} consume again",
    )


def longest_held(consumers: Iterable[Info]) -> int:
    """Nanoseconds for which a member that has ended keeps its partitions from the others; the server refuses these that
    long (10100).

    The server deletes its consumer: it waits until the last delivered message should have been acknowledged, then for
    the inactivity threshold, to which it adds up to a second. A pull that is still open has run out by then.
    """
    return SECOND + max(_nanoseconds(info, "ack_wait") + _nanoseconds(info, "inactive_threshold") for info in consumers)


def tries_again(consumers: Iterable[Info]) -> int:
    """Nanoseconds after which refused members try again at the latest: an ack wait and half a second."""
    return SECOND // 2 + max(_nanoseconds(info, "ack_wait") for info in consumers)


def _nanoseconds(info: Info, field: str) -> int:
    return int(info["config"].get(field) or 0)


def _has_a_client(info: Mapping[str, Json]) -> bool:
    """Somebody waits for messages, or is pinned. Messages in flight may belong to a dead client."""
    pinned = any(group.get("pinned_client_id") for group in info.get("priority_groups") or ())
    return bool(info.get("num_waiting")) or pinned


def _partitions(config: Config) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, owner in enumerate(owners(config)):
        if owner is not None:
            found.setdefault(owner, []).append(number)
    return found


SECOND = 1_000_000_000
LEAST = 10_000_000_000
"""Nanoseconds. Members may have joined since the plan, and finish their messages first."""


def _patience(name: str, view: View) -> int:
    """Nanoseconds until the slowest member has ended: its last pull runs out, then its inactivity threshold begins."""
    consumers = view.snapshot.consumers.get(name, {}).values()
    longest = max((info["config"].get("inactive_threshold", 0) for info in consumers), default=0)
    return 2 * int(longest) + LEAST
