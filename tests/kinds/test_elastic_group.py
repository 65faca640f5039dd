"""The work-queue stream as the reference makes it, and what a change of membership moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.elastic_group.queue_stream import deviations, queue_config, stream_name
from reconciler.kinds.group_records.member_subjects import owners
from tests.support.topologies import scene

GROUP: dict[str, Any] = {
    "max_members": 4,
    "partitioning_filters": [{"filter": "foo.*.*.>", "partitioning_wildcards": [1, 2]}],
}


def transforms(*filters: dict[str, Any], max_members: int = 4) -> list[dict[str, str]]:
    config = {"max_members": max_members, "partitioning_filters": list(filters)}
    found: list[dict[str, str]] = queue_config("S", config, {})["sources"][0]["subject_transforms"]
    return found


def test_the_stream_is_named_after_both() -> None:
    assert stream_name("ORDERS", "billing") == "ORDERS-billing"


def test_everything_else_on_the_stream_is_default() -> None:
    assert queue_config("S", GROUP, {}) == {
        "retention": "workqueue",
        "discard": "new",
        "allow_direct": True,
        "sources": [
            {
                "name": "S",
                "subject_transforms": [
                    {"src": "foo.*.*.>", "dest": "{{Partition(4,1,2)}}.foo.{{Wildcard(1)}}.{{Wildcard(2)}}.>"}
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("filter_", "wildcards", "destination"),
    [
        ("orders.*.*", [1], "{{Partition(4,1)}}.orders.{{Wildcard(1)}}.{{Wildcard(2)}}"),
        ("orders.*.*", [2, 1], "{{Partition(4,2,1)}}.orders.{{Wildcard(1)}}.{{Wildcard(2)}}"),
        ("bar.>", [], "{{Partition(4)}}.bar.>"),
        (">", [], "{{Partition(4)}}.>"),
        ("*", [1], "{{Partition(4,1)}}.{{Wildcard(1)}}"),
    ],
)
def test_a_filter_becomes_a_transform(filter_: str, wildcards: list[int], destination: str) -> None:
    assert transforms({"filter": filter_, "partitioning_wildcards": wildcards}) == [
        {"src": filter_, "dest": destination}
    ]


def test_without_filters_everything_is_partitioned_by_the_whole_subject() -> None:
    assert transforms() == [{"src": ">", "dest": "{{Partition(4)}}.>"}]


def test_transforms_stand_in_the_order_of_the_record() -> None:
    found = transforms(
        {"filter": "b.*", "partitioning_wildcards": [1]}, {"filter": "a.*", "partitioning_wildcards": [1]}
    )
    assert [item["src"] for item in found] == ["b.*", "a.*"]


def test_buffer_limits_are_the_streams_limits() -> None:
    made = queue_config("S", {**GROUP, "max_buffered_msg": 1000, "max_buffered_bytes": 4096}, {})
    assert (made["max_msgs"], made["max_bytes"]) == (1000, 4096)


def test_storage_and_replicas_are_those_of_the_source() -> None:
    made = queue_config("S", GROUP, {"storage": "memory", "num_replicas": 3, "max_age": 5})
    assert (made["storage"], made["num_replicas"], "max_age" in made) == ("memory", 3, False)


def echo(**changed: Any) -> dict[str, Any]:
    """What a server shows of a queue made by the reference."""
    shown = {"name": "S-g", "max_msgs": -1, "max_bytes": -1, "max_age": 0, "duplicate_window": 120_000_000_000}
    return {**shown, **queue_config("S", GROUP, {}), "metadata": {"_nats.ver": "2.15.1"}, **changed}


def test_the_references_own_stream_does_not_deviate() -> None:
    assert deviations(echo(), "S", GROUP) == []


@pytest.mark.parametrize("followed", [{"storage": "memory"}, {"num_replicas": 3}])
def test_what_was_copied_once_is_no_deviation(followed: dict[str, Any]) -> None:
    assert deviations(echo(**followed), "S", GROUP) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"discard": "old"},
        {"allow_direct": False},
        {"max_msgs": 10},
        {"retention": "limits"},
        {"subjects": ["x"]},
        {"description": "mine"},
        {"metadata": {"owner": "me"}},
    ],
)
def test_whatever_else_differs_is_named(changed: dict[str, Any]) -> None:
    assert deviations(echo(**changed), "S", GROUP) == list(changed)


def test_other_spellings_of_functions_are_another_writers() -> None:
    lower = [{"name": "S", "subject_transforms": [{"src": "foo.*.*.>", "dest": "{{partition(4,1,2)}}.foo.>"}]}]
    assert deviations(echo(sources=lower), "S", GROUP) == ["sources"]


def test_members_share_partitions_evenly() -> None:
    assert owners({"max_members": 4, "members": ["b", "a"]}) == ["a", "a", "b", "b"]


def test_mappings_say_who_owns_what() -> None:
    assert owners({"max_members": 3, "member_mappings": {"a": [0, 2], "b": [1]}}) == ["a", "b", "a"]


def test_members_win_if_a_record_holds_mappings_too() -> None:
    assert owners({"max_members": 2, "members": ["c"], "member_mappings": {"a": [0], "b": [1]}}) == ["c", "c"]


def test_without_members_nobody_owns_anything() -> None:
    assert owners({"max_members": 2}) == [None, None]


@given(st.sets(st.text("abcdef", min_size=1), min_size=1), st.integers(1, 40))
def test_every_partition_has_an_owner_as_soon_as_there_is_a_member(members: set[str], partitions: int) -> None:
    owned = owners({"max_members": partitions, "members": sorted(members)})
    assert len(owned) == partitions
    assert set(owned) <= members


LIVE = """streams:
  S:
    subjects: [s.*]
    groups:
      g: {type: elastic, max_members: 2, members: [a, b], partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]}
"""


@pytest.mark.parametrize(
    ("members", "said"),
    [
        (
            ["a", "b"],
            ["Apply waits up to 1m10s until a, b have stopped reading S-g; if not, it fails before it deletes that"],
        ),
        (["a"], ["Apply waits up to 1m10s until a has stopped reading S-g; if not, it fails before it deletes that"]),
        ([], []),
    ],
)
def test_a_removal_says_for_whom_it_waits_before_the_queue_goes(
    tmp_path: Path, members: list[str], said: list[str]
) -> None:
    consumers = {name: {"config": {"durable_name": name, "inactive_threshold": 30_000_000_000}} for name in members}
    gone = "streams: {S: {subjects: [s.*]}}\nremoved: [{address: elastic_group/S/g, reason: over}]\n"
    plan = scene(tmp_path, gone, LIVE, raw={"consumers": {"S-g": consumers}}).plan()
    assert [one.message for change in plan.changes for one in change.consequences if "waits" in one.message] == said


STATIC = """streams:
  S: {subjects: [s.*], retention: RETENTION, groups: {g: {type: static, max_members: 2, members: MEMBERS}}}
"""


@pytest.mark.parametrize(
    ("retention", "members", "told"),
    [("limits", "[m]", False), ("workqueue", "[m]", True), ("limits", "[]", True)],
    ids=["the rule says it", "on a work queue", "without members"],
)
def test_a_static_group_that_comes_back_always_says_what_it_starts_with(
    tmp_path: Path, retention: str, members: str, told: bool
) -> None:
    text = STATIC.replace("RETENTION", retention).replace("MEMBERS", members)
    gone = {
        "streams": {"S": {"state": {"messages": 5, "last_seq": 5}}},
        "entries": {"static-consumer-groups": {"S.g": None}},
    }
    (change,) = scene(tmp_path, text, text, raw=gone).plan().changes
    said = ["It starts with what S already holds: up to 5 messages"] if told else []
    assert [one.message for one in change.consequences] == said
    assert ("SG312" in {one.code for one in change.verdicts}) == (not told)


@pytest.mark.parametrize(("retention", "is_said"), [("limits", True), ("workqueue", False)])
@pytest.mark.parametrize("new", ["type: elastic, ", "type: static, members: [k], "])
def test_a_group_in_the_place_of_another_gets_again_what_that_one_has_processed(
    tmp_path: Path, new: str, retention: str, is_said: bool
) -> None:
    text = STATIC.replace("RETENTION", retention).replace("MEMBERS", "[m]")
    group = f"h: {{{new}max_members: 2}}"
    desired = f"""streams: {{S: {{subjects: [s.*], retention: {retention}, groups: {{{group}}}}}}}
removed: [{{address: static_group/S/g, reason: h does it}}]
"""
    plan = scene(tmp_path, desired, text, raw={"streams": {"S": {"state": {"messages": 5, "last_seq": 5}}}}).plan()
    (said,) = [one.message for change in plan.changes for one in change.consequences if "starts with" in one.message]
    assert said.endswith(f"5 messages{', including what members of static_group/S/g have processed' * is_said}")


@pytest.mark.parametrize(("retention", "number"), [("interest", 1), ("limits", 0)])
def test_what_an_interest_stream_deleted_with_the_consumers_of_a_static_group_is_said(
    tmp_path: Path, retention: str, number: int
) -> None:
    text = STATIC.replace("RETENTION", retention).replace("MEMBERS", "[m, k]")
    (change,) = scene(tmp_path, text, text, raw={"entries": {"static-consumer-groups": {"S.g": None}}}).plan().changes
    said = "When the consumers of m, k were deleted, the interest stream deleted what no other consumer wanted"
    assert [one.message for one in change.consequences] == [said] * number
