"""Durations, sizes and counts as people write them, and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from reconciler.changes.amount import Amount, exactly
from reconciler.kinds.fields.words import age, consent_to, in_words, share, size, some, written_size
from reconciler.model.units import (
    parse_bytes,
    parse_count,
    parse_duration,
    show_bytes,
    show_duration,
)

INT64 = st.integers(0, (1 << 63) - 1)
HOUR = 3_600_000_000_000


@given(INT64)
def test_a_duration_that_is_shown_is_read_back(nanoseconds: int) -> None:
    assert parse_duration(show_duration(nanoseconds)) == nanoseconds


@given(INT64)
def test_a_size_that_is_shown_is_read_back(count: int) -> None:
    assert parse_bytes(show_bytes(count)) == count


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_a_count_is_read_with_and_without_underscores(number: int) -> None:
    assert parse_count(f"{number:_}") == parse_count(number) == number


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("7d", 168 * HOUR),
        ("1h30m", HOUR * 3 // 2),
        ("1.5h", HOUR * 3 // 2),
        ("90s", 90 * 10**9),
        ("0", 0),
        (1000, 1000),
    ],
)
def test_durations_are_written_in_many_ways(text: str | int, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "count"), [("20GiB", 20 << 30), ("512KB", 512_000), ("1.5 MiB", 3 << 19), (-1, -1), ("4096", 4096)]
)
def test_sizes_are_written_in_many_ways(text: str | int, count: int) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize("wrong", ["7 fortnights", "", "d", "1d ", "--1s", None, [], True, 1.5, "9" * 30, "1e9s"])
def test_what_is_no_duration_is_refused_with_advice(wrong: Any) -> None:
    with pytest.raises(PydanticCustomError, match=r"write 7d|write a number"):
        parse_duration(wrong)


@pytest.mark.parametrize("wrong", ["many", "20GiBs", "GiB", None, True, "9" * 30])
def test_what_is_no_size_is_refused_with_advice(wrong: Any) -> None:
    with pytest.raises(PydanticCustomError, match=r"write 20GiB|write a number"):
        parse_bytes(wrong)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (1, "1"),
        (1_200, "1_200"),
        (9_999, "9_999"),
        (80_000, "80 k"),
        (999_499, "999 k"),
        (999_999, "1 M"),
        (3_400_000, "3.4 M"),
    ],
)
def test_numbers_in_sentences_can_be_taken_in(number: int, said: str) -> None:
    assert some(number) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "1 byte"), (900, "900 bytes"), (1536, "1.5 KiB"), (1_047_000, "1022 KiB"), (40 << 30, "40 GiB")],
)
def test_sizes_in_sentences_can_be_taken_in(count: int, said: str) -> None:
    assert size(count) == said


@pytest.mark.parametrize(
    ("written", "stored"), [("50MB", "47.7 MB"), ("2KB", "47.7 MB"), ("48MiB", "45.5 MiB"), ("1023", "45.5 MiB")]
)
def test_a_size_beside_one_of_a_file_has_units_of_the_same_family(written: str, stored: str) -> None:
    assert size(47_700_000, beside=parse_bytes(written)) == stored


@pytest.mark.parametrize("written", ["50MB", "2KB", "10KiB", "20GiB", "1_023 bytes", "1 byte"])
def test_a_size_of_a_file_is_said_as_it_may_stand_there(written: str) -> None:
    assert written_size(parse_bytes(written.partition(" ")[0])) == written


def test_nouns_follow_their_number() -> None:
    assert [some(1, "message"), some(2, "message")] == ["1 message", "2 messages"]


@pytest.mark.parametrize(
    ("nanoseconds", "said"),
    [
        (180 * HOUR + 7, "7d12h"),
        (HOUR + 61 * 10**9, "1h1m"),
        (45_855_804_123, "45s"),
        (855_804_123, "855ms"),
        (5, "5ns"),
    ],
)
def test_ages_are_told_in_two_units(nanoseconds: int, said: str) -> None:
    assert age(nanoseconds) == said


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (None, "text", "nothing"),
        (True, "flag", "true"),
        (72 * HOUR, "duration", "3d"),
        (4 << 30, "bytes", "4GiB"),
        (["a", "b"], "list", "a, b"),
        ("memory", "text", "memory"),
        ({"name": "x"}, "mapping", "what it is"),
    ],
)
def test_values_in_sentences_read_as_in_files(value: Any, unit: str, said: str) -> None:
    assert in_words(value, unit) == said


def test_a_consent_is_ready_to_paste() -> None:
    assert consent_to("ST301", 72 * HOUR, "duration") == "allow: [{code: ST301, to: 3d, reason: …}]"


@pytest.mark.parametrize(
    ("part", "whole", "words"),
    [
        (Amount(0, 3), exactly(12), "up to 3 of 12 messages"),
        (exactly(12), exactly(12), "12 of 12 messages"),
        (exactly(4), exactly(3), "4 of 4 messages"),
        (Amount(0, 1), exactly(0), "up to 1 message"),
        (Amount(0, 7), exactly(5), "up to 7 of at least 5 and at most 7 messages"),
        (Amount(2, 3), Amount(2, 3), "at least 2 and at most 3 messages"),
        (Amount(2, 3), Amount(0, 9), "at least 2 and at most 3 of at least 2 and at most 9 messages"),
    ],
)
def test_a_part_is_never_more_than_its_whole(part: Amount, whole: Amount, words: str) -> None:
    assert share(part, whole, "message") == words
