"""What a watch reports: a line for everything that differs from the last look, for people or (as JSON lines) for
tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from reconciler.journeys.drift.drift import Drift, FieldDrift, Item
from reconciler.journeys.drift.text import in_sync, place, said_of_field, said_of_item, sums
from reconciler.model.diagnostic import Diagnostic
from reconciler.report.codec.json import json_line
from reconciler.report.codec.shape import data_of
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible


class Key(NamedTuple):
    address: str
    path: str = ""


class WatchLine(NamedTuple):
    """One event."""

    event: str
    """`drift`, `resolved`, `clear`, `watching`, `lost`, `back` or `wrong`."""
    text: str
    data: Mapping[str, Any]


def changes(before: Drift | None, now: Drift) -> Iterator[WatchLine]:
    """Return what differs; the first look reports the state of everything."""
    was, is_ = (_strayed(before) if before else {}), _strayed(now)
    if before is None:
        yield WatchLine("watching", f"{place(now)}: {sums(now)}", {"summary": now.counts})
    for key, (item, field) in is_.items():
        text = _said(item, field)
        if key not in was or _is_news(was[key], (item, field)):
            yield WatchLine("drift", f"{visible(item.address)} {text}", _data(item, field))
    for key in was.keys() - is_.keys():
        what = f"{key.address} {key.path}".strip()
        about = {"address": key.address, **({"path": key.path} if key.path else {})}
        yield WatchLine("resolved", f"{visible(what)} no longer drifts", about)
    if was and not is_:
        yield WatchLine("clear", f"no drift, {in_sync(now)}", {"summary": now.counts})


def wrong(found: Sequence[Diagnostic]) -> WatchLine:
    """Report files that cannot be used as they are, or a look that failed."""
    return WatchLine("wrong", counted(len(found), "problem"), {"diagnostics": [*map(data_of, found)]})


def _strayed(drift: Drift) -> dict[Key, Strayed]:
    found: dict[Key, Strayed] = {}
    for item in drift.drifted:
        if item.standing.is_whole and not item.ignored:
            found[Key(item.address)] = (item, None)
        found |= {Key(item.address, one.path): (item, one) for one in item.fields if one.counts}
    return found


Strayed = tuple[Item, FieldDrift | None]


def _is_news(was: Strayed, now: Strayed) -> bool:
    """Is it another value, or a newly known author? An author that is forgotten, as after a lost connection, is no
    news."""
    if _said(*was) == _said(*now):
        return False
    is_named = any(by is not None and by.actor is not None for by in (now[0].by, now[1].by if now[1] else None))
    return is_named or _said(*_nameless(was)) != _said(*_nameless(now))


def _nameless(strayed: Strayed) -> Strayed:
    item, field = strayed
    return replace(item, by=None), replace(field, by=None) if field else None


def _said(item: Item, field: FieldDrift | None) -> str:
    return said_of_field(field) if field else f"{item.standing.value}: {said_of_item(item)}"


def _data(item: Item, field: FieldDrift | None) -> Mapping[str, Any]:
    if field is None:
        return {key: value for key, value in data_of(item).items() if key != "fields"}
    return {"address": item.address, **data_of(field)}


def line_text(line: WatchLine, at: float) -> str:
    """Return one line for people, ending in a newline. `at` is in seconds since 1970."""
    return f"{_clock(at)}  {line.event:<8}  {line.text}\n"


def line_json(line: WatchLine, at: float) -> str:
    """Return one line for tools, a JSON object. `at` is in seconds since 1970."""
    return json_line({"at": _clock(at), "event": line.event, **line.data})


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
