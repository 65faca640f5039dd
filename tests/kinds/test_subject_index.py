"""The index finds every pair that comparing all with all would find, without comparing all with all."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide

TOKENS = st.sampled_from(["a", "b", "*", "*x", "c"])
SUBJECTS = st.builds(
    lambda tokens, tail: ".".join([*tokens, *tail]),
    st.lists(TOKENS, min_size=1, max_size=4),
    st.sampled_from([[], [">"], [">x"]]),
)


@given(st.lists(SUBJECTS, max_size=12), SUBJECTS)
def test_every_subject_that_collides_is_found(stored: list[str], asked: str) -> None:
    index = SubjectIndex[str]()
    for number, subject in enumerate(stored):
        index.add(str(number), subject)
    found = {(stream, subject) for stream, subject in index.near(asked) if collide(asked, subject)}
    assert found == {(str(number), subject) for number, subject in enumerate(stored) if collide(asked, subject)}


def test_thirty_thousand_subjects_that_share_their_first_token_are_told_apart_in_a_moment() -> None:
    index = SubjectIndex[str]()
    for number in range(30_000):
        index.add(f"S{number}", f"orders.{number}.>")
    start = time.process_time()
    assert all(len(list(index.near(f"orders.{number}.>"))) == 1 for number in range(30_000))
    assert time.process_time() - start < 2
