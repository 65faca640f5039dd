"""Copies of a stream that lag: mirrors, and streams with sources, such as the queues of groups. What they have yet to copy,
and what a work queue still stores for them.

The lag that a server reports leaves out what is on its way, and what did not fit into a full stream. From 2.14 on a durable
consumer of the server's own feeds each copy. Measured on 2.14.6 and 2.15.1: it acknowledges after 1_000 messages, or a second
after the last publish. Until then the queue keeps what its own consumers have acknowledged, and gives it to any consumer that
starts over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from reconciler.changes.amount import Amount, total
from reconciler.changes.view import View
from reconciler.kinds.fields.words import few, listed, some, verb
from reconciler.kinds.stream_config.origins import deleted_streams, is_fed_durably, streams_fed_now
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import hears_origin

NAMED = 3
USED = {"max_msgs": "messages", "max_bytes": "bytes"}


def reached_limit_text(info: Mapping[str, Json]) -> str | None:
    """The limit that a stream has reached, with its value."""
    config, state = info["config"], info.get("state") or {}
    for limit, used in USED.items():
        if 0 < (config.get(limit) or -1) <= state.get(used, 0):
            return f"{limit} {config[limit]:_}"
    return None


def lagging_copies(origin: str, view: View) -> list[str]:
    """Streams that have not yet copied everything from this one, and that exist once this plan is applied."""
    return [*uncopied_by_copy(origin, view)]


def uncopied_by_copy(origin: str, view: View) -> dict[str, Amount]:
    """How many messages of this stream each of those has yet to copy."""
    every = _uncopied_by_origin(view).get(origin, {})
    return {name: number for name, number in every.items() if name not in deleted_streams(view)}


def copies_taking_in(origin: str, view: View) -> list[str]:
    """Streams to which the server passes on right now what this one stores."""
    streams = view.snapshot.streams
    return sorted(
        name
        for name, info in streams.items()
        if any(copier.get("name") == origin and hears_origin(copier) for copier in _reported_copies(info))
    )


def lagging_text(origin: str, view: View) -> str:
    """Words after a semicolon; empty if no copy is behind."""
    names, numbers = lagging_copies(origin, view), uncopied_by_copy(origin, view).values()
    if not names:
        return ""
    have = verb(len(names), "have") if any(number.least for number in numbers) else "may have"
    named = names[:NAMED] + ([some(len(names) - NAMED, "other")] if len(names) > NAMED else [])
    copies = f"stream{'s' if len(names) > 1 else ''} {listed(named)}"
    return f"; {copies} {have} not yet copied all of {origin}, and may miss some of them"


@lru_cache(maxsize=4)
def _uncopied_by_origin(view: View) -> dict[str, dict[str, Amount]]:
    """Computed once per view."""
    by_origin: dict[str, dict[str, Amount]] = {}
    for name, info in sorted(view.snapshot.streams.items()):
        for copy in _reported_copies(info):
            origin = str(copy.get("name"))
            number, numbers = (
                _uncopied_messages(copy, info, view.snapshot.state_of(origin)),
                by_origin.setdefault(origin, {}),
            )
            if number is not None:
                numbers[name] = total([number, *([numbers[name]] if name in numbers else [])])
    return by_origin


def _uncopied_messages(copy: Mapping[str, Json], info: Mapping[str, Json], origin: Mapping[str, Json]) -> Amount | None:
    """None: it has copied everything. A full stream that keeps what it has may report no lag at all."""
    lag, stored = int(copy.get("lag") or 0), int(origin.get("messages", 0))
    is_full = info["config"].get("discard") == "new" and reached_limit_text(info) is not None
    is_mirror = copy is info.get("mirror")
    reached = (info.get("state") or {}).get("last_seq") if is_mirror else copy.get("seq")
    left = stored if reached is None else min(stored, max(0, int(origin.get("last_seq", 0)) - int(reached)))
    if not lag and not (is_full and left):
        return None
    return Amount(min(lag, left), left) if left >= lag or lag > stored else Amount(lag, stored)


def _reported_copies(info: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """What the server says of the copies that this account's streams make."""
    mirror = info.get("mirror")
    yield from (
        copy for copy in (*(info.get("sources") or ()), *([mirror] if mirror else ())) if not copy.get("external")
    )


ACKNOWLEDGED_AFTER = 1_000
"""Messages that the server's own consumers have in flight at most, where no stream limits it."""


def copies_keeping(stream: str, view: View) -> list[str]:
    """Copies for which the stream keeps messages that all of its own consumers have processed."""
    is_durable = is_fed_durably(view.snapshot.config_of(stream), view.target.version)
    return streams_fed_now(stream, view) if is_durable else []


def is_kept(stream: str, view: View) -> bool:
    """Is it a work queue that still stores what clients have processed?"""
    return view.snapshot.config_of(stream).get("retention") == "workqueue" and bool(copies_keeping(stream, view))


def keeping_sentence(stream: str, view: View) -> str:
    """How long the stream keeps what is processed, without the period."""
    copies = copies_keeping(stream, view)
    fed = view.snapshot.copiers.get(stream, {}).values()
    most = max((int(info["config"].get("max_ack_pending") or 0) for info in fed), default=0) or ACKNOWLEDGED_AFTER
    return (
        f"{stream} keeps what is processed until {few(copies)} {verb(len(copies), 'acknowledge')} it, after {some(most, 'message')} or a "
        "second after the last publish"
    )
