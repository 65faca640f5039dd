"""Waiting for the members of an elastic group: until they have stopped reading its queue, for they end when they see that
the record is deleted; and until they consume again after a change of the membership."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.kinds.fields.words import few
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.group_records.member_subjects import owners
from reconciler.kinds.subjects.partitions import by_owner
from reconciler.model.resource import Json
from reconciler.model.units import show_duration
from reconciler.model.wire.steps import Call, Step

Info = Mapping[str, Json]


def members_gone_gate(change: Change, view: View) -> Step:
    """A step that waits until nobody reads the queue any more."""
    name = stream_name(*change.address.names)
    return Step(
        id=f"wait for members of {name}",
        call=Call.GATE_CONSUMERS_GONE,
        on=(name,),
        address=str(change.address),
        body={"timeout": _departure_timeout(name, view)},
        effect="wait until the members have stopped reading the queue",
    )


def members_back_gate(change: Change, view: View, written: Step) -> Step | None:
    """A step that waits until the members that consumed before consume again, with the partitions of the new membership
    that was `written`."""
    queue, awaited = stream_name(*change.address.names), _awaited_partitions(change, view)
    if not awaited:
        return None
    return Step(
        id=f"see members of {queue} back",
        call=Call.GATE_MEMBERS_BACK,
        on=(queue,),
        address=str(change.address),
        body={"partitions": awaited, **_wait_times(queue, view), "record": [*written.on]},
        after=(written.id,),
        effect=f"check that {', '.join(awaited)} consume again",
    )


def leaving_consequences(change: Change, view: View) -> Iterable[Consequence]:
    """For whom an apply that deletes the queue waits before it does, and how long at most."""
    name = stream_name(*change.address.names)
    reading = sorted(view.snapshot.consumers.get(name, {}))
    if reading:
        longest = show_duration(_departure_timeout(name, view))
        yield Consequence(
            message=f"Apply waits up to {longest} until {few(reading)} {'has' if len(reading) == 1 else 'have'} stopped reading {name}; "
            "if not, it fails before it deletes that"
        )


def waiting_consequences(change: Change, view: View) -> Iterable[Consequence]:
    """For whom an apply of a membership waits, and how long at most."""
    if (
        change.action is Action.UPDATE
        and change.touches(*MEMBERSHIP)
        and (awaited := _awaited_partitions(change, view))
    ):
        longest = -(-_wait_times(stream_name(*change.address.names), view)["timeout"] // SECOND) * SECOND
        yield Consequence(message=f"Apply waits up to {show_duration(longest)} for {few([*awaited])} to consume again")


def _awaited_partitions(change: Change, view: View) -> dict[str, list[int]]:
    """The partitions of the new membership of those that consume now."""
    consumers = view.snapshot.consumers.get(stream_name(*change.address.names), {})
    wanted = by_owner(owners(change.wanted))
    return {name: numbers for name, numbers in wanted.items() if name in consumers and has_a_client(consumers[name])}


def _wait_times(queue: str, view: View) -> dict[str, int]:
    """How long a member may be kept from its partitions, when it tries again, and when nobody need wait any more."""
    consumers = view.snapshot.consumers[queue].values()
    hold, retry = longest_hold(consumers), retry_time(consumers)
    return {"held": hold, "again": retry, "timeout": hold + retry + SECOND}


def longest_hold(consumers: Iterable[Info]) -> int:
    """Nanoseconds for which a member that has ended keeps its partitions from the others; the server refuses these that
    long (10100).

    The server deletes its consumer: it waits until the last delivered message should have been acknowledged, then for
    the inactivity threshold, to which it adds up to a second. A pull that is still open has run out by then.
    """
    return SECOND + max(_nanoseconds(info, "ack_wait") + _nanoseconds(info, "inactive_threshold") for info in consumers)


def retry_time(consumers: Iterable[Info]) -> int:
    """Nanoseconds after which refused members try again at the latest: an ack wait and half a second."""
    return SECOND // 2 + max(_nanoseconds(info, "ack_wait") for info in consumers)


def _nanoseconds(info: Info, field: str) -> int:
    return int(info["config"].get(field) or 0)


def has_a_client(info: Mapping[str, Json]) -> bool:
    """A client waits for messages of this consumer, or is pinned. Messages in flight may belong to a dead client."""
    pinned = any(group.get("pinned_client_id") for group in info.get("priority_groups") or ())
    return bool(info.get("num_waiting")) or pinned


SECOND = 1_000_000_000
LEAST = 10_000_000_000
"""Nanoseconds. Members may have joined since the plan, and finish their messages first."""


def _departure_timeout(name: str, view: View) -> int:
    """Nanoseconds until the slowest member has ended: its last pull runs out, then its inactivity threshold begins."""
    consumers = view.snapshot.consumers.get(name, {}).values()
    longest = max((info["config"].get("inactive_threshold", 0) for info in consumers), default=0)
    return 2 * int(longest) + LEAST
