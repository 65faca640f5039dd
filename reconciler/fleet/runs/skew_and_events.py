"""`fleet skew` and `fleet events`: how keys would spread over partitions, and what servers reported of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from reconciler.fleet.events.events import (
    acks,
    actors,
    events,
    merged_events,
    pin_periods,
    pins_by_group,
    positions,
    up_to_gaps,
)
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.fleet.runs.fleet_run import FleetRun
from reconciler.fleet.skew import skew as falling
from reconciler.fleet.skew.candidates import Candidates
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.words.values import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """The origin of keys."""

    stream: str
    file: str | None = None
    """Parquet, or CSV with a head, with a column `subject`; None: the targets are asked."""


def skew(fleet_run: FleetRun, keys: Keys, candidates: Candidates) -> FleetFindings:
    """Read the subjects once, keep the counts, and add everything else up from them."""
    choices = counted(len(candidates.choices) * len(candidates.partitions), "candidate")
    fleet_run.say(f"Counting how keys spread for {choices} …")
    fallen = fleet_run.store_whole("falls", falling.falls(_subjects_of(fleet_run, keys), candidates))
    loads = fleet_run.store_whole("loads", falling.loads(fallen, falling.ownership_frame(fleet_run.spark, candidates)))
    even = fleet_run.store_whole("skew", falling.skew(fallen, loads))
    moved = fleet_run.store_whole("moves", falling.moves(fallen, falling.handovers_frame(fleet_run.spark, candidates)))
    return fleet_run.make_findings("skew", fleet_run.report_rows(skew=even, falls=fallen, moves=moved))


def _subjects_of(fleet_run: FleetRun, keys: Keys) -> DataFrame:
    if keys.file is None:
        return fleet_run.live("subjects", stream=keys.stream)
    rows = _rows_of_file(fleet_run.spark, keys.file)
    if "subject" not in rows.columns:
        raise _no_keys_error(keys.file, f"its columns are {', '.join(rows.columns)}")
    return falling.as_subjects(rows, target=keys.file.rstrip("/").rpartition("/")[2], stream=keys.stream)


def _rows_of_file(spark: SparkSession, file: str) -> DataFrame:
    is_text = file.endswith((".csv", ".csv.gz"))
    try:
        return spark.read.csv(file, header=True) if is_text else spark.read.parquet(file)
    except PySparkException as error:
        is_missing = error.getCondition() == "PATH_NOT_FOUND"
        raise _no_keys_error(file, "there is no such file" if is_missing else str(error).splitlines()[0]) from error


def _no_keys_error(file: str, why: str) -> CannotContinue:
    fix = "Name Parquet, or CSV with a head, that has a column `subject`."
    message = f"Keys cannot be read from {file}: {why}."
    return CannotContinue.because("FL112", "no-keys", message, fix=fix)


def read_events(fleet_run: FleetRun, stream: str | None = None) -> FleetFindings:
    """Read events. `stream` names the one that captures them; None: every one that does. Only new events are read."""
    fleet_run.say("Reading what servers reported …")
    before = fleet_run.store.read("events")
    options = {"since": json.dumps(positions(before))} | ({"stream": stream} if stream else {})
    messages = fleet_run.live("messages", **options).persist()
    # Servers keep events only for a while, and tonight a target may be unreachable: what was read before stays.
    all_events = fleet_run.store_whole("events", merged_events(before, events(up_to_gaps(messages))))
    silent = {row.target: row.error for row in messages.where("error is not null").collect()}
    messages.unpersist()
    stretches = fleet_run.store_whole("pinnings", pin_periods(all_events))
    parts = {"pins": pins_by_group(stretches), "acks": acks(all_events), "actors": actors(all_events)}
    shown = fleet_run.report_rows(
        **{name: fleet_run.rows_of_selected(fleet_run.store_whole(name, rows)) for name, rows in parts.items()}
    )
    return fleet_run.make_findings("events", shown, **_silent_targets_findings(fleet_run, silent))


def _silent_targets_findings(fleet_run: FleetRun, silent: Mapping[str, str]) -> dict[str, Any]:
    """Report targets without news: no report does not mean that nothing happened. Where no target reported anything,
    say that."""
    if len(silent) == len(fleet_run.fleet.targets):
        unread = (
            SeenTarget(name=target.name, labels=target.labels, error=silent[target.name])
            for target in fleet_run.fleet.targets
        )
        return {"targets": tuple(unread)}
    return {
        "silent": silent,
        "following": tuple(f"{name} reported nothing new: {why}" for name, why in sorted(silent.items())),
    }
