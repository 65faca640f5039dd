"""Subjects that pass from one consumer of an interest stream to another: which changes take them, and from whom.

Such a stream at once drops messages that no consumer wants. So a consumer takes subjects over before another gives them
up, and before a stream turns to interest retention.

Each server of the stream drops messages by what that server knows. A server that was away hears of all changes at once
when it returns. It forgets deleted consumers before it learns of new ones, and drops all messages in between. If it then
leads the new consumer, the other servers drop them too. So no consumer gives up subjects until every server knows the
consumer that takes them over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks import neighbours
from reconciler.kinds.consumer_position import retention
from reconciler.kinds.consumer_position.retention import is_interest, switches
from reconciler.kinds.stream_config.calls import REPLICAS_TIMEOUT
from reconciler.kinds.subjects.filters import filters_of, gained_subjects, partly_lost_subjects
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subject_lists import any_collide
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import is_heard
from reconciler.model.wire.steps import Call, Step


def everywhere_gate(change: Change, view: View, name: str, *, is_new: bool = True) -> Iterator[Step]:
    """A step that waits until every server knows this consumer; none if one server has it all. A new consumer can start
    too late. Existing ones continue from their position."""
    replicas = (neighbours.stream_of(change, view) or {}).get("num_replicas") or 1
    if view.target.is_clustered and replicas > 1 and retention.is_interest(change, view):
        yield Step(
            id=f"see consumer/{change.address.stream}/{name} everywhere",
            call=Call.GATE_CONSUMER_EVERYWHERE,
            on=(change.address.stream, name),
            address=str(change.address),
            body={"replicas": replicas, "timeout": REPLICAS_TIMEOUT, "is_new": is_new},
            effect=f"wait until every server of the cluster has consumer {name}",
        )


def gates_after_taking(change: Change, view: View) -> Iterator[Step]:
    """Steps after a consumer that takes over subjects. A replacement has a gate of its own."""
    if change.intent is None and change.address in takers(view) and gained_subjects(change):
        yield from everywhere_gate(change, view, change.address.name, is_new=change.action is Action.CREATE)


def gates_before_giving(change: Change, view: View) -> Iterator[Step]:
    """Steps before a consumer gives up subjects. A server that is away may not know yet what an earlier apply gave to
    the consumers that stay. Changes of one stream share these steps."""
    given = partly_lost_subjects(change)
    for name, theirs in _consumers_not_everywhere(view).get(change.address.stream, ()) if given else ():
        if any_collide(given, theirs):
            for step in everywhere_gate(change, view, name, is_new=False):
                yield replace(step, id=f"{step.id} before others give up")


@lru_cache(maxsize=4)
def _consumers_not_everywhere(view: View) -> dict[str, list[tuple[str, Sequence[str]]]]:
    """Consumers that stay, by stream, with their filters: unchanged or updated ones with a replica that may be away. A
    replaced consumer has gates of its own. Computed once per view, since many may give up subjects at once."""
    unheard: dict[str, list[tuple[str, Sequence[str]]]] = {}
    for change in (change for consumers in view.by_parent("consumer").values() for change in consumers):
        goes = change.action in (Action.CREATE, Action.REPLACE, Action.DELETE)
        if not goes and change.intent is None and change.live and not is_heard(change.live.state):
            unheard.setdefault(change.address.stream, []).append((change.address.name, filters_of(change.live.config)))
    return unheard


class Handover(NamedTuple):
    taker: Change
    giver: Change


@lru_cache(maxsize=4)
def handovers(view: View) -> tuple[Handover, ...]:
    """Pairs of consumers of which one takes over subjects that the other gives up; computed once per view."""
    return tuple(
        handover for changes in view.by_parent("consumer").values() for handover in _handovers_among(changes, view)
    )


@lru_cache(maxsize=4)
def takers(view: View) -> frozenset[Address]:
    """Consumers that take over subjects which others give up, or which a stream is about to drop."""
    becoming_interest = {
        stream for stream, stream_change in switches(view).items() if stream_change.becomes("retention") == "interest"
    }
    coming_takers = {
        change.address
        for stream in becoming_interest
        for change in view.children(stream, "consumer")
        if gained_subjects(change)
    }
    return frozenset(coming_takers | {change.taker.address for change in handovers(view)})


def _handovers_among(consumers: Sequence[Change], view: View) -> Iterator[Handover]:
    writing = {change.address.name: change for change in consumers if change.action.writes}
    if len(writing) < 2 or not is_interest(consumers[0], view) or consumers[0].address.stream in switches(view):
        return
    given = SubjectIndex(
        (name, subject) for name, change in writing.items() for subject in partly_lost_subjects(change)
    )
    for taker in writing.values():
        givers = {
            name for subject in gained_subjects(taker) for name, other in given.near(subject) if collide(subject, other)
        }
        yield from (Handover(taker, writing[name]) for name in sorted(givers - {taker.address.name}))
