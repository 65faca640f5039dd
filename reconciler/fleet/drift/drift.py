"""Snapshots × desired → drift. Spark brings the rows of each target together, and the engine compares them.

A target's rows arrive one after another and are dropped as soon as it is compared: memory holds one account per core,
however many there are.

Rows of one target → rows of drift: the same look as `reconciler drift`, with rows on both sides.

A target that could not be read, or not compared with its topology, becomes one row that says so; so does one that should
hold nothing.

Live and declared rows in one table of few columns, on their way from Spark to Python.

Spark handles each column of each row that it hands over, nulls too, which is half of the cost. So values that never
occur together share a column, and rare values are packed into one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import from_json, to_json
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import to_arrow_schema

from reconciler.changes.change import FieldClass
from reconciler.changes.kind import Registry
from reconciler.changes.verdict import Verdict
from reconciler.fleet.accounts.rows import snapshot_of
from reconciler.fleet.drift.desired import TEAM, finding_columns, topology_of_rows
from reconciler.fleet.tables.rows import UNCOMPARED, UNREACHABLE, UNREMEMBERED
from reconciler.fleet.tables.tables import DRIFT
from reconciler.journeys.drift.drift import Drift, FieldDrift, Item, Standing
from reconciler.journeys.drift.look import look
from reconciler.kinds import REGISTRY
from reconciler.memory.remembered import UNUSABLE
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Json
from reconciler.model.run_options import Origin, RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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


Drifted = dict[str, Any]
"""Columns of DRIFT by name; a missing value is null."""
COMPARED, UNDECLARED = "compared", "undeclared"
ALL_UNREMEMBERED = f"bucket {BUCKET} could not be read, so everything was compared with the files alone"


def drift_rows(live: Sequence[Row], wanted: Sequence[Row], registry: Registry = REGISTRY) -> Iterator[Drifted]:
    """Compare one target. `live` are rows of SNAPSHOTS, `wanted` rows of DESIRED, all of one target in one run, in any
    order."""
    if not wanted:
        return
    snapshot = _snapshot_or_reason(live)
    time = next((row["at"] for row in live if row["at"] is not None), None)
    for rows in _by_topology(wanted):
        header = next((row for row in rows if row["address"] is None), rows[0])
        around = {name: header[name] for name in ("run", "day", "target", "labels", "topology")} | {"at": time}
        is_nothing = header["topology"] is None and header["error"] is None
        drifted_rows = [{"standing": UNDECLARED}] if is_nothing else _rows_of_look(header, rows, snapshot, registry)
        yield from ({**around, **columns} for columns in drifted_rows)


def _snapshot_or_reason(live: Sequence[Row]) -> Snapshot | str:
    if not live:
        return "this run took no snapshot of it"
    try:
        return snapshot_of(live)
    except (ValueError, TypeError, KeyError) as error:
        return f"its snapshot cannot be read: {error}"


def _by_topology(rows: Iterable[Row]) -> Iterable[list[Row]]:
    by_topology: dict[str | None, list[Row]] = {}
    for row in rows:
        by_topology.setdefault(row["topology"], []).append(row)
    return by_topology.values()


def _rows_of_look(header: Row, rows: Sequence[Row], snapshot: Snapshot | str, registry: Registry) -> Iterable[Drifted]:
    if isinstance(snapshot, str):
        return [{"standing": UNREACHABLE, "error": snapshot}]
    if header["error"] is not None:
        return [_uncompared_row(header["error"])]
    if header["address"] is not None:
        return [_uncompared_row("its declarations are incomplete: the row of the topology itself is missing")]
    try:
        topology = topology_of_rows(rows, registry)
        options = RunOptions(today=snapshot.target.day or header["day"], origin=Origin(repository=header["repository"]))
        drift = look(topology, snapshot, options, registry).drift
    except CannotContinue as refusal:
        return [
            _uncompared_row("; ".join(f"{diagnostic.code} {diagnostic.message}" for diagnostic in refusal.diagnostics))
        ]
    except Exception as error:  # noqa: BLE001 - what one account holds must not end the look at a thousand others
        return [_uncompared_row(f"it could not be compared: {type(error).__name__}: {error}")]
    return _rows_of_drift(drift, _team_by_address(header, topology), header["diagnostics"] or ())


def _uncompared_row(why: str) -> Drifted:
    return {"standing": UNCOMPARED, "error": why}


def _team_by_address(header: Row, topology: Topology) -> Callable[[str], str | None]:
    """The team of each object; an object without one belongs to the target's team."""
    otherwise = dict(header["labels"] or {}).get(TEAM)

    @cache
    def own_teams() -> dict[str, str | None]:
        return {str(resource.address): resource.spec.labels.get(TEAM, otherwise) for resource in topology.resources}

    return lambda address: own_teams().get(address, otherwise)


def _rows_of_drift(drift: Drift, team: Callable[[str], str | None], of_files: Sequence[Row]) -> Iterator[Drifted]:
    findings = [*of_files, *map(finding_columns, drift.diagnostics)]
    quantities = {**drift.counts, "without_record": drift.unrecorded}
    yield {"standing": COMPARED, "quantities": quantities, "diagnostics": findings or None}
    yield from _unknown_rows(drift, team)
    for item in drift.items:
        around = {**_object_columns(item.address, team), "standing": item.standing.value, "reason": item.reason or None}
        yield from ({**around, **row} for row in _rows_of_item(item))


def _unknown_rows(drift: Drift, team: Callable[[str], str | None]) -> Iterator[Drifted]:
    """Where the applied values are unknown, show differences from the file, without a history. An unusable record
    leaves nothing unread: its object may be another topology's, or as the file says."""
    if not drift.ledger_known:
        yield {"standing": Standing.UNKNOWN.value, "reason": ALL_UNREMEMBERED}
    for finding in drift.diagnostics:
        if finding.address and finding.code in UNUSABLE:
            lost = {"standing": UNREMEMBERED, "reason": finding.message, "codes": [finding.code]}
            yield _object_columns(finding.address, team) | lost


def _object_columns(address: str, team: Callable[[str], str | None]) -> Drifted:
    return {"address": address, "kind": address.partition("/")[0], "team": team(address)}


def _rows_of_item(item: Item) -> Iterator[Drifted]:
    """Yield a row for the object where it drifted as a whole or is unknown, and one for each of its fields."""
    if item.standing.is_whole or not item.fields:
        yield {
            "drifted": item.standing.is_whole, "ignored": item.ignored or None, **_verdict_columns(item.verdicts), **_place_columns(item),
        }  # fmt: skip
    for index, field in enumerate(item.fields):
        # findings about no field go to the first, unless there is a row for the whole
        more = item.verdicts if index == 0 and not item.standing.is_whole else ()
        yield {
            "path": field.path, "class": field.change.field_class.value, "drifted": field.drifted,
            "live": _json_text(field.change.live), "desired": _json_text(field.change.desired),
            "applied": _json_text(_recorded_value(field)), "ignored": field.ignored or None,
            **_verdict_columns((*field.verdicts, *more)), **_place_columns(field),
        }  # fmt: skip


def _recorded_value(field: FieldDrift) -> Json:
    """The value that was applied, as far as a record tells."""
    return None if field.change.field_class is FieldClass.PLAIN else field.applied


def _verdict_columns(verdicts: Sequence[Verdict]) -> Drifted:
    quantities = dict(chain.from_iterable(verdict.quantities.items() for verdict in verdicts))
    return {
        "codes": list(dict.fromkeys(verdict.code for verdict in verdicts)),
        "verdicts": [
            {"code": verdict.code, "name": verdict.name, "outcome": verdict.outcome.value, "message": verdict.message}
            for verdict in verdicts
        ],
        "quantities": quantities or None,
    }


def _place_columns(item: Item | FieldDrift) -> Drifted:
    return {"file": item.span.file, "line": item.span.line} if item.span else {}


def _json_text(value: Json) -> str | None:
    return None if value is None else to_json(value).decode()


EACH = ("run", "target")
HOME = "home"
"""A number for each target of a run: quick to sort by; targets that share one are distinguished by their names."""
COLUMNS = (HOME, *EACH, "row", "topology", "key", "body", "number", "file", "more")
"""`row` is null in declared rows. `number` is a line, or a revision, which is below zero for a deleted entry. `file` is
that of a declared row, or when an entry was stored. `more` is JSON."""
SELDOM = ("error", "at", "day", "labels", "repository", "diagnostics")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""As rows of SNAPSHOTS and of DESIRED, with all that comparing needs of them."""


def merged_rows(snapshots: DataFrame, desired: DataFrame) -> DataFrame:
    """SNAPSHOTS × DESIRED, a row of either each."""
    is_account = f.col("row").isin("target", "error")
    live = snapshots.select(
        *EACH, "row", _text_column(None, "topology"), f.col("scope").alias("key"),
        f.coalesce("value", f.col("json").cast("binary")).alias("body"),
        f.when(f.col("deleted"), -f.col("revision")).otherwise(f.col("revision")).alias("number"),
        f.col("stored").alias("file"),
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


def rows_by_target(table: pa.Table) -> Iterable[tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """Turn the rows of one place into live and declared rows for each target of a run."""
    by_target: dict[tuple[str, str], tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
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
                 "deleted": number < 0, "stored": file, **_rare_values(more)}
            )  # fmt: skip
    return by_target.values()


_NOTHING: Mapping[str, Any] = dict.fromkeys(SELDOM)


def _rare_values(more: str | None) -> Mapping[str, Any]:
    if more is None:
        return _NOTHING
    values: dict[str, Any] = {**_NOTHING, **from_json(more)}
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
