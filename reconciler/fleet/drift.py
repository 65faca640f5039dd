"""Snapshots × desired → drift. Spark brings the rows of each target together; what they mean, the engine says.

A target's rows arrive one after another and are let go as soon as it is compared: memory holds one account per core,
however many there are.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.fleet.comparing import compared
from reconciler.fleet.tables import DRIFT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LIVE = ("row", "scope", "json", "value", "revision", "deleted", "error", "at")
WANTED = ("labels", "topology", "repository", "address", "team", "json", "file", "line", "error")
EACH = ("run", "day", "target")
ROWS = 4_000
"""Of drift, in one batch."""
ARROW = to_arrow_schema(DRIFT, timezone="UTC")


def drift(snapshots: DataFrame, desired: DataFrame) -> DataFrame:
    """SNAPSHOTS × DESIRED → DRIFT, run by run. A target that is only in `snapshots` is not meant to hold anything."""
    live = snapshots.select(*EACH, *LIVE)
    wanted = desired.select(*EACH, *WANTED)
    together = live.unionByName(wanted, allowMissingColumns=True)
    return together.repartition(*EACH).sortWithinPartitions(*EACH).mapInArrow(by_target, DRIFT)


def by_target(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches in which the rows of a target follow one another → batches of drift."""
    drifted: list[Mapping[str, Any]] = []
    for _, rows in groupby(_rows(batches), key=itemgetter(*EACH)):
        with _undisturbed():
            drifted += _drifted(rows)
        if len(drifted) >= ROWS:
            yield batch(drifted)
            drifted = []
    if drifted:
        yield batch(drifted)


def _drifted(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    live: list[Mapping[str, Any]] = []
    wanted: list[Mapping[str, Any]] = []
    for row in rows:
        (live if row["row"] is not None else wanted).append(row)
    return compared(live, wanted)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """An account makes many objects and no garbage in cycles; looking for some takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Mapping[str, Any]]:
    for one in batches:
        names = one.schema.names
        for values in zip(*(column.to_pylist() for column in one.columns), strict=True):
            yield dict(zip(names, values, strict=True))


def batch(rows: list[Mapping[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=ARROW)
