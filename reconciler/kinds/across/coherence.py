"""Groups beside what lives of them: the consumers their members made, and the transform that divides a static group's stream.

What is wrong is found by the very checks of `groups doctor`; a plan shows those that no working group passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from reconciler.changes.diff import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.groups.finding import Evidence
from reconciler.kinds.groups.member_checks import consumes_its_own, filters, old_priority_group, strangers, templates
from reconciler.kinds.groups.model import Group, groups
from reconciler.kinds.groups.queue_checks import replaced, transform
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Address

LASTING = (old_priority_group, replaced)


@rule(
    "XX557", "group-not-coherent", on=(Action.KEEP, Action.ADOPT, Action.UPDATE),
    of=("elastic_group", "static_group"), needs=("live", "neighbours"),
)  # fmt: skip
def group_not_coherent(change: Change, view: View) -> Iterator[Finding]:
    """What lives of a group does not belong together: consumers of another version or with other settings, consumers of
    nobody when members are about to change (whoever joins by that is somebody), a transform that divides a static group's
    stream in another way, a stream that is not the one the group's queue was filled from (which servers tell from 2.15 on).

    No server compares them. Instances that disagree delete each other's consumer without end; a stranger's consumer keeps
    partitions from their owners.

    Instead: see `reconciler groups doctor`, which says what to do about each.
    """
    group = _live(view).get(change.address)
    if group is None or group.unread or group.record.broken or group.record.legacy:
        return
    lasting = (*LASTING, *(() if _divides_anew(change, view) else (transform,)))
    passing = _passing(group, change) if change.touches(*MEMBERSHIP) else ()
    for found in (*_found(group, *lasting), *passing):
        if found.code != "GR125":  # publishers may well number their messages themselves
            yield Finding(outcome=Outcome.WARNS, message=found.message, fix=found.fix)


def _passing(group: Group, change: Change) -> Iterator[Diagnostic]:
    """What is seen for moments after every change of members is worth a word when the next one is about to be made; not of
    a consumer that will be right by that, and of one that joins as of the member it becomes."""
    config = change.desired.config if change.desired else group.config
    then = replace(group, record=replace(group.record, config=config))
    joining = {one.consumer for one in then.members} - {one.consumer for one in group.members}
    right = {one.consumer for one in then.members if one.info and consumes_its_own(then, one)}
    yield from _found(_consumed(group, group.consumers.keys() - joining - right), strangers, filters)
    yield from _found(_consumed(then, joining), old_priority_group, filters)
    yield from _found(then, templates)


def _consumed(group: Group, names: Collection[str]) -> Group:
    """The group with no other consumers than these."""
    return replace(group, consumers={name: info for name, info in group.consumers.items() if name in names})


def _found(group: Group, *checks: Callable[[Group, Evidence], Iterable[Diagnostic]]) -> Iterator[Diagnostic]:
    return (found for check in checks for found in check(group, Evidence()))


def _divides_anew(change: Change, view: View) -> bool:
    """The stream's change is judged by itself."""
    stream = view.changes.get(Address.of("stream", change.address.stream))
    return stream is not None and stream.touches("subject_transform", "subjects")


@lru_cache(maxsize=4)
def _live(view: View) -> Mapping[Address, Group]:
    return {group.address: group for group in groups(view.snapshot)}


RULES = (group_not_coherent,)
