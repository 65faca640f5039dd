"""Snapshots × desired → drift. Spark brings the rows of each target together, and the engine compares them.

A target's rows arrive one after another and are dropped as soon as it is compared: memory holds one account per core,
however many there are.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.fleet.drift.comparing import drift_rows
from reconciler.fleet.drift.merged_rows import HOME, merged_rows, rows_by_target
from reconciler.fleet.tables.tables import DRIFT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SHARED, FEW = 40, 16
"""Targets in one part, and the most parts there are before they have to share."""
ROWS = 4_000
"""Rows of drift in one batch."""
ARROW = to_arrow_schema(DRIFT, timezone="UTC")
Row = Mapping[str, Any]


def drift(snapshots: DataFrame, desired: DataFrame, *, parts: int = FEW) -> DataFrame:
    """SNAPSHOTS × DESIRED → DRIFT, run by run. A target that is only in `snapshots` is not meant to hold anything."""
    both = merged_rows(snapshots, desired)
    return both.repartition(parts, HOME).sortWithinPartitions(HOME).mapInArrow(by_target, DRIFT)


def parts_for(targets: int) -> int:
    """Return how many tasks share so many targets: each sorts its rows in memory, and each takes a moment to begin."""
    return max(2, min(targets, FEW), targets // SHARED)


def by_target(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn batches in which the rows of a target follow one another into batches of drift."""
    gc.freeze()  # otherwise Spark's worker looks for garbage in everything imported after each task
    drifted: list[Row] = []
    for table in _tables_by_target(batches):
        with without_garbage_collection():
            for live, wanted in rows_by_target(table):
                drifted += drift_rows(live, wanted)
        if len(drifted) >= ROWS:
            yield drift_batch(drifted)
            drifted = []
    if drifted:
        yield drift_batch(drifted)


def _tables_by_target(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows of one target as soon as all of them have arrived."""
    pieces: list[pa.RecordBatch] = []
    for batch_of_rows in batches:
        for piece in _split_by_target(batch_of_rows):
            if pieces and pieces[-1].column(HOME)[0] != piece.column(HOME)[0]:
                yield pa.Table.from_batches(pieces)
                pieces = []
            pieces.append(piece)
    if pieces:
        yield pa.Table.from_batches(pieces)


def _split_by_target(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    runs = pc.run_end_encode(rows.column(HOME))
    start = 0
    for end in runs.run_ends.to_pylist():
        yield rows.slice(start, end - start)
        start = end


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off: an account makes many objects and no cycles, and looking for them takes a third of
    the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def drift_batch(rows: list[Row]) -> pa.RecordBatch:
    """Return the rows with the columns of DRIFT, null where a row has no value."""
    return pa.RecordBatch.from_pylist(rows, schema=ARROW)
