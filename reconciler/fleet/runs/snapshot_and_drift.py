"""`fleet snapshot` and `fleet drift`: one look at all targets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from reconciler.fleet.accounts.source import heavy_targets, snapshots
from reconciler.fleet.drift import summary
from reconciler.fleet.drift.desired import desired_rows, wanted_rows
from reconciler.fleet.drift.drift import drift, parts_for
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.fleet.runs import collected
from reconciler.fleet.runs.fleet_run import MOST, FleetRun, collect_rows
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import WANTED
from reconciler.report.words.values import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from reconciler.fleet.accounts.targets import FleetTarget


def snapshot(fleet_run: FleetRun) -> FleetFindings:
    """Read what each target holds, and keep it as this run's."""
    return fleet_run.conclude(
        "snapshot", targets=all_selected(fleet_run.fleet.targets, targets(_read_snapshots(fleet_run)))
    )


def compare(fleet_run: FleetRun) -> FleetFindings:
    """Compare each target with what was applied; keep live state, declarations and differences."""
    seen = _read_snapshots(fleet_run)
    fleet_run.say("Comparing with what was applied …")
    rows, texts = wanted_rows(fleet_run.fleet.targets)
    named = frame_of(fleet_run.spark, rows, WANTED)
    meant = fleet_run.store_look("desired", desired_rows(named, texts, run=fleet_run.run, day=fleet_run.day))
    strayed = fleet_run.store_look("drift", drift(seen, meant, parts=parts_for(len(rows))))
    return fleet_run.conclude(
        "drift", targets=all_selected(fleet_run.fleet.targets, targets(seen)), **strayed_of(strayed)
    )


def _read_snapshots(fleet_run: FleetRun) -> DataFrame:
    fleet_run.say(f"Reading {counted(len(fleet_run.fleet.targets), 'target')} …")
    return fleet_run.store_look(
        "snapshots", snapshots(fleet_run.live(sizes=_sizes_as_json(fleet_run)), run=fleet_run.run, day=fleet_run.day)
    )


RECENT = 14
"""Days within which a complete look at a target still shows its size."""


def _sizes_as_json(fleet_run: FleetRun) -> str:
    """Sizes of recently large targets: several tasks share the reading of them."""
    large = heavy_targets(fleet_run.store.read("snapshots"), since=fleet_run.day - timedelta(days=RECENT)).collect()
    return json.dumps({row["target"]: row["objects"] for row in large})


def targets(seen: DataFrame) -> tuple[SeenTarget, ...]:
    """Return the targets in SNAPSHOTS of one run."""
    rows = sorted(summary.targets(seen).collect(), key=itemgetter("target"))
    return tuple(collected.seen_target(row.asDict()) for row in rows)


LOST = "The store lacks what was read of it. Do all executors write to the same store?"


def all_selected(selected: Iterable[FleetTarget], seen: Sequence[SeenTarget]) -> tuple[SeenTarget, ...]:
    """Return each target: every look leaves a row of each; one without any was lost between reading and storing."""
    names = {target.name for target in seen}
    lost = (
        SeenTarget(name=target.name, labels=target.labels, error=LOST)
        for target in selected
        if target.name not in names
    )
    return tuple(sorted((*seen, *lost), key=attrgetter("name")))


def strayed_of(rows: DataFrame, most: int = MOST) -> dict[str, Any]:
    """Return the drift of one look at each target: this many rows are listed, and everything is counted."""
    worst = collected.strayed_objects(collect_rows(summary.worst_rows(rows, most)))
    looked = [row.asDict() for row in summary.objects_by_standing(rows).collect()]
    counts = tuple(collected.count(row) for row in looked if row["standing"] != "compared")
    number = sum(count.objects for count in counts)
    return {
        "strayed": worst,
        "counts": counts,
        "left_out": {"drift": number - len(worst)} if number > len(worst) else {},
        "compared": frozenset(row["target"] for row in looked if row["standing"] == "compared"),
        "unrecorded": {
            row["target"]: row["unrecorded"] for row in looked if row["standing"] == "compared" and row["unrecorded"]
        },
        "diagnostics": tuple(map(collected.target_finding, collect_rows(summary.findings(rows, most)))),
    }
