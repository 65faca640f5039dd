"""Streams that have not yet copied everything from another: mirrors, and streams with sources, such as the queues of
groups.

The plan says only whether they are behind, never by how much: a server does not count what is on its way or did not
fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from reconciler.changes.view import View
from reconciler.kinds.fields.words import listed, some
from reconciler.kinds.stream_config.origins import deleted_streams
from reconciler.model.resource import Json
from reconciler.model.wire.info import hears

NAMED = 3


def lagging(origin: str, view: View) -> list[str]:
    """Streams that have not yet copied everything from this one, and that exist once this plan is applied."""
    return [name for name in _lagging_by_origin(view).get(origin, []) if name not in deleted_streams(view)]


def taking_in(origin: str, view: View) -> list[str]:
    """Streams to which the server passes on right now what this one stores."""
    streams = view.snapshot.streams
    return sorted(
        name
        for name, info in streams.items()
        if any(copier.get("name") == origin and hears(copier) for copier in _reported_copies(info))
    )


def behind_in(origin: str, view: View) -> str:
    """Words after a semicolon; empty if no copy is behind."""
    names = lagging(origin, view)
    if not names:
        return ""
    named = names[:NAMED] + ([some(len(names) - NAMED, "other")] if len(names) > NAMED else [])
    copies = f"stream{'s' if len(names) > 1 else ''} {listed(named)}"
    return f"; {copies} {'have' if len(names) > 1 else 'has'} not yet copied all of {origin}, and may miss some of them"


@lru_cache(maxsize=4)
def _lagging_by_origin(view: View) -> dict[str, list[str]]:
    """Computed once per view."""
    by_origin: dict[str, list[str]] = {}
    for name, info in sorted(view.snapshot.streams.items()):
        for origin in dict.fromkeys(str(copy.get("name")) for copy in _reported_copies(info) if copy.get("lag")):
            by_origin.setdefault(origin, []).append(name)
    return by_origin


def _reported_copies(info: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    """What the server says of the copies that this account's streams make."""
    mirror = info.get("mirror")
    yield from (
        copy for copy in (*(info.get("sources") or ()), *([mirror] if mirror else ())) if not copy.get("external")
    )
