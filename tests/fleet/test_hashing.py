"""A column of subjects is hashed as each of them would be by itself, and as real servers do it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.fleet.skew.counting import Subjects
from reconciler.kinds.subjects.partitions import fnv1a, hash_key
from reconciler.kinds.subjects.subjects import matches

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "partition.json").read_text())["vectors"]


def of_one_transform(vector: dict[str, Any]) -> tuple[str, int, tuple[int, ...]]:
    return vector["source_filter"], vector["partitions"], tuple(vector["wildcard_tokens"] or ())


@pytest.mark.parametrize("transform", sorted({of_one_transform(one) for one in VECTORS}), ids=str)
def test_columns_land_where_servers_put_their_subjects(transform: tuple[str, int, tuple[int, ...]]) -> None:
    pattern, partitions, wildcards = transform
    vectors = [one for one in VECTORS if of_one_transform(one) == transform]
    hashes = Subjects(pa.array([one["subject"] for one in vectors])).hashes(pattern, wildcards)
    assert (hashes % np.uint32(partitions)).tolist() == [one["partition"] for one in vectors]


token = st.text("ab.é日", min_size=1, max_size=3).filter(lambda text: "." not in text)
subjects = st.lists(st.lists(token, min_size=1, max_size=5).map(".".join), max_size=30)
patterns = st.tuples(st.lists(st.sampled_from(["*", "*", "a", "é"]), min_size=1, max_size=4), st.booleans())


@settings(deadline=None)
@given(subjects, patterns, st.data())
def test_a_column_is_hashed_as_its_subjects_are_one_by_one(
    column: list[str], shape: tuple[list[str], bool], data: st.DataObject
) -> None:
    pattern = ".".join([*shape[0], *[">"][: shape[1]]])
    stars = shape[0].count("*")
    wildcards = tuple(data.draw(st.lists(st.integers(-1, stars), max_size=3))) if stars else ()
    matching = [one for one in column if matches(one, pattern)]
    found = Subjects(pa.array(column, pa.string()))
    assert np.arange(len(column))[found.matching_rows(pattern)].tolist() == [
        index for index, one in enumerate(column) if matches(one, pattern)
    ]
    assert found.hashes(pattern, wildcards).tolist() == [
        fnv1a(hash_key(one, pattern, wildcards).encode()) for one in matching
    ]


def test_a_slice_of_a_column_is_as_good_as_a_column() -> None:
    column = pa.array(["o.a.b", "o.ab.c", "o.eu.1234", "o.us.9"])
    whole = Subjects(column).hashes("o.*.*", (1, 2))
    assert Subjects(column.slice(1, 2)).hashes("o.*.*", (1, 2)).tolist() == whole[1:3].tolist()


def test_one_long_token_among_short_ones_is_hashed_to_its_end() -> None:
    column = [f"o.{'x' * length}" for length in (1, 70_000, 3, 255, 256)]
    assert Subjects(pa.array(column)).hashes("o.*", (1,)).tolist() == [fnv1a(one[2:].encode()) for one in column]


def test_choices_that_begin_alike_are_hashed_from_where_they_part() -> None:
    """Which is remembered per filter: the same numbers mean other tokens in another one."""
    column = Subjects(pa.array(["o.a.b"]))
    both, other = column.hashes("o.*.*", (1, 2)), column.hashes("*.*.*", (1, 2))
    assert (both[0], other[0]) == (fnv1a(b"ab"), fnv1a(b"oa"))
