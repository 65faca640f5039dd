"""Partitions and who owns them, against answers recorded from real servers and the reference implementation."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.subjects.partitions import assign, hash_key, partition, rebalance

DATA = Path(__file__).parents[1] / "data"
PARTITIONS = json.loads((DATA / "partition.json").read_text())["vectors"]
ASSIGNMENTS = json.loads((DATA / "assignment.json").read_text())["vectors"]

members = st.lists(st.text("abcxyz-_=é", min_size=1, max_size=4), max_size=12)


@pytest.mark.parametrize("vector", PARTITIONS, ids=lambda v: f"{v['subject']}-{v['partitions']}-{v['wildcard_tokens']}")
def test_a_subject_lands_where_the_server_put_it(vector: dict[str, Any]) -> None:
    where = vector["subject"], vector["source_filter"]
    wildcards = vector["wildcard_tokens"] or ()
    assert hash_key(*where, wildcards) == vector["hash_key"]
    assert partition(*where, vector["partitions"], wildcards) == vector["partition"]


@pytest.mark.parametrize("vector", ASSIGNMENTS, ids=lambda v: v["description"])
def test_members_own_what_the_reference_gives_them(vector: dict[str, Any]) -> None:
    assert assign(vector["members"], vector["max_members"]) == vector["expected"]


@given(members, st.integers(1, 64))
def test_every_partition_has_exactly_one_owner_when_there_are_members(names: list[str], number: int) -> None:
    owned = sorted(part for parts in assign(names, number).values() for part in parts)
    assert owned == (list(range(number)) if names else [])


@given(members, st.integers(1, 64))
def test_no_member_owns_two_more_than_another(names: list[str], number: int) -> None:
    sizes = {len(parts) for parts in assign(names, number).values()}
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(st.permutations(["a", "b", "c", "d"]))
def test_the_order_members_are_written_in_changes_nothing(names: list[str]) -> None:
    assert assign(names, 10) == assign(sorted(names), 10)


owners = st.lists(st.none() | st.sampled_from("abcde"), min_size=1, max_size=24)
some_members = st.sets(st.sampled_from("abcdef"), min_size=1)


@given(owners, some_members)
def test_a_rebalanced_group_has_each_partition_exactly_once(now: list[str | None], names: set[str]) -> None:
    assert sorted(itertools.chain(*rebalance(now, names).values())) == list(range(len(now)))


@given(owners, some_members)
def test_a_rebalanced_group_is_even_within_one(now: list[str | None], names: set[str]) -> None:
    given_ = rebalance(now, names)
    sizes = [len(given_.get(name, [])) for name in names]
    assert max(sizes) - min(sizes) <= 1


@given(
    st.lists(st.none() | st.sampled_from("abc"), min_size=1, max_size=6), st.sets(st.sampled_from("abcd"), min_size=1)
)
def test_no_other_even_assignment_moves_fewer_partitions(now: list[str | None], names: set[str]) -> None:
    def moved(then: tuple[str, ...]) -> int:
        return sum(before != after for before, after in zip(now, then, strict=True))

    def is_even(then: tuple[str, ...]) -> bool:
        sizes = [then.count(name) for name in names]
        return max(sizes) - min(sizes) <= 1

    best = min(moved(then) for then in itertools.product(sorted(names), repeat=len(now)) if is_even(then))
    owned = {number: name for name, numbers in rebalance(now, names).items() for number in numbers}
    assert moved(tuple(owned[number] for number in range(len(now)))) == best


@given(owners, some_members)
def test_rebalancing_again_moves_nothing(now: list[str | None], names: set[str]) -> None:
    once = rebalance(now, names)
    owned = {number: name for name, numbers in once.items() for number in numbers}
    assert rebalance([owned[number] for number in range(len(now))], names) == once


def test_six_members_instead_of_five_take_what_is_theirs_and_no_more() -> None:
    """The even blocks of plain members move eight or nine of ten here."""
    now = [name for name, numbers in assign(["m1", "m2", "m3", "m4", "m5"], 10).items() for _ in numbers]
    then = rebalance(now, ["m0", "m1", "m2", "m3", "m4", "m5"])
    assert then["m0"] == [9]
    assert sum(now[number] != name for name, numbers in then.items() for number in numbers) == 1
