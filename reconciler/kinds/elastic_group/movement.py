"""Which partitions move from which member to which when a membership changes, and what is queued on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.queue_stream import stream_name
from reconciler.kinds.fields.words import some, verb
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.group_records.group_rules import has_current_record
from reconciler.kinds.group_records.member_subjects import Owners, owners
from reconciler.kinds.subjects.partitions import by_owner
from reconciler.model.wire.questions import Question, SubjectCounts, Unanswered
from reconciler.model.wire.snapshot import Scope

WHY_REDELIVERED = "for every member recreates its consumer, also one that keeps its partitions"


def _question(change: Change) -> SubjectCounts:
    return SubjectCounts(stream=stream_name(*change.address.names), filter=">")


def questions(change: Change) -> Iterable[Question]:
    """How many messages each partition holds, asked if only the membership changes."""
    if _only_membership_changes(change):
        yield _question(change)


def _only_membership_changes(change: Change) -> bool:
    """If the group itself changes, its partitions before and after are not the same."""
    in_place = change.touches(*MEMBERSHIP) and not change.touches("max_members", "partitioning_filters")
    return change.action is Action.UPDATE and in_place and has_current_record(change)


def consequences(change: Change, view: View) -> Iterable[Consequence]:
    """The partition map of a membership change, with the messages queued on the partitions that move."""
    if not _only_membership_changes(change) or not change.live or not change.desired:
        return
    now, then = owners(change.live.config), owners(change.desired.config)
    yield movement(now, then, queued=_queued_by_partition(view, change, len(then)), in_flight=_in_flight(change, view))


def movement(now: Owners, then: Owners, *, queued: list[int] | None, in_flight: int | None) -> Consequence:
    """What a change of owners means: which partitions move, what waits in them, what is redelivered."""
    moved = moved_partitions(now, then)
    in_flight_clause = (
        f"up to {some(in_flight, 'message')} in flight {verb(in_flight, 'are')} redelivered"
        if in_flight
        else "nothing is in flight"
    )
    counted = {
        "partitions_moved": len(moved),
        "messages_moved": None if queued is None else sum(queued[number] for number in moved),
        "messages_redelivered": in_flight,
    }
    return Consequence(
        message=f"{len(moved)} of {len(then)} partitions move{_queued_text(moved, queued)}; "
        + ("messages in flight could not be counted, and are redelivered" if in_flight is None else in_flight_clause)
        + ("" if in_flight == 0 else f", {WHY_REDELIVERED}"),
        code="EG601",
        quantities={name: number for name, number in counted.items() if number is not None},
        bounds={"messages_redelivered": Amount(0, in_flight)} if in_flight else {},
        detail={
            "partition_map": {"now": now, "then": then, "queued": queued or [None] * len(then)},
            "members": _by_member(now, then),
        },
    )


def moved_partitions(now: Owners, then: Owners) -> list[int]:
    """Partitions that get another owner."""
    return [number for number, (before, after) in enumerate(zip(now, then, strict=False)) if before != after]


def _by_member(now: Owners, then: Owners) -> dict[str, dict[str, list[int]]]:
    """Every member's partitions before and after."""
    sides = {"now": by_owner(now), "then": by_owner(then)}
    names = sorted({*sides["now"], *sides["then"]})
    return {name: {side: owned.get(name, []) for side, owned in sides.items()} for name in names}


def _queued_by_partition(view: View, change: Change, partitions: int) -> list[int] | None:
    """Messages per partition. The first token of the queue's subjects is the partition's number."""
    answer = view.facts.get(_question(change))
    if answer is None or isinstance(answer, Unanswered):
        return None
    counts: Counter[str] = Counter()
    for subject, number in answer.items():
        counts[subject.partition(".")[0]] += number
    return [counts[str(number)] for number in range(partitions)]


def _queued_text(moved: list[int], queued: list[int] | None) -> str:
    if queued is None:
        return "; what is queued on them could not be counted"
    return f" with {some(sum(queued[number] for number in moved), 'queued message')}"


def _in_flight(change: Change, view: View) -> int | None:
    """Every instance recreates its consumer, so everything in flight in the whole group is redelivered."""
    name = stream_name(*change.address.names)
    if view.snapshot.unknown.get(Scope.consumers(name)):
        return None
    return sum(int(info.get("num_ack_pending", 0)) for info in view.snapshot.consumers.get(name, {}).values())
