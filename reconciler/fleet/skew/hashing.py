"""The partition hash over whole columns of subjects: kinds/subjects/partitions.py computes one, this very many.

Subjects stay the bytes that Arrow has; a token is where it begins and where it ends.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from reconciler.kinds.subjects.partitions import FNV_OFFSET, FNV_PRIME

Numbers: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = Numbers | slice

ALL = slice(None)
DOT = ord(".")


def fnv1a(data: Bytes, starts: Numbers, ends: Numbers, state: Hashes | None = None) -> Hashes:
    """Return the hash of each piece of `data`, or of `state`, which is a hash already, continued with the piece.

    The longest come first, so that every step is over those that have a byte left.
    """
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    order = np.argsort((longest - lengths).astype(np.min_scalar_type(longest)), kind="stable")
    at = starts[order]
    value = np.full(len(at), FNV_OFFSET, np.uint32) if state is None else state[order]
    byte = np.empty(len(at), np.uint8)
    for many in len(at) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]:
        np.take(data, at[:many], out=byte[:many], mode="clip")  # without "clip" numpy copies what it writes
        value[:many] ^= byte[:many]
        value[:many] *= np.uint32(FNV_PRIME)
        at[:many] += 1
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

    def matching(self, pattern: str) -> Rows:
        """Return the rows whose subjects match this filter."""
        if pattern not in self._matching:
            found = self._matches(pattern)
            self._matching[pattern] = ALL if found.all() else np.flatnonzero(found)
        return self._matching[pattern]

    def hashes(self, pattern: str, wildcards: tuple[int, ...]) -> Hashes:
        """Return the hashes by which servers partition the matching rows: see `hash_key`."""
        stars = [index for index, token in enumerate(pattern.split(".")) if token == "*"]
        if not wildcards or not stars:  # a filter without any `*`: servers ignore the numbers
            rows = self.matching(pattern)
            return self._remembered(pattern, (), self._starts[rows], self._ends[rows])
        tokens = tuple(stars[number - 1] if number > 0 else 0 for number in wildcards)
        return self._of_tokens(pattern, tokens)

    def _of_tokens(self, pattern: str, tokens: tuple[int, ...]) -> Hashes:
        before = self._of_tokens(pattern, tokens[:-1]) if len(tokens) > 1 else None
        return self._remembered(pattern, tokens, *self._token(tokens[-1], self.matching(pattern)), before)

    def _remembered(
        self, pattern: str, tokens: tuple[int, ...], starts: Numbers, ends: Numbers, before: Hashes | None = None
    ) -> Hashes:
        key = pattern, tokens
        if key not in self._hashed:
            self._hashed[key] = fnv1a(self._data, starts, ends, before)
        return self._hashed[key]

    def _token(self, index: int, rows: Rows) -> tuple[Numbers, Numbers]:
        """Where this token begins and ends, in rows that have so many."""
        at = self._first[rows] + index
        return (self._edges[at - 1] + 1 if index else self._starts[rows]), self._edges[at]

    def _matches(self, pattern: str) -> Flags:
        tokens = pattern.split(".")
        fixed = tokens[:-1] if tokens[-1] == ">" else tokens
        found = self._tokens > len(fixed) if fixed is not tokens else self._tokens == len(fixed)
        for index, token in enumerate(fixed):
            if token != "*":
                rows = np.flatnonzero(found)
                found[rows] = self._equal(*self._token(index, rows), token.encode())
        return found

    def _equal(self, starts: Numbers, ends: Numbers, literal: bytes) -> Flags:
        same: Flags = ends - starts == len(literal)
        for place, byte in enumerate(literal):
            same &= np.take(self._data, starts + place, mode="clip") == byte
        return same
