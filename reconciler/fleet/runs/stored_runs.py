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
from reconciler.fleet.runs import collected as told
from reconciler.fleet.runs.fleet_run import FleetRun, collected
from reconciler.fleet.runs.snapshot_and_drift import strayed_of, targets
from reconciler.model.diagnostic import CannotContinue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALSO = ("skew", "falls", "moves", "pins", "acks", "actors")
"""Tables of other commands, which a report shows where there are any."""
_TRIED = ("skew", "falls", "moves")
GROWTH = 30
"""Days from which growth is computed."""


def history(look: FleetRun) -> FleetFindings:
    """Return what `fleet history` shows as of the newest run, or the named one. Raises CannotContinue where none is
    stored."""
    look, _ = at_newest(look)
    found = look.shown(**_past(look), capacity=_capacity(look))
    return look.found("history", found, by_target=_by_target(look, found["trend"]))


def unlike(look: FleetRun, by: Sequence[str] = ()) -> FleetFindings:
    """Find outliers; `by` names the labels that make peers (none: all that a target carries)."""
    for name in by:
        _known(name, look)
    look, read = at_newest(look)
    rows, number = _outliers(look, read, by)
    found = look.shown(outliers=rows)
    return look.found("outliers", found, with_peers=number, infos=told.infos(found["outliers"]))


def _known(label: str, look: FleetRun) -> None:
    """Refuse an unknown label: without peers nothing would be found, as if all were well."""
    labels = sorted({name for target in (*look.fleet.targets, *look.fleet.others) for name in target.labels})
    if label not in labels:
        fix = f"Use one of {', '.join(labels)}." if labels else "Give the targets labels in fleet.yaml."
        raise CannotContinue.because("FL113", "no-label", f"No target has the label `{label}`.", fix=fix)


def report(look: FleetRun) -> FleetFindings:
    """Return everything. Which parts there are depends on which commands have run."""
    look, read = at_newest(look)
    look.say("Putting the report together …")
    rows, number = _outliers(look, read)
    found = look.shown(**_past(look), outliers=rows, capacity=_capacity(look))
    names = {one.name for one in look.fleet.targets}
    declared = {one.name for one in look.fleet.targets if one.topology}
    read = tuple(one for one in read if one["target"] in names)
    compared = tuple(one for one in look.newest("drift") if one["target"] in declared)
    return look.found(
        "report", found, _also(look), strayed_of(look.latest("drift", compared)) if compared else {},
        targets=targets(look.latest("snapshots", read)), earlier=_earlier(look, read, compared),
        by_target=_by_target(look, found["trend"]), infos=told.infos(found["outliers"]),
        with_peers=number,
    )  # fmt: skip


def at_newest(look: FleetRun) -> tuple[FleetRun, Rows]:
    """Settle the run: the named one, otherwise the newest with its day; and which run looked last at each target."""
    newest = look.newest("snapshots")
    if not newest:
        what = f"The store has no run {look.run}" if look.is_named else "The store has no look at these targets"
        fix = "Take a look with `reconciler fleet drift`, or name with --store the place of earlier ones."
        raise CannotContinue.because("FL111", "no-run", f"{what}.", fix=fix)
    last = max(newest, key=lambda one: (one["at"].timestamp() if one["at"] else 0.0, one["run"]))
    return replace(look, run=last["run"], day=last["day"] or look.day), newest


def _past(look: FleetRun) -> dict[str, DataFrame]:
    """Computed for all targets, shown for the selected ones."""
    drifted = look.store.read("drift")
    desired, before = look.store.read("desired"), look.store.read("drift_history")
    episodes = look.whole("drift_history", drift_history(drifted, desired, before))
    look.whole("repairs", repairs(episodes))
    mine = look.mine(episodes)
    return {"trend": trend(look.mine(drifted), mine), "history": mine, "repairs": repairs(mine)}


def _by_target(look: FleetRun, trend: Rows) -> dict[str, dict[str, int | None]]:
    """Drifted objects by run and target, as far as a page draws them; None where it could not be read."""
    found: dict[str, dict[str, int | None]] = {}
    runs = [str(one["run"]) for one in trend[-RUNS:]]
    for row in summary.cells(look.mine(look.store.read("drift")), runs, TARGETS).collect():
        found.setdefault(row["run"], {})[row["target"]] = row["objects"]
    return found


def _also(look: FleetRun) -> dict[str, Any]:
    """Tables about keys may cover only some targets, and those about keys of a file cover none."""
    tables = {name: look.store.read(name) for name in ALSO}
    chosen = {
        name: rows if name in _TRIED and not look.fleet.others else look.mine(rows) for name, rows in tables.items()
    }
    return {name: rows for name, rows in look.shown(**chosen).items() if rows}


def _earlier(look: FleetRun, read: Rows, compared: Rows) -> Rows:
    """The targets that the run was not about, by the run that was. A target that declares nothing is compared with
    nothing."""
    declared = [one.name for one in look.fleet.targets if one.topology] if compared else []
    last = (("read", read, [one.name for one in look.fleet.targets]), ("compared", compared, declared))
    return tuple({"what": what, **row} for what, newest, names in last for row in _elsewhere(look.run, newest, names))


def _elsewhere(run: str, newest: Rows, names: Sequence[str]) -> Iterator[Row]:
    runs: dict[str, list[Row]] = {}
    for one in newest:
        runs.setdefault(one["run"], []).append(one)
    if never := sorted({*names} - {one["target"] for one in newest}):
        yield {"targets": never}
    for name in sorted({*runs} - {run}):
        at = max((one["at"] for one in runs[name] if one["at"]), default=None)
        yield {"run": name, "at": at, "targets": [one["target"] for one in runs[name]]}


def _outliers(look: FleetRun, read: Rows, by: Sequence[str] = ()) -> tuple[DataFrame, int]:
    """Compare among all known targets, because peers may not be selected; and count the selected targets that have
    any."""
    latest = look.latest("snapshots", read).withColumns({"run": F.lit(look.run), "day": F.lit(look.day)})
    held = objects(latest).persist()
    rows = look.kept("outliers", outliers(held, by=by))
    number = look.mine(with_peers(held, by=by)).count()
    held.unpersist()
    return look.mine(rows), number


def _capacity(look: FleetRun) -> DataFrame:
    """As of this run. Rows older than the days for growth are not even parsed."""
    (last,) = collected(look.of_run("snapshots").agg(F.max("at").alias("at")))
    since = look.day - timedelta(days=GROWTH + 1)
    seen = look.ours(look.store.read("snapshots")).where(
        (F.col("day") >= F.lit(since)) & (F.col("at") <= F.lit(last["at"]))
    )
    rows = capacity(seen, days=GROWTH).withColumns({"run": F.lit(look.run), "day": F.lit(look.day)})
    return look.mine(look.kept("capacity", rows))
