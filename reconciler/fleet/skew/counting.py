"""Counts with numpy how many subjects and messages fall on each partition, as they come by.

The partition of a subject is its hash modulo the number of partitions, so one histogram over a common multiple answers
for all its divisors: 240 counts give those of 6, 8, 10, 12 and 16 partitions. The hash is computed over whole columns;
kinds/subjects/partitions.py computes one. Subjects stay the bytes that Arrow has; a token is where it begins and where it
ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import lcm
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.fleet.skew.candidates import Choice
from reconciler.fleet.tables.tables import FALLS
from reconciler.kinds.subjects.partitions import FNV_OFFSET, FNV_PRIME

Numbers: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = Numbers | slice

ALL = slice(None)
DOT = ord(".")


def fnv1a_rows(data: Bytes, starts: Numbers, ends: Numbers, state: Hashes | None = None) -> Hashes:
    """Return the hash of each piece of `data`, or of `state`, which is a hash already, continued with the piece.

    The longest come first, so that every step is over those that have a byte left.
    """
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    order = np.argsort((longest - lengths).astype(np.min_scalar_type(longest)), kind="stable")
    positions = starts[order]
    value = np.full(len(positions), FNV_OFFSET, np.uint32) if state is None else state[order]
    bytes_there = np.empty(len(positions), np.uint8)
    for count in len(positions) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]:
        np.take(
            data, positions[:count], out=bytes_there[:count], mode="clip"
        )  # without "clip" numpy copies what it writes
        value[:count] ^= bytes_there[:count]
        value[:count] *= np.uint32(FNV_PRIME)
        positions[:count] += 1
    hashed = np.empty_like(value)
    hashed[order] = value
    return hashed


class Subjects:
    """A column of subjects and the tokens in them. Hashes are remembered for the next choice of wildcards."""

    def __init__(self, column: pa.Array[Any]) -> None:
        text = column.cast(pa.large_string())
        _, offsets, data = text.buffers()
        bounds = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
        self._data = np.frombuffer(data or b"\0", np.uint8)  # something to index where all is empty
        self._starts, self._ends = bounds[:-1], bounds[1:]
        dots = np.flatnonzero(self._data[bounds[0] : bounds[-1]] == DOT) + bounds[0]
        before = np.searchsorted(dots, bounds)
        self._edges = np.insert(dots, before[1:], self._ends)  # where each token of each subject ends
        self._first = before[:-1] + np.arange(len(text))
        self._tokens = np.diff(before) + 1
        self._matching: dict[str, Rows] = {}
        self._hashed: dict[tuple[str, tuple[int, ...]], Hashes] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def matching_rows(self, pattern: str) -> Rows:
        """Return the rows whose subjects match this filter."""
        if pattern not in self._matching:
            matches = self._matches(pattern)
            self._matching[pattern] = ALL if matches.all() else np.flatnonzero(matches)
        return self._matching[pattern]

    def hashes(self, pattern: str, wildcards: tuple[int, ...]) -> Hashes:
        """Return the hashes by which servers partition the matching rows: see `hash_key`."""
        stars = [index for index, token in enumerate(pattern.split(".")) if token == "*"]
        if not wildcards or not stars:  # a filter without any `*`: servers ignore the numbers
            rows = self.matching_rows(pattern)
            return self._cached_hashes(pattern, (), self._starts[rows], self._ends[rows])
        tokens = tuple(stars[number - 1] if number > 0 else 0 for number in wildcards)
        return self._hashes_of_tokens(pattern, tokens)

    def _hashes_of_tokens(self, pattern: str, tokens: tuple[int, ...]) -> Hashes:
        before = self._hashes_of_tokens(pattern, tokens[:-1]) if len(tokens) > 1 else None
        return self._cached_hashes(
            pattern, tokens, *self._token_bounds(tokens[-1], self.matching_rows(pattern)), before
        )

    def _cached_hashes(
        self, pattern: str, tokens: tuple[int, ...], starts: Numbers, ends: Numbers, before: Hashes | None = None
    ) -> Hashes:
        key = pattern, tokens
        if key not in self._hashed:
            self._hashed[key] = fnv1a_rows(self._data, starts, ends, before)
        return self._hashed[key]

    def _token_bounds(self, index: int, rows: Rows) -> tuple[Numbers, Numbers]:
        """Where this token begins and ends, in rows that have so many."""
        edges = self._first[rows] + index
        return (self._edges[edges - 1] + 1 if index else self._starts[rows]), self._edges[edges]

    def _matches(self, pattern: str) -> Flags:
        tokens = pattern.split(".")
        fixed = tokens[:-1] if tokens[-1] == ">" else tokens
        matches = self._tokens > len(fixed) if fixed is not tokens else self._tokens == len(fixed)
        for index, token in enumerate(fixed):
            if token != "*":
                rows = np.flatnonzero(matches)
                matches[rows] = self._equal_to(*self._token_bounds(index, rows), token.encode())
        return matches

    def _equal_to(self, starts: Numbers, ends: Numbers, literal: bytes) -> Flags:
        same: Flags = ends - starts == len(literal)
        for offset, byte in enumerate(literal):
            same &= np.take(self._data, starts + offset, mode="clip") == byte
        return same


Batches: TypeAlias = Iterator[pa.RecordBatch]
Counts: TypeAlias = npt.NDArray[np.int64]

AT_ONCE = 1 << 15
"""Rows hashed together: enough that calling numpy costs nothing, few enough to stay in the processor's cache."""

LARGEST_MULTIPLE = 1 << 12
MOST_COUNTS = 1 << 22
"""Counts held (32 MB of them) before they are handed on; Spark adds them up."""

ARROW = to_arrow_schema(FALLS)


def falls_counter(choices: tuple[Choice, ...], partitions: tuple[int, ...]) -> Callable[[Batches], Batches]:
    """Return a function for `mapInArrow`: rows of place (target and stream), subject, messages and error become rows of
    FALLS.

    Subjects that no filter of a choice matches are counted without a partition; an error is handed on as it came.
    """
    multiples = common_multiples(partitions)

    def count(batches: Batches) -> Batches:
        tally = _Tally()
        for piece in tables_of(batches, AT_ONCE):
            if piece["error"].null_count < len(piece):
                yield from _error_rows(piece)
            if (read := _rows_with_subject(piece)) is not None:
                tally.add(read, choices, multiples)
            if tally.size > MOST_COUNTS:
                yield from tally.flush(multiples)
        yield from tally.flush(multiples)

    return count


def common_multiples(numbers: Iterable[int]) -> dict[int, list[int]]:
    """Return common multiples, as few as a greedy search finds, so that each number divides one of them."""
    multiples: dict[int, list[int]] = {}
    for number in sorted(set(numbers), reverse=True):
        fits = (
            multiple for multiple in multiples if lcm(multiple, number) <= LARGEST_MULTIPLE or multiple % number == 0
        )
        multiple = next(fits, number)
        divisors = [*multiples.pop(multiple, []), number]
        multiples.setdefault(lcm(multiple, number), []).extend(divisors)
    return multiples


def tables_of(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Divide the rows into pieces of about this many, however large the batches are."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            held.append(batch.slice(start, rows))
            count += held[-1].num_rows
            if count >= rows:
                yield pa.Table.from_batches(held).combine_chunks()
                held, count = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def _rows_with_subject(piece: pa.Table) -> pa.Table | None:
    """The rows that hold a subject, in one chunk; None when there are none."""
    if piece["subject"].null_count:
        piece = piece.filter(piece["subject"].is_valid()).combine_chunks()
    return piece if len(piece) else None


def _error_rows(piece: pa.Table) -> Batches:
    failed = piece.filter(piece["error"].is_valid()).select(["place", "error"]).to_pylist()
    rows = [{**dict.fromkeys(FALLS.names), **_target_and_stream(row["place"]), "error": row["error"]} for row in failed]
    yield from pa.Table.from_pylist(rows, schema=ARROW).to_batches()


def _target_and_stream(text: str) -> dict[str, str | None]:
    target, _, stream = text.partition("\n")
    return {"target": target, "stream": stream or None}


class _Tally:
    """Counts so far: subjects and messages by place, choice and common multiple. The last count of each is for
    unmatched ones."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Choice, int], Counts] = {}
        self.size = 0

    def add(self, piece: pa.Table, choices: tuple[Choice, ...], multiples: Iterable[int]) -> None:
        encoded = piece["place"].chunk(0).dictionary_encode()
        names, place_of_row = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
        messages = piece["messages"].fill_null(0).to_numpy()
        subjects = Subjects(piece["subject"].chunk(0))
        for choice in choices:
            hashes, missed = hashes_of(subjects, choice)
            for multiple in multiples:
                counts = _count_by_remainder(
                    hashes % np.uint32(multiple), missed, multiple, place_of_row, messages, len(names)
                )
                for name, counts_there in zip(names, counts, strict=True):
                    self._add_counts((name, choice, multiple), counts_there)

    def _add_counts(self, key: tuple[str, Choice, int], counts: Counts) -> None:
        if key in self._counts:
            self._counts[key] += counts
        else:
            self._counts[key] = counts.copy()
            self.size += counts.size

    def flush(self, multiples: dict[int, list[int]]) -> Batches:
        batches = (
            _falls_batch(place, choice, partitions, counts)
            for (place, choice, multiple), counts in self._counts.items()
            for partitions in multiples[multiple]
        )
        for piece in tables_of(batches, AT_ONCE):
            yield from piece.to_batches()
        self._counts, self.size = {}, 0


def hashes_of(subjects: Subjects, choice: Choice) -> tuple[Hashes, Numbers]:
    """Return the hash of every subject, and the rows that no filter matches, which have none."""
    hashes, missed = np.zeros(len(subjects), np.uint32), np.ones(len(subjects), np.bool_)
    for partitioning in choice.filters:
        rows = subjects.matching_rows(partitioning.filter)
        hashes[rows] = subjects.hashes(partitioning.filter, partitioning.wildcards)
        missed[rows] = False
    return hashes, np.flatnonzero(missed)


def _count_by_remainder(
    remainders: Hashes, missed: Numbers, multiple: int, place_of_row: Numbers, messages: Numbers, places: int
) -> Counts:
    """For every place: subjects and messages by remainder, and after them the unmatched ones."""
    remainders[missed] = multiple
    bins = place_of_row.astype(np.int64) * (multiple + 1) + remainders
    shape, size = (places, multiple + 1), places * (multiple + 1)
    subjects = np.bincount(bins, minlength=size).reshape(shape)
    weighed = np.bincount(bins, weights=messages, minlength=size).reshape(shape)  # exact up to 2^53
    return np.stack([subjects, weighed.astype(np.int64)], axis=1)


def _falls_batch(place: str, choice: Choice, partitions: int, counts: Counts) -> pa.RecordBatch:
    """One row for unmatched ones, and one for each partition, where anything matched."""
    inside, outside = counts[:, :-1].reshape(2, -1, partitions).sum(axis=1), counts[:, -1:]
    subjects, messages = np.append(outside, inside, axis=1) if inside.any() else outside
    same = {
        **_target_and_stream(place),
        "choice": str(choice),
        "since": choice.since,
        "partitions": partitions,
        "error": None,
    }
    differs = {"partition": [None, *range(len(subjects) - 1)], "subjects": subjects, "messages": messages}
    columns = {**{name: [value] * len(subjects) for name, value in same.items()}, **differs}
    return pa.RecordBatch.from_pydict({name: columns[name] for name in FALLS.names}, schema=ARROW)
