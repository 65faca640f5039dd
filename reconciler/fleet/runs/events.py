"""What servers told about themselves, out of the streams that captured it."""

from __future__ import annotations

from reconciler.fleet.acks import acks
from reconciler.fleet.actors import actors
from reconciler.fleet.events import events
from reconciler.fleet.pins import pinnings, pins
from reconciler.fleet.runs.look import Look, collected
from reconciler.report.fleet.found import Found


def told(look: Look, stream: str | None = None) -> Found:
    """`stream`: the one that captures them; None: every one that does."""
    look.say("Reading what servers told …")
    messages = look.live("messages", **({"stream": stream} if stream else {}))
    known = look.whole("events", events(messages.where("error is null")))
    stretches = look.whole("pinnings", pinnings(known))
    parts = {"pins": pins(stretches), "acks": acks(known), "actors": actors(known)}
    kept = {name: look.whole(name, rows) for name, rows in parts.items()}
    latest = kept["actors"].orderBy("at", ascending=False)
    return look.found("events", **{name: collected(rows) for name, rows in (kept | {"actors": latest}).items()})
