"""Live and declared rows in one table of few columns, on their way from Spark to Python.

Spark handles each column of each row that it hands over, nulls too, which is half of the cost. So values that never
occur together share a column, and rare values are packed into one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import from_json
from pyspark.sql import functions as f

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EACH = ("run", "target")
HOME = "home"
"""A number for each target of a run: quick to sort by; targets that share one are distinguished by their names."""
COLUMNS = (HOME, *EACH, "row", "topology", "key", "body", "number", "file", "more")
"""`row` is null in declared rows. `number` is a line, or a revision, which is below zero for a deleted entry. `more` is
JSON."""
SELDOM = ("error", "at", "day", "labels", "repository", "diagnostics")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = dict[str, Any]
"""As rows of SNAPSHOTS and of DESIRED, with all that comparing needs of them."""


def merged_rows(snapshots: DataFrame, desired: DataFrame) -> DataFrame:
    """SNAPSHOTS × DESIRED, a row of either each."""
    is_account = f.col("row").isin("target", "error")
    live = snapshots.select(
        *EACH, "row", _text_column(None, "topology"), f.col("scope").alias("key"),
        f.coalesce("value", f.col("json").cast("binary")).alias("body"),
        f.when(f.col("deleted"), -f.col("revision")).otherwise(f.col("revision")).alias("number"),
        _text_column(None, "file"),
        _rare_columns(is_account | f.col("error").isNotNull(), "error", f.unix_micros("at").alias("at")),
    )  # fmt: skip
    is_header = f.col("address").isNull()
    wanted = desired.select(
        *EACH, _text_column(None, "row"), "topology", f.col("address").alias("key"),
        f.col("json").cast("binary").alias("body"), f.col("line").cast("long").alias("number"), "file",
        _rare_columns(is_header, "error", f.col("day").cast("string").alias("day"), "labels", "repository", "diagnostics"),
    )  # fmt: skip
    return live.unionByName(wanted).withColumn(HOME, f.xxhash64(*EACH)).select(*COLUMNS)


def _text_column(value: str | None, name: str) -> Column:
    return f.lit(value).cast("string").alias(name)


def _rare_columns(where: Column, *columns: Column | str) -> Column:
    return f.when(where, f.to_json(f.struct(*columns))).alias("more")


def rows_by_target(table: pa.Table) -> Iterable[tuple[list[Row], list[Row]]]:
    """Turn the rows of one place into live and declared rows for each target of a run."""
    by_target: dict[tuple[str, str], tuple[list[Row], list[Row]]] = {}
    columns = (_python_values(table.column(name)) for name in COLUMNS[1:])
    for run, target, row, topology, key, body, number, file, more in zip(*columns, strict=True):
        live, wanted = by_target.get((run, target)) or by_target.setdefault((run, target), ([], []))
        if row is None:
            wanted.append(
                {"run": run, "target": target, "topology": topology, "address": key, "json": body, "file": file,
                 "line": number, **_rare_values(more)}
            )  # fmt: skip
        else:
            live.append(
                {"row": row, "scope": key, "json": body, "value": body, "revision": abs(number),
                 "deleted": number < 0, **_rare_values(more)}
            )  # fmt: skip
    return by_target.values()


_NOTHING: Mapping[str, Any] = dict.fromkeys(SELDOM)


def _rare_values(more: str | None) -> Mapping[str, Any]:
    if more is None:
        return _NOTHING
    values: Row = {**_NOTHING, **from_json(more)}
    micros, day, labels = values["at"], values["day"], values["labels"]
    return values | {
        "at": None if micros is None else _EPOCH + timedelta(microseconds=micros),
        "day": None if day is None else date.fromisoformat(day),
        "labels": None if labels is None else [*labels.items()],
    }


def _python_values(column: pa.ChunkedArray) -> list[Any]:
    """Convert values by the thousand: Arrow does that much faster than one by one."""
    if pa.types.is_integer(column.type):
        column = pc.fill_null(column, 0)
    values: list[Any] = column.to_numpy().tolist()
    return values
