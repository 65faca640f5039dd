"""The algebra of subjects against its own definition: trying every literal subject of a small alphabet."""

from __future__ import annotations

import re
from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.kinds.subjects.subject_lists import (
    SubjectList,
    any_collide_among,
    colliding,
    intersections,
    not_inside,
    widest_subjects,
)
from reconciler.kinds.subjects.subjects import collide, is_subset, is_valid, matches, name_problem
from tests.primitives.echo import Server
from tests.support.accounts import Account
from tests.support.versions import on_every_version

LITERALS = [".".join(tokens) for length in range(1, 5) for tokens in product("abc", repeat=length)]

patterns = st.builds(
    lambda tokens, tail: ".".join([*tokens, *tail]),
    st.lists(st.sampled_from("ab*"), min_size=1, max_size=3),
    st.sampled_from([[], [">"]]),
)


def _everything(pattern: str) -> set[str]:
    """All literals that match, by a regular expression: the definition in other words."""
    parts = (r"[^.]+" if token == "*" else r".+" if token == ">" else token for token in pattern.split("."))
    matching = re.compile(r"\.".join(parts))
    return {literal for literal in LITERALS if matching.fullmatch(literal)}


@given(patterns, st.sampled_from(LITERALS))
def test_a_literal_matches_what_it_is_among(pattern: str, literal: str) -> None:
    assert matches(literal, pattern) == (literal in _everything(pattern))


@given(patterns, patterns)
def test_two_subjects_collide_when_some_literal_matches_both(one: str, other: str) -> None:
    assert collide(one, other) == bool(_everything(one) & _everything(other))


@given(patterns, patterns)
def test_a_subset_matches_nothing_its_superset_does_not(inner: str, outer: str) -> None:
    assert is_subset(inner, outer) == (_everything(inner) <= _everything(outer))


@given(patterns, st.lists(patterns, max_size=4))
def test_what_others_cover_matches_nothing_else(one: str, others: list[str]) -> None:
    covered = _everything(one) <= {literal for other in others for literal in _everything(other)}
    assert covered or not SubjectList(others).covers(one)
    assert SubjectList(others).covers(one) or not any(is_subset(one, other) for other in others)


@given(st.lists(patterns, max_size=6), st.lists(patterns, max_size=6))
def test_lists_answer_as_if_all_were_compared_with_all(some: list[str], others: list[str]) -> None:
    assert colliding(some, others) == [one for one in some if any(collide(one, other) for other in others)]
    assert not_inside(some, others) == [one for one in some if not any(is_subset(one, other) for other in others)]
    assert any_collide_among(some) == any(collide(one, other) for one, other in combinations(some, 2))
    wider = {one for one in some if any(one != other and is_subset(one, other) for other in some)}
    assert widest_subjects(some) == [one for one in dict.fromkeys(some) if one not in wider]
    assert _everything_of(intersections(some, others)) == _everything_of(some) & _everything_of(others)


def _everything_of(subjects: list[str]) -> set[str]:
    return {literal for subject in subjects for literal in _everything(subject)}


def test_a_subject_in_two_parts_is_covered_by_both() -> None:
    assert SubjectList(["a.*", "a.*.>"]).covers("a.>")
    assert SubjectList(["a.*", "a.*.*", "a.*.*.>", "b"]).covers("a.>")
    assert not SubjectList(["a.*", "a.*.*"]).covers("a.>")
    assert not SubjectList(["a.x", "a.y"]).covers("a.*")
    assert not SubjectList([]).covers("a")


@given(patterns, patterns)
def test_colliding_is_mutual(one: str, other: str) -> None:
    assert collide(one, other) == collide(other, one)


subjects = st.lists(st.sampled_from(["a", "*", ">", "", "a b", "a*", ">a", "ä"]), min_size=1, max_size=3).map(".".join)


@on_every_version
def test_a_subject_is_valid_exactly_when_a_stream_may_have_it(account: Account) -> None:
    with Server(account) as server:

        @settings(max_examples=60, derandomize=True, deadline=None, database=None)
        @given(subjects)
        def check(subject: str) -> None:
            (reply,) = server.create_streams({"S": {"subjects": [subject], "no_ack": True, "storage": "memory"}})
            server.delete_streams(["S"] if reply.config else [])
            assert is_valid(subject) == (reply.config is not None), (subject, reply)

        check()


@on_every_version
def test_two_subjects_collide_exactly_when_a_stream_may_not_have_both(account: Account) -> None:
    with Server(account) as server:

        @settings(max_examples=100, derandomize=True, deadline=None, database=None)
        @given(*[st.lists(st.sampled_from(["a", "b", "*", "*a", ">a"]), min_size=1, max_size=3).map(".".join)] * 2)
        def check(one: str, other: str) -> None:
            (reply,) = server.create_streams({"S": {"subjects": [one, other], "no_ack": True}})
            server.delete_streams(["S"] if reply.config else [])
            assert collide(one, other) == (reply.config is None), (one, other, reply)

        check()


@on_every_version
def test_a_name_is_refused_exactly_when_the_server_refuses_it(account: Account) -> None:
    tried = ["a", "ä", "$x", "{y}", "'z'", "x" * 255, "x" * 256, "a*", "a\\b"]
    with Server(account) as server:
        replies = server.create_streams({name: {} for name in tried})
    assert [name_problem(name) is None for name in tried] == [reply.config is not None for reply in replies]


def test_the_reason_a_name_is_refused_names_what_is_wrong() -> None:
    assert name_problem("a.b c") == "it contains white space and `.`"
