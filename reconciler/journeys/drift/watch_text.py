"""What a watch reports: a line for everything that differs from the last look, for people or (as JSON lines) for
tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from reconciler.journeys.drift.drift import Drift, FieldDrift, Item
from reconciler.journeys.drift.text import drift_sums, field_sentence, in_sync_sentence, item_sentence, place_of
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


def change_lines(before: Drift | None, now: Drift) -> Iterator[WatchLine]:
    """Return what differs; the first look reports the state of everything."""
    was, is_ = (_strayed_by_key(before) if before else {}), _strayed_by_key(now)
    if before is None:
        yield WatchLine("watching", f"{place_of(now)}: {drift_sums(now)}", {"summary": now.counts})
    for key, (item, field) in is_.items():
        text = _sentence_of(item, field)
        if key not in was or _is_news(was[key], (item, field)):
            yield WatchLine("drift", f"{visible(item.address)} {text}", _data_of(item, field))
    for key in was.keys() - is_.keys():
        name = f"{key.address} {key.path}".strip()
        data = {"address": key.address, **({"path": key.path} if key.path else {})}
        yield WatchLine("resolved", f"{visible(name)} no longer drifts", data)
    if was and not is_:
        yield WatchLine("clear", f"no drift, {in_sync_sentence(now)}", {"summary": now.counts})


def problem_line(diagnostics: Sequence[Diagnostic]) -> WatchLine:
    """Report files that cannot be used as they are, or a look that failed."""
    return WatchLine("wrong", counted(len(diagnostics), "problem"), {"diagnostics": [*map(data_of, diagnostics)]})


def _strayed_by_key(drift: Drift) -> dict[Key, Strayed]:
    strayed: dict[Key, Strayed] = {}
    for item in drift.drifted:
        if item.standing.is_whole and not item.ignored:
            strayed[Key(item.address)] = (item, None)
        strayed |= {Key(item.address, field.path): (item, field) for field in item.fields if field.counts}
    return strayed


Strayed = tuple[Item, FieldDrift | None]


def _is_news(was: Strayed, now: Strayed) -> bool:
    """Is it another value, or a newly known author? An author that is forgotten, as after a lost connection, is no
    news."""
    if _sentence_of(*was) == _sentence_of(*now):
        return False
    is_named = any(by is not None and by.actor is not None for by in (now[0].by, now[1].by if now[1] else None))
    return is_named or _sentence_of(*_without_author(was)) != _sentence_of(*_without_author(now))


def _without_author(strayed: Strayed) -> Strayed:
    item, field = strayed
    return replace(item, by=None), replace(field, by=None) if field else None


def _sentence_of(item: Item, field: FieldDrift | None) -> str:
    return field_sentence(field) if field else f"{item.standing.value}: {item_sentence(item)}"


def _data_of(item: Item, field: FieldDrift | None) -> Mapping[str, Any]:
    if field is None:
        return {key: value for key, value in data_of(item).items() if key != "fields"}
    return {"address": item.address, **data_of(field)}


def line_text(line: WatchLine, seconds: float) -> str:
    """Return one line for people, ending in a newline. `at` is in seconds since 1970."""
    return f"{_clock_text(seconds)}  {line.event:<8}  {line.text}\n"


def line_json(line: WatchLine, seconds: float) -> str:
    """Return one line for tools, a JSON object. `at` is in seconds since 1970."""
    return json_line({"at": _clock_text(seconds), "event": line.event, **line.data})


def _clock_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
