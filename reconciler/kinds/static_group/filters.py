"""Filters of a static group with which no member can consume, and those that members ignore."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.group_records.member_subjects import idle_filters
from reconciler.kinds.group_records.membership_rules import refusal
from reconciler.kinds.subjects.subjects import collide, is_valid


@rule("SG544", "unusable-filters", on=(Action.CREATE, Action.ADOPT), reaction=Reaction.HARMS, can_stand=False)
def unusable_filters(change: Change, _view: View) -> Iterator[Finding]:
    """With these filters of a static group no member can ever consume: one is not a subject, or two overlap, or there are
    several together with mappings, for which the reference repeats each partition's filter. One filter together with mappings
    has no effect: members of the reference take everything in their partitions.

    The server accepts the record, and refuses the consumer as soon as a member joins (10138). With one filter and mappings the
    member joins, and gets what the filter leaves out as well; members of other implementations may apply the filter. Plans
    count with all that members can take.

    Instead: filters such that every subject matches only one of them, or plain members. Members that take everything in their
    partitions need no filter.
    """
    filters = change.becomes("filters") or []
    if change.action is Action.CREATE:
        yield from _unusable(filters)
    if not (ignored := idle_filters(change.wanted)):
        return
    if len(ignored) == 1:
        yield Finding(
            outcome=Outcome.WARNS,
            path="filters",
            message=f"with member_mappings, members of the reference take all subjects of their partitions, not only `{ignored[0]}`",
            fix="use plain members, or leave filters out",
        )
    elif change.action is Action.CREATE:
        yield refusal(
            "member_mappings",
            "with several filters, no member of a mapped group can ever consume",
            "use plain members, or leave filters out",
        )


def _unusable(filters: list[str]) -> Iterator[Finding]:
    for index, subject in enumerate(filters):
        path = f"filters[{index}]"
        if not is_valid(subject):
            yield refusal(
                path, f"`{subject}` is not a valid subject", "write tokens between single dots, `>` only at the end"
            )
        elif other := next((earlier for earlier in filters[:index] if collide(subject, earlier)), None):
            yield refusal(
                path, f"filter `{subject}` overlaps with `{other}`", "let every subject match only one filter"
            )
