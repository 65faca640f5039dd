"""Partitioning filters with which no server, or no member of the reference, can work.

What filters leave out of a queue: a recreated group copies again only what its new ones match, and later messages of
others never.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.change import Action, Change
from reconciler.changes.rule import Found, rule
from reconciler.changes.verdict import Finding
from reconciler.changes.view import View
from reconciler.kinds.elastic_group.queue_stream import stream_name, transforms
from reconciler.kinds.group_records.group_record import MEMBERSHIP
from reconciler.kinds.group_records.group_rules import refusal
from reconciler.kinds.subjects.subject_lists import all_inside, intersections
from reconciler.kinds.subjects.subjects import collide, is_valid
from reconciler.model.resource import Config, Json
from reconciler.model.wire.questions import MessagesFrom
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
        yield _needs_2_12_refusal("partitioning_filters", view)
    for index, item in enumerate(filters):
        if not item["partitioning_wildcards"]:
            yield _needs_2_12_refusal(f"partitioning_filters[{index}]", view)


def _needs_2_12_refusal(path: str, view: View) -> Finding:
    message = f"partitioning by the whole subject needs nats-server 2.12, and this server is {view.target.version}"
    return refusal(path, message, "name the wildcards that decide the partition, or upgrade the servers")


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
                yield refusal(
                    f"partitioning_filters[{index}].filter",
                    f"filter `{filter_['filter']}` overlaps with `{earlier['filter']}`",
                    "let every subject match only one filter",
                )


def filter_problems(path: str, item: Json) -> Iterator[Finding]:
    """What the reference refuses in a single filter."""
    tokens = item["filter"].split(".")
    stars, numbers = tokens.count("*"), item["partitioning_wildcards"]
    if not is_valid(item["filter"]):
        yield refusal(
            f"{path}.filter",
            f"`{item['filter']}` is not a valid subject",
            "write tokens between single dots, `>` only at the end",
        )
        return
    if not stars and tokens[-1] != ">":
        yield refusal(
            f"{path}.filter",
            f"filter `{item['filter']}` has no wildcard to partition by",
            "use a `*`, or end it in `>`",
        )
    for position, number in enumerate(numbers):
        if not 1 <= number <= stars:
            yield refusal(
                f"{path}.partitioning_wildcards[{position}]",
                f"`{item['filter']}` has no wildcard {number}",
                f"count its `*` from 1 to {stars}" if stars else "leave the list empty: the filter has no `*`",
            )
        elif number in numbers[:position]:
            yield refusal(
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
    return refusal(
        "member_mappings",
        "with several partitioning filters, no member of a mapped group can ever consume",
        "use one filter, or plain members",
    )


def unmatched_questions(change: Change) -> list[MessagesFrom]:
    """How many queued messages the new filters match; a queue stores them under a partition number."""
    if change.action not in (Action.UPDATE, Action.REPLACE) or not is_copying_reduced(change):
        return []
    queue = stream_name(*change.address.names)
    return [
        MessagesFrom(stream=queue, start=1, filter=f"*.{subject}") for subject in intersections(*_filter_pair(change))
    ]


def unmatched_messages(change: Change, queued: int, view: View) -> Amount:
    """How many of the queued messages no filter matches any more."""
    if not is_copying_reduced(change):
        return exactly(0)
    answers = [view.facts.get(answer) for answer in unmatched_questions(change)]
    staying = [int(answer["messages"]) for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    return exactly(max(0, queued - sum(staying))) if len(staying) == len(answers) else Amount(0, queued)


def arrival_questions(change: Change, view: View) -> list[MessagesFrom]:
    """How many messages of the source the filters match, where they leave out some."""
    source, filters = view.snapshot.streams.get(change.address.stream), _filters_of(change.wanted)
    config: Config = source["config"] if source else {}
    is_plain = not any(config.get(name) for name in ("sources", "mirror", "subject_transform"))
    if source is None or (is_plain and all_inside(config.get("subjects", ()), filters)):
        return []
    return [MessagesFrom(stream=change.address.stream, start=1, filter=subject) for subject in filters]


def arrived_messages(change: Change, view: View) -> int | None:
    """How many messages of the source the filters match; None: nobody could tell."""
    source = view.snapshot.streams.get(change.address.stream)
    stored = int(source["state"].get("messages", 0)) if source else 0
    answers = [view.facts.get(question) for question in arrival_questions(change, view)]
    numbers = [int(answer["messages"]) for answer in answers if isinstance(answer, Mapping) and "messages" in answer]
    if not answers:
        return stored
    return min(stored, sum(numbers)) if len(numbers) == len(answers) else None


def is_copying_reduced(change: Change) -> bool:
    """Was anything copied that will not be copied any more?"""
    before, after = _filter_pair(change)
    return not all_inside(before, after)


def is_copying_extended(change: Change) -> bool:
    """Will anything be copied that was not copied before?"""
    before, after = _filter_pair(change)
    return not all_inside(after, before)


def _filter_pair(change: Change) -> tuple[Sequence[str], Sequence[str]]:
    """Filters of the group before and after; none if it did not exist before, or is not wanted."""
    if not (change.live and change.desired):
        return (), ()
    return _filters_of(change.live.config), _filters_of(change.desired.config)


def _filters_of(group: Config) -> list[str]:
    return [transform["src"] for transform in transforms(group)]
