"""Partitioning filters with which no server, or no member of the reference, can work."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.subjects.subjects import collide, is_valid
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version


@rule("EG402", "whole-subject-too-young", on=(Action.CREATE, Action.REPLACE), err_code=10146)
def whole_subject(change: Change, view: View) -> Iterator[Finding]:
    """The group partitions by the whole subject, which needs nats-server 2.12; older servers refuse the transform.

    Instead: name the wildcards that decide the partition, or upgrade the servers.
    """
    if view.target.version >= Version(2, 12):
        return
    filters = change.becomes("partitioning_filters") or []
    if not filters:
        yield _needs_2_12("partitioning_filters", view)
    for index, item in enumerate(filters):
        if not item["partitioning_wildcards"]:
            yield _needs_2_12(f"partitioning_filters[{index}]", view)


def _needs_2_12(path: str, view: View) -> Finding:
    return Finding(
        outcome=Outcome.REFUSED,
        path=path,
        message=f"partitioning by the whole subject needs nats-server 2.12, and this server is {view.target.version}",
        fix="name the wildcards that decide the partition, or upgrade the servers",
    )


@rule("EG544", "bad-partitioning-filter", on=(Action.CREATE, Action.REPLACE))
def bad_partitioning_filter(change: Change, _view: View) -> Iterator[Finding]:
    """The reference refuses a partitioning filter, or the server refuses it after the record is written.

    A filter needs a `*` or ends in `>`. Wildcard numbers are distinct and between 1 and the number of `*`. Two filters
    of a group must not overlap.

    Instead: write filters such that every subject matches only one of them, and count each filter's `*` from 1.
    """
    filters = change.becomes("partitioning_filters") or []
    for index, filter_ in enumerate(filters):
        yield from filter_problems(f"partitioning_filters[{index}]", filter_)
        for earlier in filters[:index]:
            if collide(filter_["filter"], earlier["filter"]):
                yield _refusal(
                    f"partitioning_filters[{index}].filter",
                    f"filter `{filter_['filter']}` overlaps with `{earlier['filter']}`",
                    "let every subject match only one filter",
                )


def filter_problems(path: str, item: Json) -> Iterator[Finding]:
    """What the reference refuses in a single filter."""
    tokens = item["filter"].split(".")
    stars, numbers = tokens.count("*"), item["partitioning_wildcards"]
    if not is_valid(item["filter"]):
        yield _refusal(
            f"{path}.filter",
            f"`{item['filter']}` is not a valid subject",
            "write tokens between single dots, `>` only at the end",
        )
        return
    if not stars and tokens[-1] != ">":
        yield _refusal(
            f"{path}.filter",
            f"filter `{item['filter']}` has no wildcard to partition by",
            "use a `*`, or end it in `>`",
        )
    for position, number in enumerate(numbers):
        if not 1 <= number <= stars:
            yield _refusal(
                f"{path}.partitioning_wildcards[{position}]",
                f"`{item['filter']}` has no wildcard {number}",
                f"count its `*` from 1 to {stars}" if stars else "leave the list empty: the filter has no `*`",
            )
        elif number in numbers[:position]:
            yield _refusal(
                f"{path}.partitioning_wildcards[{position}]",
                f"wildcard {number} is listed twice",
                "list each wildcard once",
            )


@rule("EG545", "mappings-with-several-filters")
def mappings_with_several_filters(change: Change, _view: View) -> Found:
    """A group has member mappings together with several filters. The reference repeats each partition's filter once per
    filter, and the server refuses such a consumer. No member can ever consume.

    Instead: one filter, or plain members.
    """
    config = change.wanted
    if not config.get("member_mappings") or len(config.get("partitioning_filters") or ()) < 2:
        return None
    if change.action is Action.UPDATE and not change.touches(*MEMBERSHIP, "partitioning_filters"):
        return None
    return _refusal(
        "member_mappings",
        "with several partitioning filters, no member of a mapped group can ever consume",
        "use one filter, or plain members",
    )


def _refusal(path: str, message: str, fix: str) -> Finding:
    return Finding(outcome=Outcome.REFUSED, path=path, message=message, fix=fix)
