"""Counts with numpy how many subjects and messages fall on each partition, as they come by.

The partition of a subject is its hash modulo the number of partitions, so one histogram over a common multiple answers
for all its divisors: 240 counts give those of 6, 8, 10, 12 and 16 partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import lcm
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reconciler.fleet.skew.candidates import Choice
from reconciler.fleet.skew.hashing import Hashes, Numbers, Subjects

Batches: TypeAlias = Iterator[pa.RecordBatch]
Counts: TypeAlias = npt.NDArray[np.int64]

AT_ONCE = 1 << 15
"""Rows hashed together: enough that calling numpy costs nothing, few enough to stay in the processor's cache."""

LARGEST_MULTIPLE = 1 << 12
MOST_COUNTS = 1 << 22
"""Counts held (32 MB of them) before they are handed on; Spark adds them up."""

FALLS = pa.schema(
    [
        ("target", pa.string()),
        ("stream", pa.string()),
        ("choice", pa.string()),
        ("since", pa.string()),
        ("partitions", pa.int32()),
        ("partition", pa.int32()),
        ("subjects", pa.int64()),
        ("messages", pa.int64()),
        ("error", pa.string()),
    ]
)


def falling(choices: tuple[Choice, ...], partitions: tuple[int, ...]) -> Callable[[Batches], Batches]:
    """Return a function for `mapInArrow`: rows of place (target and stream), subject, messages and error become rows of
    FALLS.

    Subjects that no filter of a choice matches are counted without a partition; an error is handed on as it came.
    """
    multiples = common_multiples(partitions)

    def count(batches: Batches) -> Batches:
        found = _Found()
        for piece in pieces(batches, AT_ONCE):
            if piece["error"].null_count < len(piece):
                yield from _errors(piece)
            if (read := _read(piece)) is not None:
                found.add(read, choices, multiples)
            if found.size > MOST_COUNTS:
                yield from found.handed_on(multiples)
        yield from found.handed_on(multiples)

    return count


def common_multiples(numbers: Iterable[int]) -> dict[int, list[int]]:
    """Return common multiples, as few as a greedy search finds, so that each number divides one of them."""
    found: dict[int, list[int]] = {}
    for number in sorted(set(numbers), reverse=True):
        fits = (one for one in found if lcm(one, number) <= LARGEST_MULTIPLE or one % number == 0)
        one = next(fits, number)
        divisors = [*found.pop(one, []), number]
        found.setdefault(lcm(one, number), []).extend(divisors)
    return found


def pieces(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
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


def _read(piece: pa.Table) -> pa.Table | None:
    """The rows that hold a subject, in one chunk; None when there are none."""
    if piece["subject"].null_count:
        piece = piece.filter(piece["subject"].is_valid()).combine_chunks()
    return piece if len(piece) else None


def _errors(piece: pa.Table) -> Batches:
    failed = piece.filter(piece["error"].is_valid()).select(["place", "error"]).to_pylist()
    rows = [{**dict.fromkeys(FALLS.names), **_place(one["place"]), "error": one["error"]} for one in failed]
    yield from pa.Table.from_pylist(rows, schema=FALLS).to_batches()


def _place(text: str) -> dict[str, str | None]:
    target, _, stream = text.partition("\n")
    return {"target": target, "stream": stream or None}


class _Found:
    """Counts so far: subjects and messages by place, choice and common multiple. The last count of each is for
    unmatched ones."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, Choice, int], Counts] = {}
        self.size = 0

    def add(self, piece: pa.Table, choices: tuple[Choice, ...], multiples: Iterable[int]) -> None:
        places = piece["place"].chunk(0).dictionary_encode()
        names, place = places.dictionary.to_pylist(), places.indices.to_numpy()
        messages = piece["messages"].fill_null(0).to_numpy()
        subjects = Subjects(piece["subject"].chunk(0))
        for choice in choices:
            hashes, missed = hashes_of(subjects, choice)
            for multiple in multiples:
                counts = _counted(hashes % np.uint32(multiple), missed, multiple, place, messages, len(names))
                for name, one in zip(names, counts, strict=True):
                    self._put((name, choice, multiple), one)

    def _put(self, key: tuple[str, Choice, int], counts: Counts) -> None:
        if key in self._counts:
            self._counts[key] += counts
        else:
            self._counts[key] = counts.copy()
            self.size += counts.size

    def handed_on(self, multiples: dict[int, list[int]]) -> Batches:
        batches = (
            _batch(place, choice, partitions, counts)
            for (place, choice, multiple), counts in self._counts.items()
            for partitions in multiples[multiple]
        )
        for piece in pieces(batches, AT_ONCE):
            yield from piece.to_batches()
        self._counts, self.size = {}, 0


def hashes_of(subjects: Subjects, choice: Choice) -> tuple[Hashes, Numbers]:
    """Return the hash of every subject, and the rows that no filter matches, which have none."""
    hashes, missed = np.zeros(len(subjects), np.uint32), np.ones(len(subjects), np.bool_)
    for one in choice.filters:
        rows = subjects.matching(one.filter)
        hashes[rows] = subjects.hashes(one.filter, one.wildcards)
        missed[rows] = False
    return hashes, np.flatnonzero(missed)


def _counted(
    remainders: Hashes, missed: Numbers, multiple: int, place: Numbers, messages: Numbers, places: int
) -> Counts:
    """For every place: subjects and messages by remainder, and after them the unmatched ones."""
    remainders[missed] = multiple
    at = place.astype(np.int64) * (multiple + 1) + remainders
    shape, size = (places, multiple + 1), places * (multiple + 1)
    subjects = np.bincount(at, minlength=size).reshape(shape)
    weighed = np.bincount(at, weights=messages, minlength=size).reshape(shape)  # exact up to 2^53
    return np.stack([subjects, weighed.astype(np.int64)], axis=1)


def _batch(place: str, choice: Choice, partitions: int, counts: Counts) -> pa.RecordBatch:
    """One row for unmatched ones, and one for each partition, where anything matched."""
    inside, outside = counts[:, :-1].reshape(2, -1, partitions).sum(axis=1), counts[:, -1:]
    subjects, messages = np.append(outside, inside, axis=1) if inside.any() else outside
    same = {**_place(place), "choice": str(choice), "since": choice.since, "partitions": partitions, "error": None}
    differs = {"partition": [None, *range(len(subjects) - 1)], "subjects": subjects, "messages": messages}
    columns = {**{name: [value] * len(subjects) for name, value in same.items()}, **differs}
    return pa.RecordBatch.from_pydict({name: columns[name] for name in FALLS.names}, schema=FALLS)
