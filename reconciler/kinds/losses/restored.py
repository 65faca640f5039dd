"""A stream or consumer that somebody restored from a backup: another object than the recorded one, and as old.

Nothing in a stream that somebody recreated is older than the record of the old one, or than its own creation. A restored
stream has messages that are, and keeps their numbers. Its consumers come back with it, at the positions of the backup; before
2.15 they show when the old ones were created. A mirror shows the times of its origin, so it tells nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.changes.change import Change
from reconciler.kinds.fields.times import moment, nanoseconds_between
from reconciler.model.resource import Json

SOON = 5_000_000_000
"""Nanoseconds within which the consumers of a restored stream are there, however many they are."""


def is_restored(change: Change) -> bool:
    """Is the live stream one that somebody restored, as far as anybody can tell?"""
    return bool(change.made_anew) and has_older_messages(change.info, change.record.written if change.record else "")


def has_older_messages(stream: Mapping[str, Json], written: str) -> bool:
    """Does the stream hold messages from before that time, or from before its own creation?"""
    config, state = stream.get("config") or {}, stream.get("state") or {}
    times = [time for time in (written, stream.get("created")) if time]
    if config.get("mirror") or config.get("sources") or not (times and state.get("messages") and state.get("first_ts")):
        return False
    return moment(state["first_ts"]) < max(map(moment, times))


def is_restored_consumer(change: Change, stream: Mapping[str, Json]) -> bool:
    """Did the live consumer come back with its stream?"""
    written, created = change.record.written if change.record else "", str(change.info.get("created") or "")
    if not (change.made_anew and created):
        return False
    if written and moment(created) < moment(written):
        return True
    return has_older_messages(stream, "") and 0 <= nanoseconds_between(str(stream["created"]), created) < SOON


def has_delivered_since(change: Change) -> bool:
    """A restored consumer tells no time of a delivery until it delivers again."""
    return any("last_active" in (change.info.get(name) or {}) for name in ("delivered", "ack_floor"))
