"""Consumer configurations that contradict themselves, or hold impossible values: servers refuse them on every write.

Filters that servers refuse: invalid subjects, both filter fields at once, or two filters that want the same
messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from reconciler.changes.change import Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.consumer_checks.objections import Check, codes, objections
from reconciler.kinds.fields.actions import ALL
from reconciler.kinds.fields.known import OVERLAPPING_FILTERS, V2_12
from reconciler.kinds.fields.words import some
from reconciler.kinds.subjects.filters import named_filters
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, is_subset, is_valid
from reconciler.model.resource import Config

MILLISECOND = 1_000_000


def _start_without_policy(policy: str, start: str) -> Check:
    return Check(
        path=start,
        wrong=lambda c: c.get(start) and c.get("deliver_policy") != policy,
        says=f"{start} {{value}} means nothing without deliver_policy: {policy}",
        fix=f"write deliver_policy: {policy}, or leave {start} out",
        err_code=10094,
    )


def _policy_without_start(policy: str, start: str) -> Check:
    return Check(
        path="deliver_policy",
        wrong=lambda c: c.get("deliver_policy") == policy and not c.get(start),
        says=f"deliver_policy {policy} needs {start}",
        fix=f"write {start}, or choose another deliver_policy",
        err_code=10094,
    )


STARTS = (
    _start_without_policy("by_start_sequence", "opt_start_seq"),
    _policy_without_start("by_start_sequence", "opt_start_seq"),
    _start_without_policy("by_start_time", "opt_start_time"),
    _policy_without_start("by_start_time", "opt_start_time"),
    Check(
        path="deliver_policy",
        wrong=lambda c: c.get("deliver_policy") == "last_per_subject" and not named_filters(c),
        says="deliver_policy last_per_subject needs a filter",
        fix='write filter_subject: ">" for the last message of every subject',
        err_code=10094,
    ),
)


@rule("CO547", "start-without-its-policy", err_code=codes(STARTS))
def start_without_its_policy(change: Change, view: View) -> Iterator[Finding]:
    """A start has no matching policy, or a policy has no matching start.

    The server refuses it: `opt_start_seq` goes with `by_start_sequence`, `opt_start_time` with `by_start_time`, and
    `last_per_subject` needs a filter.

    Instead: write both, or neither.
    """
    return objections(STARTS, change, view)


NEGATIVE = tuple(
    Check(
        path=path,
        wrong=wrong,
        says=f"{path} cannot be negative",
        fix="write a time above zero, for example 30s",
        err_code=err_code,
        since=V2_12,
        reaction=Reaction.DOOMS,
    )
    for path, wrong, err_code in (
        ("ack_wait", lambda c: c.get("ack_wait", 0) < 0 and not c.get("backoff"), 10183),
        ("backoff", lambda c: any(wait < 0 for wait in c.get("backoff") or ()), 10184),
    )
)


@rule("CO548", "negative-wait", on=ALL, err_code=codes(NEGATIVE))
def negative_wait(change: Change, view: View) -> Iterator[Finding]:
    """A time to acknowledge, or to wait before redelivery, is negative.

    Servers from 2.12 on refuse it. 2.11 accepts it, and the consumer is lost as soon as the server is upgraded.

    Instead: write a time above zero, or leave it out for 30s.
    """
    return objections(NEGATIVE, change, view)


LISTS = (
    Check(
        path="backoff",
        wrong=lambda c: bool(c.get("backoff") and c.get("max_deliver")) and len(c["backoff"]) > c["max_deliver"],
        says="backoff has more waiting times than max_deliver allows deliveries",
        fix="shorten backoff to max_deliver entries, or raise max_deliver",
        err_code=10116,
    ),
)


@rule("CO549", "more-waits-than-deliveries", err_code=codes(LISTS))
def more_waits_than_deliveries(change: Change, view: View) -> Iterator[Finding]:
    """`backoff` has more entries than `max_deliver` allows deliveries.

    The server refuses it, since the last waiting times would never be used.

    Instead: shorten `backoff` to at most `max_deliver` entries, or raise `max_deliver`.
    """
    return objections(LISTS, change, view, _config_with_kept_negative(change))


def _config_with_kept_negative(change: Change) -> Config | None:
    """2.11 keeps a `max_deliver` below -1. For reconciler that means no limit, but the server's own check treats it as
    a limit."""
    if change.desired is None or change.raw.get("max_deliver", -1) >= -1 or change.touches("max_deliver"):
        return None
    return {**change.desired.sent, "max_deliver": change.raw["max_deliver"]}


IMPOSSIBLE = (
    Check(
        path="max_expires",
        wrong=lambda c: 0 < c.get("max_expires", 0) < MILLISECOND and not c.get("deliver_subject"),
        says="max_expires {value} is below 1ms, the shortest time a pull request can wait",
        fix="write at least 1ms",
        err_code=10115,
    ),
    Check(
        path="rate_limit_bps",
        wrong=lambda c: c.get("rate_limit_bps", 0) < 0,
        says="rate_limit_bps cannot be negative",
        fix="leave it out for no limit",
        err_code=10025,
    ),
    Check(
        path="opt_start_seq",
        wrong=lambda c: c.get("opt_start_seq", 0) < 0,
        says="opt_start_seq cannot be negative",
        fix="write the first sequence you want, from 1 on",
        err_code=10025,
    ),
    Check(
        path="opt_start_seq",
        wrong=lambda c: c.get("opt_start_seq", 0) > 1 << 63,
        says="opt_start_seq {value} is larger than a server can read back from its disk",
        fix="write the first sequence you want; no stream keeps messages from 2^62 on",
        reaction=Reaction.DOOMS,
    ),
)


@rule("CO550", "impossible-number", err_code=codes(IMPOSSIBLE))
def impossible_number(change: Change, view: View) -> Iterator[Finding]:
    """A number is outside the range of its field.

    The server refuses it. It accepts an `opt_start_seq` above 2^63, and *loses* the consumer at its next start.

    Instead: leave the field out for no limit, or write a number in its range.
    """
    return objections(IMPOSSIBLE, change, view)


DESCRIPTION, METADATA = 4096, 128 * 1024
OWN = len("_nats.req.level") + len("0")
"""Bytes that the server adds to the metadata of every consumer, and counts."""


@rule("CO512", "too-much-text", err_code=(10107, 10135))
def too_much_text(change: Change, _view: View) -> Iterator[Finding]:
    """A description has more than 4096 bytes, or the metadata has more than 128 KiB together.

    The server refuses it. It counts bytes, not characters, and a few bytes of the metadata are its own.

    Instead: write less, and keep the rest elsewhere.
    """
    metadata = change.becomes("metadata") or {}
    sizes = {
        "description": (len((change.becomes("description") or "").encode()), DESCRIPTION),
        "metadata": (OWN + sum(len(text.encode()) for pair in metadata.items() for text in pair), METADATA),
    }
    for path, (size, most) in sizes.items():
        if size > most:
            yield Finding(
                outcome=Outcome.REFUSED,
                path=path,
                message=f"{path} is {some(size, 'byte')} long, and the server keeps at most {most:_}",
                fix=f"shorten {path}, and keep the rest elsewhere",
            )


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
    filters = {
        position: subject
        for position, subject in enumerate(change.becomes("filter_subjects") or ())
        if is_valid(subject)
    }
    index = SubjectIndex(filters.items())
    for are_related, (position, one) in product(relations, filters.items()):
        near = (theirs for place, theirs in index.near(one) if place != position)
        if (other := next((theirs for theirs in near if are_related(one, theirs)), None)) is not None:
            return Finding(
                outcome=Outcome.REFUSED,
                path=f"filter_subjects[{position}]",
                message=f"`{one}` {'is listed twice' if one == other else f'overlaps with `{other}`'}",
                fix="leave one of them out, or narrow it so that no subject matches both",
            )
    return None


RULES = (
    invalid_filter,
    two_kinds_of_filters,
    overlapping_filters,
    start_without_its_policy,
    negative_wait,
    more_waits_than_deliveries,
    impossible_number,
    too_much_text,
)
