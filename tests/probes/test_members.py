"""Members of a group at work while it changes: what they are given, what comes again, and what is lost, is seen."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.model.resource import Address
from reconciler.testbed.probes.scene import Scene
from tests.probes.drawing import KEYS, Case
from tests.probes.judging import Judged
from tests.probes.members import HELD, Group
from tests.probes.running import Room, twins
from tests.probes.scenes import SUBJECTS
from tests.support.accounts import Pool
from tests.support.binaries import MINORS, NEWEST

STREAM, GROUP = Address.of("stream", "S"), Address.of("elastic_group", "S", "g")
BODY: Mapping[str, Any] = {
    "max_members": 4, "members": ["a", "b"], "partitioning_filters": [{"filter": "s.*", "partitioning_wildcards": [1]}],
}  # fmt: skip


def case(**changed: Any) -> Case:
    stream, after = {"subjects": ["s.>"], "storage": "memory"}, {**BODY, **changed}
    messages = tuple((f"s.{KEYS[number % len(KEYS)]}", 20) for number in range(30))
    return Case(
        scene=Scene(streams={"S": stream}, messages=messages, subjects={"S": SUBJECTS}),
        address=GROUP, before=dict(BODY), after=after, wishes={STREAM: stream, GROUP: after},
        made=({STREAM: stream, GROUP: dict(BODY)},), groups=(Group(address=GROUP, members=("a", "b"), partitions=6),),
    )  # fmt: skip


def played(pool: Pool, minor: str, one: Case) -> Judged:
    found = asyncio.run(Room(twins(pool, minor)).play(one))
    assert isinstance(found, Judged), found
    return found


def felt(found: Judged) -> dict[str, str]:
    return {one.operation: one.after for one in found.felt}


@pytest.mark.parametrize("minor", MINORS)
def test_members_feel_nothing_where_nothing_changes(pool: Pool, minor: str) -> None:
    assert felt(played(pool, minor, case())) == {}


def test_partitions_of_a_member_that_leaves_are_read_by_the_one_that_stays(pool: Pool) -> None:
    found = played(pool, NEWEST, case(members=["b"]))
    assert not found.unforetold
    read = [one.split() for one in felt(found) if one.startswith("read partition")]
    loses, gains = ({words[2] for words in read if words[-1] == name} for name in "ab")
    assert loses
    assert loses <= {"0", "1"}
    assert gains >= loses | {"2", "3"}, "everybody makes his consumer anew"


def test_what_is_in_flight_comes_again(pool: Pool) -> None:
    mappings = [{"member": "a", "partitions": [2, 3]}, {"member": "b", "partitions": [0, 1]}]
    after = case(members=None, member_mappings=mappings)
    found = played(pool, NEWEST, after)
    again = {
        int(one) for words in felt(found).values() for one in words.partition("again ")[2].split() if one.isdigit()
    }
    assert again >= set(range(HELD, 31, HELD)), felt(found)


@pytest.mark.parametrize("minor", MINORS)
def test_a_group_made_anew_loses_nothing(pool: Pool, minor: str) -> None:
    found = played(pool, minor, case(max_members=6))
    assert not found.unforetold, felt(found)
    assert felt(found)["stay at work as member a"] == "ended"
    assert "look for what is lost" not in felt(found)
