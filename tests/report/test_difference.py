"""A difference is a patch: what it shows stands where it says, and applied it makes the one text of the other."""

from __future__ import annotations

import re
import time
from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from reconciler.report.words.difference import difference

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "-x", "+x", "@@"]), max_size=30)
_HUNK = re.compile(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@")


def patched(before: list[str], patch: list[str]) -> list[str]:
    after: list[str] = []
    done = 0
    rest = iter(patch[2:])
    for line in rest:
        start, count, other_start, other_count = map(int, _HUNK.fullmatch(line).groups())  # type: ignore[union-attr]
        begin = start - 1 if count else start
        after += before[done:begin]
        assert len(after) == (other_start - 1 if other_count else other_start)
        old: list[str] = []
        new: list[str] = []
        while len(old) < count or len(new) < other_count:
            said = next(rest)
            if said[0] in " -":
                old.append(said[1:])
            if said[0] in " +":
                new.append(said[1:])
        assert before[begin : begin + count] == old
        after += new
        done = begin + count
    return after + before[done:]


@given(before=LINES, after=LINES)
def test_a_difference_makes_the_one_of_the_other(before: list[str], after: list[str]) -> None:
    patch = list(difference(before, after, "f"))
    assert patch[:2] == (["--- f", "+++ f"] if before != after else [])
    assert patched(before, patch) == after


@given(before=st.lists(st.integers(0, 99).map(str), max_size=40, unique=True), data=st.data())
def test_lines_that_moved_are_found(before: list[str], data: st.DataObject) -> None:
    after = list(before)
    if after:
        after.insert(data.draw(st.integers(0, len(after) - 1)), after.pop(data.draw(st.integers(0, len(after) - 1))))
    patch = list(difference(before, after, "f"))
    assert patched(before, patch) == after
    assert len([line for line in patch[2:] if line[0] in "+-"]) in (0, 2)


def test_it_looks_as_others_show_it() -> None:
    before, after = list("abcdefghijklmnopqrst"), list("abxdefghijklmnopqrs")
    assert list(difference(before, after, "f")) == list(unified_diff(before, after, "f", "f", lineterm=""))


def test_thousands_of_places_in_a_long_text_take_no_longer_than_few() -> None:
    """Other programs take minutes: each place was looked for in all that is left."""

    def text(*keys: str) -> list[str]:
        lines = (
            (f"  S{number}:", *(f"    {key}: 1" for key in keys), f"    subjects: [s{number}]", "")
            for number in range(4000)
        )
        return [line for stream in lines for line in stream]

    began = time.process_time()
    shown = list(difference(text("a", "b", "c", "d"), text("b", "a", "c", "d"), "f"))
    assert len([line for line in shown[2:] if line[0] in "+-"]) == 8000
    assert time.process_time() - began < 10
