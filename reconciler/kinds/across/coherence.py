"""Groups beside their live parts: the consumers that members made, and the transform that divides a static group's
stream.

The checks are those of `groups doctor`. A plan shows those that no working group passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.groups.finding import Evidence
from reconciler.kinds.groups.live_group import Group, groups
from reconciler.kinds.groups.member_checks import (
    consumes_own_partitions,
    disagreeing_filters,
    disagreeing_settings,
    old_priority_groups,
    unknown_consumers,
)
from reconciler.kinds.groups.queue_checks import source_ended_earlier, unfitting_partitioning
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Address

LASTING = (old_priority_groups, source_ended_earlier)


@rule(
    "XX557", "group-not-coherent", on=(Action.KEEP, Action.ADOPT, Action.UPDATE),
    of=("elastic_group", "static_group"), needs=("live", "neighbours"),
)  # fmt: skip
def group_not_coherent(change: Change, view: View) -> Iterator[Finding]:
    """The live parts of a group contradict each other.

    Consumers have another version or other settings, or a transform divides a static group's stream differently. Or
    consumers belong to no member while members are about to change, so that a new member would get them. Or the queue of
    an elastic group has copied later messages than its stream has, which lost its last ones; servers tell that from 2.15 on.

    No server compares them. Instances that disagree endlessly delete each other's consumer. A stranger's consumer keeps
    partitions from their owners.

    Instead: see `reconciler groups doctor`, which says what to do about each.
    """
    group = _live_groups(view).get(change.address)
    if group is None or group.unread or group.record.broken:
        return
    for diagnostic in _group_findings(group, change, view):
        if diagnostic.code != "GR125":  # publishers may well number their messages themselves
            yield Finding(outcome=Outcome.WARNS, message=diagnostic.message, fix=diagnostic.fix)


def _group_findings(group: Group, change: Change, view: View) -> Iterator[Diagnostic]:
    if group.record.legacy:  # consumers of its time had other settings, and no apply changes its members
        yield from _findings_of_checks(group, source_ended_earlier)
        return
    yield from _findings_of_checks(
        group, *LASTING, *(() if _is_partitioning_changed(change, view) else (unfitting_partitioning,))
    )
    if change.touches(*MEMBERSHIP):
        yield from _findings_before_members_change(group, change)


def _findings_before_members_change(group: Group, change: Change) -> Iterator[Diagnostic]:
    """Findings that appear briefly after every change of members. They count when the next change is about to be made,
    except for a consumer that this change corrects. A consumer that joins is judged as the member it becomes."""
    config = change.desired.config if change.desired else group.config
    then = replace(group, record=replace(group.record, config=config))
    joining = {member.consumer for member in then.members} - {member.consumer for member in group.members}
    right = {member.consumer for member in then.members if member.info and consumes_own_partitions(then, member)}
    yield from _findings_of_checks(
        _only_consumers(group, group.consumers.keys() - joining - right), unknown_consumers, disagreeing_filters
    )
    yield from _findings_of_checks(_only_consumers(then, joining), old_priority_groups, disagreeing_filters)
    yield from _findings_of_checks(then, disagreeing_settings)


def _only_consumers(group: Group, names: Collection[str]) -> Group:
    """The group with only these consumers."""
    return replace(group, consumers={name: info for name, info in group.consumers.items() if name in names})


def _findings_of_checks(
    group: Group, *checks: Callable[[Group, Evidence], Iterable[Diagnostic]]
) -> Iterator[Diagnostic]:
    return (diagnostic for check in checks for diagnostic in check(group, Evidence()))


def _is_partitioning_changed(change: Change, view: View) -> bool:
    """A change of the stream is judged by its own rule."""
    stream = view.changes.get(Address.of("stream", change.address.stream))
    return stream is not None and stream.touches("subject_transform", "subjects")


@lru_cache(maxsize=4)
def _live_groups(view: View) -> Mapping[Address, Group]:
    return {group.address: group for group in groups(view.snapshot)}


RULES = (group_not_coherent,)
