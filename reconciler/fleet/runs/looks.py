"""What fleet commands look at: all targets now (`snapshot`, `drift`), or what earlier looks left in the tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from reconciler.changes.kind import Registry
from reconciler.fleet.accounts.source import heavy_targets, snapshots
from reconciler.fleet.drift import summary
from reconciler.fleet.drift.desired import desired_rows, wanted_rows
from reconciler.fleet.drift.drift import drift, parts_for
from reconciler.fleet.drift.history import drift_history
from reconciler.fleet.drift.outliers import objects, outliers, with_peers
from reconciler.fleet.drift.summary import repairs, trend
from reconciler.fleet.events.capacity import capacity
from reconciler.fleet.report.drift import RUNS, TARGETS
from reconciler.fleet.report.findings import FleetFindings, Row, Rows
from reconciler.fleet.report.run_rows import Count, DriftEntry, Field, SeenTarget, TargetFinding
from reconciler.fleet.runs.fleet_run import MOST, FleetRun, collect_rows
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.rows import UNREMEMBERED
from reconciler.fleet.tables.tables import WANTED
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue, Severity
from reconciler.model.fields import FieldInfo, info_at
from reconciler.model.resource import Json
from reconciler.report.words.values import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reconciler.fleet.accounts.targets import FleetTarget

RECENT = 14
"""Days within which a complete look at a target still shows its size."""
ALSO = ("skew", "falls", "moves", "pins", "acks", "actors")
"""Tables of other commands, which a report shows where there are any."""
_TRIED = ("skew", "falls", "moves")
GROWTH = 30
"""Days from which growth is computed."""
LOST = "The store lacks what was read of it. Do all executors write to the same store?"


def snapshot(fleet_run: FleetRun) -> FleetFindings:
    """Read what each target holds, and keep it as this run's."""
    return fleet_run.make_findings(
        "snapshot", targets=with_lost_targets(fleet_run.fleet.targets, targets(_read_snapshots(fleet_run)))
    )


def compare(fleet_run: FleetRun) -> FleetFindings:
    """Compare each target with what was applied; keep live state, declarations and differences."""
    seen = _read_snapshots(fleet_run)
    fleet_run.say("Comparing with what was applied …")
    rows, texts = wanted_rows(fleet_run.fleet.targets)
    named = frame_of(fleet_run.spark, rows, WANTED)
    meant = fleet_run.store_look("desired", desired_rows(named, texts, run=fleet_run.run, day=fleet_run.day))
    entries = fleet_run.store_look("drift", drift(seen, meant, parts=parts_for(len(rows))))
    return fleet_run.make_findings(
        "drift", targets=with_lost_targets(fleet_run.fleet.targets, targets(seen)), **drift_found(entries)
    )


def _read_snapshots(fleet_run: FleetRun) -> DataFrame:
    fleet_run.say(f"Reading {counted(len(fleet_run.fleet.targets), 'target')} …")
    return fleet_run.store_look(
        "snapshots", snapshots(fleet_run.live(sizes=_sizes_as_json(fleet_run)), run=fleet_run.run, day=fleet_run.day)
    )


def _sizes_as_json(fleet_run: FleetRun) -> str:
    """Sizes of recently large targets: several tasks share the reading of them."""
    large = heavy_targets(fleet_run.store.read("snapshots"), since=fleet_run.day - timedelta(days=RECENT)).collect()
    return json.dumps({row["target"]: row["objects"] for row in large})


def targets(seen: DataFrame) -> tuple[SeenTarget, ...]:
    """Return the targets in SNAPSHOTS of one run."""
    rows = sorted(summary.targets(seen).collect(), key=itemgetter("target"))
    return tuple(seen_target(row.asDict()) for row in rows)


def with_lost_targets(selected: Iterable[FleetTarget], seen: Sequence[SeenTarget]) -> tuple[SeenTarget, ...]:
    """Return each target: every look leaves a row of each; one without any was lost between reading and storing."""
    names = {target.name for target in seen}
    lost = (
        SeenTarget(name=target.name, labels=target.labels, error=LOST)
        for target in selected
        if target.name not in names
    )
    return tuple(sorted((*seen, *lost), key=attrgetter("name")))


def drift_found(rows: DataFrame, most: int = MOST) -> dict[str, Any]:
    """Return the drift of one look at each target: this many rows are listed, and everything is counted."""
    worst = drift_entries(collect_rows(summary.worst_rows(rows, most)))
    looked = [row.asDict() for row in summary.objects_by_standing(rows).collect()]
    counts = tuple(count(row) for row in looked if row["standing"] != "compared")
    number = sum(count.objects for count in counts)
    return {
        "drift": worst,
        "counts": counts,
        "left_out": {"drift": number - len(worst)} if number > len(worst) else {},
        "compared": frozenset(row["target"] for row in looked if row["standing"] == "compared"),
        "unrecorded": {
            row["target"]: row["unrecorded"] for row in looked if row["standing"] == "compared" and row["unrecorded"]
        },
        "diagnostics": tuple(map(target_finding, collect_rows(summary.findings(rows, most)))),
    }


def history(fleet_run: FleetRun) -> FleetFindings:
    """Return what `fleet history` shows as of the newest run, or the named one, and write the tables that are computed for
    it. Raises CannotContinue where none is stored."""
    fleet_run, _ = with_newest_run(fleet_run)
    tables = fleet_run.report_rows(**_history_tables(fleet_run), capacity=_capacity(fleet_run))
    return fleet_run.make_findings("history", tables, by_target=_drifted_by_target(fleet_run, tables["trend"]))


def find_outliers(fleet_run: FleetRun, by: Sequence[str] = ()) -> FleetFindings:
    """Find outliers; `by` names the labels that make peers (none: all that a target carries)."""
    for name in by:
        _check_label(name, fleet_run)
    fleet_run, read = with_newest_run(fleet_run)
    rows, number = _outliers(fleet_run, read, by)
    tables = fleet_run.report_rows(outliers=rows)
    return fleet_run.make_findings("outliers", tables, with_peers=number, infos=field_infos(tables["outliers"]))


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
    return fleet_run.make_findings(
        "report", tables, _tables_of_other_commands(fleet_run), drift_found(fleet_run.rows_of_runs("drift", compared)) if compared else {},
        targets=targets(fleet_run.rows_of_runs("snapshots", read_runs)), earlier=_earlier_runs(fleet_run, read_runs, compared),
        by_target=_drifted_by_target(fleet_run, tables["trend"]), infos=field_infos(tables["outliers"]),
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
    mine = fleet_run.rows_of_selected(episodes)
    return {"trend": trend(fleet_run.rows_of_selected(drifted), mine), "history": mine, "repairs": repairs(mine)}


def _drifted_by_target(fleet_run: FleetRun, trend: Rows) -> dict[str, dict[str, int | None]]:
    """Drifted objects by run and target, as far as a page draws them; None where it could not be read."""
    drifted: dict[str, dict[str, int | None]] = {}
    runs = [str(run["run"]) for run in trend[-RUNS:]]
    for row in summary.drift_by_run_and_target(
        fleet_run.rows_of_selected(fleet_run.store.read("drift")), runs, TARGETS
    ).collect():
        drifted.setdefault(row["run"], {})[row["target"]] = row["objects"]
    return drifted


def _tables_of_other_commands(fleet_run: FleetRun) -> dict[str, Any]:
    """Tables about keys may cover only some targets; about keys that came from a file, no target."""
    tables = {name: fleet_run.store.read(name) for name in ALSO}
    chosen = {
        name: rows if name in _TRIED and not fleet_run.fleet.others else fleet_run.rows_of_selected(rows)
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
    number = fleet_run.rows_of_selected(with_peers(held, by=by)).count()
    held.unpersist()
    return fleet_run.rows_of_selected(rows), number


def _capacity(fleet_run: FleetRun) -> DataFrame:
    """As of this run. Rows older than the days for growth are not even parsed."""
    (last,) = collect_rows(fleet_run.rows_of_run("snapshots").agg(F.max("at").alias("at")))
    since = fleet_run.day - timedelta(days=GROWTH + 1)
    seen = fleet_run.rows_in_fleet(fleet_run.store.read("snapshots")).where(
        (F.col("day") >= F.lit(since)) & (F.col("at") <= F.lit(last["at"]))
    )
    rows = capacity(seen, days=GROWTH).withColumns({"run": F.lit(fleet_run.run), "day": F.lit(fleet_run.day)})
    return fleet_run.rows_of_selected(fleet_run.store_run("capacity", rows))


def seen_target(row: Row) -> SeenTarget:
    """Convert a row about what a target holds."""
    counted = () if row["error"] else ("streams", "consumers", "messages", "bytes", "unknown")
    counts = {name: int(row[name] or 0) for name in counted}
    return SeenTarget(
        name=row["target"], labels=dict(row["labels"] or {}), version=row["version"] or "", error=row["error"] or "",
        seconds=row["seconds"], **counts,
    )  # fmt: skip


def count(row: Row) -> Count:
    """Convert a row about the standing of a target's objects."""
    numbers = {name: row[name] for name in ("objects", "drifted", "unrecorded")}
    return Count(target=row["target"], standing=row["standing"], **numbers)


def drift_entries(rows: Iterable[Row], registry: Registry = REGISTRY) -> tuple[DriftEntry, ...]:
    """Convert rows of DRIFT: those of one object on one target become one."""
    by_object = itemgetter("target", "topology", "address")
    ordered = sorted(rows, key=lambda row: tuple(value or "" for value in by_object(row)))
    return tuple(_drift_entry([*same], registry) for _, same in groupby(ordered, key=by_object))


def target_finding(row: Row) -> TargetFinding:
    """Convert a row with the columns of FINDING."""
    return TargetFinding(
        target=row["target"], severity=Severity(row["severity"]), code=row["code"], name=row["name"], message=row["message"],
        address=row["address"] or "", place=_file_and_line(row), fix=row["fix"] or "",
    )  # fmt: skip


def _drift_entry(rows: Sequence[Row], registry: Registry) -> DriftEntry:
    """A row without a path is about the whole object; an unusable record is reported in addition."""
    first = min(rows, key=lambda row: (row["standing"] == UNREMEMBERED, row["path"] is not None))
    of_object = [row for row in rows if row["path"] is None and row["standing"] == first["standing"]]
    reasons = dict.fromkeys(row["reason"] for row in rows if row["reason"])
    verdicts = {verdict["code"]: verdict["message"] for row in rows for verdict in row["verdicts"] or ()}
    return DriftEntry(
        target=first["target"], standing=first["standing"], address=first["address"] or "", topology=first["topology"] or "",
        team=first["team"] or "", reason="; ".join(reasons), ignored=(of_object[0]["ignored"] or "") if of_object else "",
        verdicts=tuple(verdicts.items()), place=_file_and_line(first), error=first["error"] or "",
        fields=tuple(_field(row, registry) for row in rows if row["path"] is not None),
    )  # fmt: skip


def _field(row: Row, registry: Registry) -> Field:
    return Field(
        path=row["path"], field_class=row["class"], live=_parsed_value(row["live"]), desired=_parsed_value(row["desired"]),
        applied=_parsed_value(row["applied"]), drifted=bool(row["drifted"]), ignored=row["ignored"] or "",
        info=_field_info(row["kind"], row["path"], registry),
    )  # fmt: skip


def _field_info(kind: str, path: str, registry: Registry) -> FieldInfo:
    """The information that a comparison has."""
    known_kind = registry.by_name.get(kind)
    return info_at(known_kind.fields, path) if known_kind else FieldInfo()


def field_infos(rows: Iterable[Row], registry: Registry = REGISTRY) -> dict[tuple[str, str], FieldInfo]:
    """Return the information about fields, from rows that name a kind and a path."""
    named = {(row["kind"], row["path"]) for row in rows if row["path"] is not None}
    return {(kind, path): _field_info(kind, path, registry) for kind, path in named}


def _parsed_value(text: str | None) -> Json:
    return None if text is None else json.loads(text)


def _file_and_line(row: Row) -> str:
    return f"{row['file']}:{row['line']}" if row["file"] else ""
