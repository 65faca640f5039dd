"""What a watch reports: a line for everything that differs from the last look, for people or (as JSON lines) for
tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, NamedTuple

from reconciler.journeys.drift.drift import COUNTED, FORMAT, Drift, FieldDrift, Item
from reconciler.journeys.drift.report import drift_sums_line, in_sync_sentence, place_text
from reconciler.journeys.drift.words import field_sentence, item_sentence
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.shape import ALWAYS, INLINE, AddressText, Like, counts_by, format_of
from reconciler.report.codec.json import json_line
from reconciler.report.codec.schema import published_schema_of_any
from reconciler.report.codec.shape import data_of
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible

OF_OBJECTS = {name: text for name, text in COUNTED.items() if name != "drifted_fields"}


class Key(NamedTuple):
    address: str
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent:
    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    at: Annotated[str, ALWAYS, Like(format="date-time")] = ""
    """When the line was printed, in UTC."""
    event: Annotated[str, ALWAYS]
    """The kind of event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="watching")] = "watching"
    """The watch has begun."""
    summary: Annotated[Mapping[str, int], counts_by(OF_OBJECTS)]
    """The number of objects in each state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDrifted(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="drift")] = "drift"
    """A field drifted, or more is known about that."""
    address: AddressText
    """The object."""
    field: Annotated[FieldDrift, INLINE]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectDrifted(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="drift")] = "drift"
    """An object drifted as a whole, or more is known about that."""
    item: Annotated[Item, INLINE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="resolved")] = "resolved"
    """A field, or an object as a whole, no longer drifts."""
    address: AddressText
    """The object."""
    path: str = ""
    """The field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="clear")] = "clear"
    """Nothing drifts any more."""
    summary: Annotated[Mapping[str, int], counts_by(OF_OBJECTS)]
    """The number of objects in each state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLost(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="lost")] = "lost"
    """The account cannot be seen, or now for another reason than the last line said. The watch tries to connect again."""
    why: str
    """The reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectedAgain(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="back")] = "back"
    """The watch is connected again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotBeUsed(WatchEvent):
    event: Annotated[str, ALWAYS, Like(const="wrong")] = "wrong"
    """The files cannot be used as they are, or a look failed. The watch continues with the files as they were."""
    diagnostics: tuple[Diagnostic, ...]
    """What is wrong."""


EVENTS: dict[str, type[WatchEvent]] = {
    "watching": Watching, "drift-of-field": FieldDrifted, "drift-of-object": ObjectDrifted, "resolved": Resolved,
    "clear": Clear, "lost": ConnectionLost, "back": ConnectedAgain, "wrong": CannotBeUsed,
}  # fmt: skip


class WatchLine(NamedTuple):
    """One event, with what people read."""

    event: WatchEvent
    text: str


def change_lines(before: Drift | None, now: Drift) -> Iterator[WatchLine]:
    """Return what differs; the first look reports the state of everything."""
    was, is_ = (_drift_by_key(before) if before else {}), _drift_by_key(now)
    if before is None:
        yield WatchLine(Watching(summary=now.counts), f"{place_text(now)}: {drift_sums_line(now)}")
    for key, (item, field) in is_.items():
        text = _sentence_of(item, field)
        if key not in was or _is_news(was[key], (item, field)):
            yield WatchLine(_event_of(item, field), f"{visible(item.address)} {text}")
    for key in was.keys() - is_.keys():
        name = f"{key.address} {key.path}".strip()
        yield WatchLine(Resolved(address=key.address, path=key.path), f"{visible(name)} no longer drifts")
    if was and not is_:
        yield WatchLine(Clear(summary=now.counts), f"no drift, {in_sync_sentence(now)}")


def problem_line(diagnostics: Sequence[Diagnostic]) -> WatchLine:
    """Report files that cannot be used as they are, or a look that failed."""
    return WatchLine(CannotBeUsed(diagnostics=tuple(diagnostics)), counted(len(diagnostics), "problem"))


def _drift_by_key(drift: Drift) -> dict[Key, DriftedPart]:
    drifted: dict[Key, DriftedPart] = {}
    for item in drift.drifted:
        if item.standing.is_whole and not item.ignored:
            drifted[Key(item.address)] = (item, None)
        drifted |= {Key(item.address, field.path): (item, field) for field in item.fields if field.is_drift}
    return drifted


DriftedPart = tuple[Item, FieldDrift | None]


def _is_news(was: DriftedPart, now: DriftedPart) -> bool:
    """Is it another value, or a newly known author? An author that is forgotten, as after a lost connection, is no
    news."""
    if _sentence_of(*was) == _sentence_of(*now):
        return False
    is_named = any(by is not None and by.actor is not None for by in (now[0].by, now[1].by if now[1] else None))
    return is_named or _sentence_of(*_without_author(was)) != _sentence_of(*_without_author(now))


def _without_author(drifted: DriftedPart) -> DriftedPart:
    item, field = drifted
    return replace(item, by=None), replace(field, by=None) if field else None


def _sentence_of(item: Item, field: FieldDrift | None) -> str:
    return field_sentence(field) if field else f"{item.standing.value}: {item_sentence(item)}"


def _event_of(item: Item, field: FieldDrift | None) -> WatchEvent:
    return FieldDrifted(address=item.address, field=field) if field else ObjectDrifted(item=item)


def line_text(line: WatchLine, seconds: float) -> str:
    """Return one line for people, ending in a newline. `at` is in seconds since 1970."""
    return f"{_clock_text(seconds)}  {line.event.event:<8}  {line.text}\n"


def line_json(line: WatchLine, seconds: float) -> str:
    """Return one line for tools, a JSON object. `at` is in seconds since 1970."""
    return json_line(data_of(replace(line.event, at=_clock_text(seconds))))


def watch_schema() -> str:
    """Return the JSON schema of the lines that `drift watch --format json` prints, as text."""
    description = (
        "One line that `drift watch --format json` prints, a JSON object for each event; #/$defs/NAME describes one "
        "kind of them."
    )
    return published_schema_of_any("reconciler drift watch", description, EVENTS)


def _clock_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
