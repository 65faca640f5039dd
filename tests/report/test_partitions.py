"""The map of moving partitions."""

from __future__ import annotations

from reconciler.report.document.partitions import partition_lines
from reconciler.report.words.paper import Paper


def test_a_partition_without_a_member_is_shown_as_nobodys() -> None:
    drawn = {"now": [None, "a"], "then": ["a", "a"], "queued": [3, 0]}
    assert partition_lines(drawn, Paper()) == [
        "      partition  0  1",
        "      now        -  a",
        "      then       a  ·",
        "      queued     3  0",
    ]


def test_what_could_not_be_counted_says_so() -> None:
    lines = partition_lines({"now": ["a"], "then": ["b"], "queued": [None]}, Paper())
    assert lines[-1].split() == ["queued", "?"]


def test_without_counts_there_is_no_line_of_counts() -> None:
    assert len(partition_lines({"now": ["a"], "then": ["b"]}, Paper())) == 3


def test_partitions_that_do_not_fit_go_on_below() -> None:
    lines = partition_lines({"now": ["a"] * 30, "then": ["b"] * 30}, Paper(width=80))
    assert len(lines) == 6
    assert max(map(len, lines)) <= 80


def test_a_group_too_large_to_draw_lists_its_moves() -> None:
    now = ["alpha"] * 500 + ["beta"] * 500
    then = ["alpha"] * 490 + ["gamma"] * 10 + ["beta"] * 499 + ["gamma"]
    lines = partition_lines({"now": now, "then": then, "queued": [2] * 1000}, Paper())
    assert lines == [
        "      alpha → gamma: partitions 490-499, 20 queued",
        "      beta → gamma: partitions 999, 2 queued",
    ]
