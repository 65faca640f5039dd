"""Candidates are asked for in words, and what no group could be is said in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.fleet.skew.candidates import (
    Choice,
    Membership,
    Partitioning,
    UnclearCandidates,
    candidates,
    declared_candidates,
)


def choices(*texts: str) -> list[str]:
    return [str(one) for one in candidates(texts, [8]).choices]


def test_a_filter_by_itself_asks_for_every_choice_of_its_wildcards() -> None:
    assert choices("o.*.*") == ["o.*.* by 1", "o.*.* by 2", "o.*.* by 1,2", "o.*.* by whole subject"]


def test_a_filter_that_says_what_decides_asks_for_that() -> None:
    assert choices("o.*.* by 2,1", "o.> by whole subject") == ["o.*.* by 2,1", "o.> by whole subject"]


def test_a_group_of_several_filters_is_one_choice() -> None:
    assert choices("a.* by 1; b.>") == ["a.* by 1; b.> by whole subject"]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.permutations([1, 2, 3])), min_size=1, max_size=3).map(
        lambda drawn: Choice(
            tuple(
                Partitioning(filter=f"f{place}.*.*.*", wildcards=tuple(order[:many]))
                for place, (many, order) in enumerate(drawn)
            )
        )
    )
)
def test_what_a_choice_is_called_asks_for_it_again(choice: Choice) -> None:
    assert candidates([str(choice)], [1]).choices == (choice,)


def test_members_are_numbers_one_after_the_other_or_names_together() -> None:
    asked = candidates(["o.*"], [4], ["3,4", "a, b"]).memberships
    assert asked == (Membership.of(3), Membership.of(4), Membership(members=("a", "b")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("o.* by 2", "`o.*` has no wildcard 2"),
        ("o.* by 1,1", "wildcard 1 is listed twice"),
        ("o.* by x", "write the numbers"),
        ("o..*", "is not a valid subject"),
        ("orders", "has no wildcard to partition by"),
        ("o.* by 1; o.> by whole subject", "`o.>` overlaps with `o.*`"),
        ("*.*.*.*.* ", "too many `*`"),
        ("", "is not a valid subject"),
    ],
)
def test_what_no_group_could_be_is_said(text: str, said: str) -> None:
    with pytest.raises(UnclearCandidates, match=said.replace("*", r"\*")):
        candidates([text], [8])


@pytest.mark.parametrize(("partitions", "members"), [(0, "1"), (65_537, "1"), (8, "0"), (8, " , ")])
def test_numbers_no_group_could_have_are_said(partitions: int, members: str) -> None:
    with pytest.raises(UnclearCandidates):
        candidates(["o.*"], [partitions], [members])


def test_a_declared_group_is_a_candidate_too() -> None:
    config = {
        "max_members": 4,
        "partitioning_filters": [{"filter": "o.*", "partitioning_wildcards": [1]}],
        "member_mappings": {"a": [0, 1], "b": [2, 3]},
    }
    declared = declared_candidates(config)
    assert ([str(one) for one in declared.choices], declared.partitions) == (["o.* by 1"], (4,))
    assert declared.memberships == (Membership(mappings=(("a", (0, 1)), ("b", (2, 3)))),)


def test_a_group_without_filters_takes_everything_by_its_whole_subject() -> None:
    assert [str(one) for one in declared_candidates({"max_members": 2}).choices] == ["> by whole subject"]
