"""What could be, spelled out: choices of wildcards, memberships, who owns what and what moves."""

from __future__ import annotations

from reconciler.fleet.skew.candidates import (
    DECLARED,
    FEWEST,
    Candidates,
    Choice,
    Membership,
    Partitioning,
    all_choices,
    handovers,
    ownership,
)


def test_every_set_of_wildcards_and_the_whole_subject_are_a_choice() -> None:
    assert [str(one) for one in all_choices("o.*.*")] == [
        "o.*.* by 1",
        "o.*.* by 2",
        "o.*.* by 1,2",
        "o.*.* by whole subject",
    ]


def test_only_the_whole_subject_needs_a_younger_server() -> None:
    assert [one.since for one in all_choices("o.*")] == [None, "2.12"]
    assert Choice().since == "2.12"


def candidates(*memberships: Membership, partitions: int = 3) -> Candidates:
    return Candidates(
        choices=(Choice((Partitioning(filter="o.*", wildcards=(1,)),)),),
        partitions=(partitions,),
        memberships=memberships,
    )


def test_left_over_partitions_go_to_the_first_members() -> None:
    assert list(ownership(candidates(Membership.of(2)))) == [
        (3, "2", 2, 0, "m1", True),
        (3, "2", 2, 1, "m2", True),
        (3, "2", 2, 2, "m1", True),
    ]


def test_a_member_too_many_is_there_and_owns_nothing() -> None:
    assert list(ownership(candidates(Membership.of(2), partitions=1))) == [
        (1, "2", 2, 0, "m1", True),
        (1, "2", 2, 0, "m2", False),
    ]


def test_partitions_that_mappings_leave_out_are_nobodys() -> None:
    mapped = Membership(mappings=(("a", (0, 2)),))
    assert [row[-2] for row in ownership(candidates(mapped))] == ["a", None, "a"]


def test_the_tenth_member_sorts_last() -> None:
    assert Membership.of(10).names == tuple(sorted(Membership.of(10).names))


def test_memberships_of_the_same_size_go_by_their_names() -> None:
    two = candidates(Membership(members=("a", "b")), Membership(mappings=(("a", (0, 1)), ("b", (2,)))))
    assert {row[1] for row in ownership(two)} == {"a, b", "a: 0,1; b: 2"}


def test_what_is_listed_twice_is_looked_at_once() -> None:
    assert candidates(Membership.of(2), Membership.of(2)).memberships == (Membership.of(2),)


def test_a_name_that_sorts_first_moves_more_than_it_has_to() -> None:
    two, three = Membership(members=("b", "c")), Membership(members=("a", "b", "c"))
    rows = list(handovers(candidates(two, three, partitions=6)))
    moved = {manner: [row[4] for row in rows if row[3] == manner and row[5]] for manner in (DECLARED, FEWEST)}
    assert moved == {DECLARED: [0, 1, 3], FEWEST: [2, 5]}
