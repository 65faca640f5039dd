"""Which partitions move from whom to whom when a membership changes, and what is queued on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from reconciler.core.diff import Action, Change, Consequence
from reconciler.core.resource import Config
from reconciler.core.rule import View
from reconciler.core.wire import Question, SubjectCounts, Unanswered
from reconciler.kinds.elastic_group.derived import stream_name
from reconciler.kinds.primitives.group_record import MEMBERSHIP
from reconciler.kinds.primitives.group_rules import is_current
from reconciler.kinds.primitives.partitions import assign
from reconciler.kinds.primitives.words import some

Owners = list[str | None]
"""The owner of each partition; None: nobody."""


def owners(config: Config) -> Owners:
    """Who owns each partition under this membership."""
    partitions = config.get("max_members", 0)
    owned: Mapping[str, Iterable[int]] = config.get("member_mappings") or assign(
        config.get("members") or (), partitions
    )
    by_partition = {number: member for member, numbers in owned.items() for number in numbers}
    return [by_partition.get(number) for number in range(partitions)]


def _question(change: Change) -> SubjectCounts:
    return SubjectCounts(stream=stream_name(*change.address.names), filter=">")


def questions(change: Change) -> Iterable[Question]:
    if _moves(change):
        yield _question(change)


def _moves(change: Change) -> bool:
    return change.action is Action.UPDATE and change.touches(*MEMBERSHIP) and is_current(change)


def consequences(change: Change, view: View) -> Iterable[Consequence]:
    """The partition map of a membership change, with the messages queued on what moves."""
    if not _moves(change) or not change.live or not change.desired:
        return
    now, then = owners(change.live.config), owners(change.desired.config)
    moved = [number for number, (before, after) in enumerate(zip(now, then, strict=False)) if before != after]
    queued = _queued(view, change, len(then))
    yield Consequence(
        message=f"{len(moved)} of {len(then)} partitions move{_with_queue(moved, queued)}; {_in_flight(change, view)}",
        quantities={"partitions_moved": len(moved)}
        | ({} if queued is None else {"messages_moved": sum(queued[n] for n in moved)}),
        detail={"partition_map": {"now": now, "then": then, "queued": queued or [None] * len(then)}},
    )


def _queued(view: View, change: Change, partitions: int) -> list[int] | None:
    """Messages per partition: the first token of the queue's subjects is the partition's number."""
    answer = view.facts.get(_question(change))
    if answer is None or isinstance(answer, Unanswered):
        return None
    counts: Counter[str] = Counter()
    for subject, number in answer.items():
        counts[subject.partition(".")[0]] += number
    return [counts[str(number)] for number in range(partitions)]


def _with_queue(moved: list[int], queued: list[int] | None) -> str:
    if queued is None:
        return "; what is queued on them could not be counted"
    return f" with {some(sum(queued[number] for number in moved), 'queued message')}"


def _in_flight(change: Change, view: View) -> str:
    """Every instance rebuilds its consumer, so what is in flight anywhere in the group is delivered again."""
    consumers = view.snapshot.consumers.get(stream_name(*change.address.names), {}) if view.snapshot else {}
    in_flight = sum(info.get("num_ack_pending", 0) for info in consumers.values())
    return f"about {some(in_flight)} in flight are delivered again"
