"""`fleet history`, `fleet outliers` and `fleet report`: what earlier looks left in the tables. No target is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from reconciler.fleet.drift import summary
from reconciler.fleet.drift.history import drift_history
from reconciler.fleet.drift.outliers import objects, outliers, with_peers
from reconciler.fleet.drift.summary import repairs, trend
from reconciler.fleet.events.capacity import capacity
from reconciler.fleet.report.drift_trend import RUNS, TARGETS
from reconciler.fleet.report.findings import FleetFindings, Row, Rows
from reconciler.fleet.runs import collected
from reconciler.fleet.runs.fleet_run import FleetRun, collect_rows
from reconciler.fleet.runs.snapshot_and_drift import strayed_of, targets
from reconciler.model.diagnostic import CannotContinue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALSO = ("skew", "falls", "moves", "pins", "acks", "actors")
"""Tables of other commands, which a report shows where there are any."""
_TRIED = ("skew", "falls", "moves")
GROWTH = 30
"""Days from which growth is computed."""


def history(fleet_run: FleetRun) -> FleetFindings:
    """Return what `fleet history` shows as of the newest run, or the named one, and write the tables that are computed for
    it. Raises CannotContinue where none is
    stored."""
    fleet_run, _ = with_newest_run(fleet_run)
    tables = fleet_run.report_rows(**_history_tables(fleet_run), capacity=_capacity(fleet_run))
    return fleet_run.conclude("history", tables, by_target=_drifted_by_target(fleet_run, tables["trend"]))


def find_outliers(fleet_run: FleetRun, by: Sequence[str] = ()) -> FleetFindings:
    """Find outliers; `by` names the labels that make peers (none: all that a target carries)."""
    for name in by:
        _check_label(name, fleet_run)
    fleet_run, read = with_newest_run(fleet_run)
    rows, number = _outliers(fleet_run, read, by)
    tables = fleet_run.report_rows(outliers=rows)
    return fleet_run.conclude("outliers", tables, with_peers=number, infos=collected.field_infos(tables["outliers"]))


def _check_label(label: str, fleet_run: FleetRun) -> None:
    """Refuse an unknown label: without peers nothing would be found, as if all were well."""
    labels = sorted({name for target in (*fleet_run.fleet.targets, *fleet_run.fleet.others) for name in target.labels})
    if label not in labels:
        fix = f"Use one of {', '.join(labels)}." if labels else "Give the targets labels in fleet.yaml."
        raise CannotContinue.because("FL113", "no-label", f"No target has the label `{label}`.", fix=fix)


def compile_report(fleet_run: FleetRun) -> FleetFindings:
    """Return all that `fleet report` shows, and write the tables that are computed for it. Which parts there are depends on
    which commands have run."""
    fleet_run, read_runs = with_newest_run(fleet_run)
    fleet_run.say("Putting the report together …")
    rows, number = _outliers(fleet_run, read_runs)
    tables = fleet_run.report_rows(**_history_tables(fleet_run), outliers=rows, capacity=_capacity(fleet_run))
    names = {target.name for target in fleet_run.fleet.targets}
    declared = {target.name for target in fleet_run.fleet.targets if target.topology}
    read_runs = tuple(target for target in read_runs if target["target"] in names)
    compared = tuple(target for target in fleet_run.newest_runs("drift") if target["target"] in declared)
    return fleet_run.conclude(
        "report", tables, _tables_of_other_commands(fleet_run), strayed_of(fleet_run.rows_of_runs("drift", compared)) if compared else {},
        targets=targets(fleet_run.rows_of_runs("snapshots", read_runs)), earlier=_earlier_runs(fleet_run, read_runs, compared),
        by_target=_drifted_by_target(fleet_run, tables["trend"]), infos=collected.field_infos(tables["outliers"]),
        with_peers=number,
    )  # fmt: skip


def with_newest_run(fleet_run: FleetRun) -> tuple[FleetRun, Rows]:
    """Settle the run: the named one, otherwise the newest with its day; and which run looked last at each target."""
    newest = fleet_run.newest_runs("snapshots")
    if not newest:
        missing = (
            f"The store has no run {fleet_run.run}" if fleet_run.is_named else "The store has no look at these targets"
        )
        fix = "Take a look with `reconciler fleet drift`, or name with --store the place of earlier ones."
        raise CannotContinue.because("FL111", "no-run", f"{missing}.", fix=fix)
    last = max(newest, key=lambda row: (row["at"].timestamp() if row["at"] else 0.0, row["run"]))
    return replace(fleet_run, run=last["run"], day=last["day"] or fleet_run.day), newest


def _history_tables(fleet_run: FleetRun) -> dict[str, DataFrame]:
    """Computed for all targets, shown for the selected ones."""
    drifted = fleet_run.store.read("drift")
    desired, before = fleet_run.store.read("desired"), fleet_run.store.read("drift_history")
    episodes = fleet_run.store_whole("drift_history", drift_history(drifted, desired, before))
    fleet_run.store_whole("repairs", repairs(episodes))
    mine = fleet_run.of_selected(episodes)
    return {"trend": trend(fleet_run.of_selected(drifted), mine), "history": mine, "repairs": repairs(mine)}


def _drifted_by_target(fleet_run: FleetRun, trend: Rows) -> dict[str, dict[str, int | None]]:
    """Drifted objects by run and target, as far as a page draws them; None where it could not be read."""
    drifted: dict[str, dict[str, int | None]] = {}
    runs = [str(run["run"]) for run in trend[-RUNS:]]
    for row in summary.drift_by_run_and_target(
        fleet_run.of_selected(fleet_run.store.read("drift")), runs, TARGETS
    ).collect():
        drifted.setdefault(row["run"], {})[row["target"]] = row["objects"]
    return drifted


def _tables_of_other_commands(fleet_run: FleetRun) -> dict[str, Any]:
    """Tables about keys may cover only some targets; about keys that came from a file, no target."""
    tables = {name: fleet_run.store.read(name) for name in ALSO}
    chosen = {
        name: rows if name in _TRIED and not fleet_run.fleet.others else fleet_run.of_selected(rows)
        for name, rows in tables.items()
    }
    return {name: rows for name, rows in fleet_run.report_rows(**chosen).items() if rows}


def _earlier_runs(fleet_run: FleetRun, read: Rows, compared: Rows) -> Rows:
    """The targets that the run was not about, by the run that was. A target that declares nothing is compared with
    nothing."""
    declared = [target.name for target in fleet_run.fleet.targets if target.topology] if compared else []
    last = (("read", read, [target.name for target in fleet_run.fleet.targets]), ("compared", compared, declared))
    return tuple(
        {"what": how, **row} for how, newest, names in last for row in _other_runs(fleet_run.run, newest, names)
    )


def _other_runs(run: str, newest: Rows, names: Sequence[str]) -> Iterator[Row]:
    runs: dict[str, list[Row]] = {}
    for row in newest:
        runs.setdefault(row["run"], []).append(row)
    if never := sorted({*names} - {row["target"] for row in newest}):
        yield {"targets": never}
    for name in sorted({*runs} - {run}):
        latest = max((row["at"] for row in runs[name] if row["at"]), default=None)
        yield {"run": name, "at": latest, "targets": [row["target"] for row in runs[name]]}


def _outliers(fleet_run: FleetRun, read: Rows, by: Sequence[str] = ()) -> tuple[DataFrame, int]:
    """Compare among all known targets, because peers may not be selected; and count the selected targets that have
    any."""
    latest = fleet_run.rows_of_runs("snapshots", read).withColumns(
        {"run": F.lit(fleet_run.run), "day": F.lit(fleet_run.day)}
    )
    held = objects(latest).persist()
    rows = fleet_run.store_run("outliers", outliers(held, by=by))
    number = fleet_run.of_selected(with_peers(held, by=by)).count()
    held.unpersist()
    return fleet_run.of_selected(rows), number


def _capacity(fleet_run: FleetRun) -> DataFrame:
    """As of this run. Rows older than the days for growth are not even parsed."""
    (last,) = collect_rows(fleet_run.rows_of_run("snapshots").agg(F.max("at").alias("at")))
    since = fleet_run.day - timedelta(days=GROWTH + 1)
    seen = fleet_run.of_fleet(fleet_run.store.read("snapshots")).where(
        (F.col("day") >= F.lit(since)) & (F.col("at") <= F.lit(last["at"]))
    )
    rows = capacity(seen, days=GROWTH).withColumns({"run": F.lit(fleet_run.run), "day": F.lit(fleet_run.day)})
    return fleet_run.of_selected(fleet_run.store_run("capacity", rows))
