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


def read_events(look: FleetRun, stream: str | None = None) -> FleetFindings:
    """Read events. `stream` names the one that captures them; None: every one that does. Only new events are read."""
    look.say("Reading what servers reported …")
    before = look.store.read("events")
    options = {"since": json.dumps(positions(before))} | ({"stream": stream} if stream else {})
    messages = look.live("messages", **options).persist()
    # Servers keep events only for a while, and tonight a target may be unreachable: what was read before stays.
    all_events = look.store_whole("events", merged_events(before, events(up_to_gaps(messages))))
    silent = {row.target: row.error for row in messages.where("error is not null").collect()}
    messages.unpersist()
    stretches = look.store_whole("pinnings", pinnings(all_events))
    parts = {"pins": pins(stretches), "acks": acks(all_events), "actors": actors(all_events)}
    shown = look.report_rows(**{name: look.of_selected(look.store_whole(name, rows)) for name, rows in parts.items()})
    return look.findings("events", shown, **_unread(look, silent))


def _unread(look: FleetRun, silent: Mapping[str, str]) -> dict[str, Any]:
    """Report targets without news: no report does not mean that nothing happened. Where no target reported anything,
    say that."""
    if len(silent) == len(look.fleet.targets):
        unread = (
            SeenTarget(name=target.name, labels=target.labels, error=silent[target.name])
            for target in look.fleet.targets
        )
        return {"targets": tuple(unread)}
    return {
        "silent": silent,
        "following": tuple(f"`{name}` reported nothing new: {why}" for name, why in sorted(silent.items())),
    }
