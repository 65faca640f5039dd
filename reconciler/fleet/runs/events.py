"""What servers reported about themselves, from the streams that captured it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reconciler.fleet.events.acks import acks
from reconciler.fleet.events.actors import actors
from reconciler.fleet.events.events import events, positions, together, unbroken
from reconciler.fleet.events.pins import pinnings, pins
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.fleet.runs.fleet_run import FleetRun


def told(look: FleetRun, stream: str | None = None) -> FleetFindings:
    """Read events. `stream` names the one that captures them; None: every one that does. Only new events are read."""
    look.say("Reading what servers reported …")
    before = look.store.read("events")
    options = {"since": json.dumps(positions(before))} | ({"stream": stream} if stream else {})
    messages = look.live("messages", **options).persist()
    # Servers keep events only for a while, and tonight a target may be unreachable: what was read before stays.
    known = look.whole("events", together(before, events(unbroken(messages))))
    silent = {row.target: row.error for row in messages.where("error is not null").collect()}
    messages.unpersist()
    stretches = look.whole("pinnings", pinnings(known))
    parts = {"pins": pins(stretches), "acks": acks(known), "actors": actors(known)}
    shown = look.shown(**{name: look.mine(look.whole(name, rows)) for name, rows in parts.items()})
    return look.found("events", shown, **_unread(look, silent))


def _unread(look: FleetRun, silent: Mapping[str, str]) -> dict[str, Any]:
    """Report targets without news: no report does not mean that nothing happened. Where no target reported anything,
    say that."""
    if len(silent) == len(look.fleet.targets):
        unread = (SeenTarget(name=one.name, labels=one.labels, error=silent[one.name]) for one in look.fleet.targets)
        return {"targets": tuple(unread)}
    return {
        "silent": silent,
        "following": tuple(f"`{name}` reported nothing new: {why}" for name, why in sorted(silent.items())),
    }
