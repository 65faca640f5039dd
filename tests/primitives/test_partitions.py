"""Partitions and who owns them, against answers recorded from real servers and the reference implementation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.primitives.partitions import assign, hash_key, partition

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
