"""Snapshots × desired → drift. Spark brings the rows of each target together; what they mean, the engine says.

A target's rows arrive one after another and are let go as soon as it is compared: memory holds one account per core,
however many there are.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.fleet.comparing import compared
from reconciler.fleet.tables import DRIFT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EACH = ("run", "target")
LIVE = ("row", "scope", "json", "value", "revision", "deleted", "error", "at")
WANTED = ("topology", "address", "team", "json", "file", "line", "error", "day", "labels", "repository")
HOME = "home"
"""A number for each target of a run: quick to sort by, and what two share is told apart by their names."""
SHARED, FEW = 40, 16
"""Targets in one part, and how many parts there are at most before they have to share."""
ROWS = 4_000
"""Of drift, in one batch."""
ARROW = to_arrow_schema(DRIFT, timezone="UTC")
Row = Mapping[str, Any]


def drift(snapshots: DataFrame, desired: DataFrame, *, parts: int = FEW) -> DataFrame:
    """SNAPSHOTS × DESIRED → DRIFT, run by run. A target that is only in `snapshots` is not meant to hold anything."""
    is_header = f.col("address").isNull()
    live = snapshots.select(*EACH, *LIVE[:-1], _only(f.col("row").isin("target", "error"), "at"))
    wanted = desired.select(*EACH, *WANTED[:-3], *(_only(is_header, name) for name in WANTED[-3:]))
    together = live.unionByName(wanted, allowMissingColumns=True).withColumn(HOME, f.xxhash64(*EACH))
    return together.repartition(parts, HOME).sortWithinPartitions(HOME).mapInArrow(by_target, DRIFT)


def parts_for(targets: int) -> int:
    """How many tasks share so many targets: each sorts its rows in memory, and each takes a moment to begin."""
    return max(2, min(targets, FEW), targets // SHARED)


def _only(where: Column, name: str) -> Column:
    """Said once for a target is enough; the others are rows by the thousand."""
    return f.when(where, f.col(name)).alias(name)


def by_target(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches in which the rows of a target follow one another → batches of drift."""
    gc.freeze()  # Spark's worker looks for garbage after each task: in all that was imported, else
    drifted: list[Row] = []
    for table in _homes(batches):
        with _undisturbed():
            for live, wanted in _targets(table):
                drifted += compared(live, wanted)
        if len(drifted) >= ROWS:
            yield batch(drifted)
            drifted = []
    if drifted:
        yield batch(drifted)


def _homes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows that share a home, as soon as all of them are there."""
    pieces: list[pa.RecordBatch] = []
    for one in batches:
        for piece in _cut(one):
            if pieces and pieces[-1].column(HOME)[0] != piece.column(HOME)[0]:
                yield pa.Table.from_batches(pieces)
                pieces = []
            pieces.append(piece)
    if pieces:
        yield pa.Table.from_batches(pieces)


def _cut(one: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    runs = pc.run_end_encode(one.column(HOME))
    start = 0
    for end in runs.run_ends.to_pylist():
        yield one.slice(start, end - start)
        start = end


def _targets(table: pa.Table) -> Iterable[tuple[list[Row], list[Row]]]:
    found: dict[tuple[str, str], tuple[list[Row], list[Row]]] = {}
    is_live = pc.is_valid(table.column("row"))
    for side, columns, mask in ((0, LIVE, is_live), (1, WANTED, pc.invert(is_live))):
        for row in _rows(table.select([*EACH, *columns]).filter(mask)):
            found.setdefault((row["run"], row["target"]), ([], []))[side].append(row)
    return found.values()


def _rows(table: pa.Table) -> Iterator[Row]:
    names = table.column_names
    for values in zip(*map(_values, table.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Arrow makes texts by the thousand much quicker than one by one."""
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return list(column.to_numpy())
    return list(column.to_pylist())


@contextmanager
def _undisturbed() -> Iterator[None]:
    """An account makes many objects and no garbage in cycles; looking for some takes a third of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=ARROW)
