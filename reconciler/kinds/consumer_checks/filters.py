"""Filters that servers refuse: invalid subjects, both filter fields at once, or two filters that want the same
messages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from reconciler.changes.change import Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.fields.known import OVERLAPPING_FILTERS
from reconciler.kinds.subjects.subjects import collide, is_subset, is_valid


@rule("CO542", "invalid-filter", err_code=(10052, 10139))
def invalid_filter(change: Change, _view: View) -> Iterator[Finding]:
    """A filter that no subject can ever match: an empty token, white space, or a `>` that is not at the end.

    The server refuses the consumer because of it.

    Instead: write tokens between single dots, `*` for one token, `>` for all that follow.
    """
    filters = {"filter_subject": change.becomes("filter_subject")}
    filters |= {f"filter_subjects[{i}]": subject for i, subject in enumerate(change.becomes("filter_subjects") or ())}
    for path, subject in filters.items():
        if subject is not None and not is_valid(subject):
            yield Finding(
                outcome=Outcome.REFUSED,
                path=path,
                message=f"`{subject}` is not a valid subject",
                fix="write tokens between single dots, without white space, `>` only at the end",
            )


TWO_KINDS = (
    Check(
        path="filter_subjects",
        wrong=lambda c: c.get("filter_subject") and c.get("filter_subjects"),
        says="filter_subject and filter_subjects exclude each other",
        fix="write all filters into filter_subjects",
        err_code=10136,
    ),
)


@rule("CO544", "two-kinds-of-filters", err_code=codes(TWO_KINDS))
def two_kinds_of_filters(change: Change, view: View) -> Iterator[Finding]:
    """A consumer has `filter_subject` and `filter_subjects`.

    The server refuses it rather than guess which one is meant.

    Instead: write all filters into `filter_subjects`.
    """
    return objections(TWO_KINDS, change, view)


@rule("CO545", "overlapping-filters", err_code=10138)
def overlapping_filters(change: Change, view: View) -> Found:
    """Two filters of one consumer want the same messages.

    A message is delivered once, so the server refuses lists in which one filter lies inside another. Servers before
    2.12.5 refuse all lists in which any two filters may match the same subject.

    Instead: leave out the narrower filter.
    """
    relations = (is_subset,) if view.target.version >= OVERLAPPING_FILTERS else (is_subset, collide)
    valid = [
        (index, subject) for index, subject in enumerate(change.becomes("filter_subjects") or ()) if is_valid(subject)
    ]
    pairs = list(permutations(valid, 2))
    for meets, ((index, one), (_, other)) in product(relations, pairs):
        if meets(one, other):
            return Finding(
                outcome=Outcome.REFUSED,
                path=f"filter_subjects[{index}]",
                message=f"`{one}` {'is listed twice' if one == other else f'overlaps with `{other}`'}",
                fix="leave one of them out, or narrow it so that no subject matches both",
            )
    return None


RULES = (invalid_filter, two_kinds_of_filters, overlapping_filters)
