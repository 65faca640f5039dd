"""What servers reported about themselves, from the streams that captured it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reconciler.fleet.events.acks import acks
from reconciler.fleet.events.actors import actors
from reconciler.fleet.events.events import events, merged_events, positions, up_to_gaps
from reconciler.fleet.events.pins import pinnings, pins
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.fleet.runs.fleet_run import FleetRun


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
    stretches = fleet_run.store_whole("pinnings", pinnings(all_events))
    parts = {"pins": pins(stretches), "acks": acks(all_events), "actors": actors(all_events)}
    shown = fleet_run.report_rows(
        **{name: fleet_run.of_selected(fleet_run.store_whole(name, rows)) for name, rows in parts.items()}
    )
    return fleet_run.conclude("events", shown, **_silent_targets_findings(fleet_run, silent))


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
        "following": tuple(f"`{name}` reported nothing new: {why}" for name, why in sorted(silent.items())),
    }
