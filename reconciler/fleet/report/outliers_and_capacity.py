"""What differs from its peers, and what will be full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.fleet.formats.elements import Cell, Grid, Prose, ReportPart, cells
from reconciler.fleet.report.drift_trend import show_span
from reconciler.fleet.report.targets import show_size
from reconciler.model.fields import FieldInfo
from reconciler.report.words.values import counted, show_side

Row = Mapping[str, Any]
Infos = Mapping[tuple[str, str], FieldInfo]
"""By kind and path of a field."""
MOST, _STREAMS = 200, 30
_SOON, _LATER = 14, 60
"""Days."""
_NO_PEERS = (
    "Nothing was compared: no target here has a peer, which is another target with the same labels that could be "
    "read. `reconciler fleet outliers --by LABEL` chooses the labels that make peers."
)


def outliers_part(outliers: Sequence[Row], infos: Infos, with_peers: int) -> ReportPart:
    """Show the outliers; `with_peers` targets could be compared with others."""
    title = "Unlike their peers"
    if not outliers:
        return ReportPart(title=title, pieces=(_none(with_peers),))
    order = sorted(outliers, key=lambda one: (-one["holders"] / max(1, one["among"]), one["target"], one["address"]))
    rows = tuple(
        cells(
            one["target"], Cell(text=one["address"], is_code=True), Cell(text=one.get("path") or "", is_code=True),
            Cell(text=_has(one, infos), is_code=one["what"] == "differs", tone="" if one["what"] == "differs" else "warn"),
            Cell(text=_usual(one, infos), is_code=one["what"] == "differs"),
            Cell(text=f"{one['holders']:_} of {one['among']:_}", share=one["holders"] / max(1, one["among"])),
            Cell(text=one["peers"], tone="quiet"),
        )
        for one in order[:MOST]
    )  # fmt: skip
    head = ("target", "address", "field", "here", "at most peers", "peers that agree", "peers by")
    lead = f"{counted(len(order), 'value')} on {counted(len({one['target'] for one in order}), 'target')}, whether declared or not."
    return ReportPart(title=title, lead=lead, pieces=(Grid(head=head, rows=rows, left_out=max(0, len(order) - MOST)),))


def _none(with_peers: int) -> Prose:
    if not with_peers:
        return Prose(lines=(_NO_PEERS,), tone="warn")
    were = "was" if with_peers == 1 else "were"
    said = f"{counted(with_peers, 'target')} {were} compared with others of the same labels: none differs from most of them."
    return Prose(lines=(said,), tone="good")


def _has(one: Row, infos: Infos) -> str:
    return {"missing": "missing", "extra": "only here"}.get(one["what"]) or _shown(one, "value", infos)


def _usual(one: Row, infos: Infos) -> str:
    return {"missing": "there", "extra": "none"}.get(one["what"]) or _shown(one, "usual", infos)


def _shown(one: Row, name: str, infos: Infos) -> str:
    """A value as it would stand in a file."""
    value = json.loads(one[name]) if one.get(name) is not None else None
    return show_side(value, infos.get((one["kind"], one.get("path") or ""), FieldInfo()))


def capacity_part(capacity: Sequence[Row]) -> ReportPart:
    """Show first the streams that refuse messages first, then those that drop their oldest; streams that do not grow
    are counted."""
    title = "Room"
    if not capacity:
        return ReportPart(title=title, pieces=(Prose(lines=("No stream was seen.",)),))
    order = sorted(capacity, key=_urgency)
    shown = [one for one in order if one.get("days") is not None] or order[:10]
    rows = tuple(map(_stream, shown[:_STREAMS]))
    head = ("target", "stream", "full in", "by", "stored", "a day", "messages a day", "beside the payload")
    quiet = len(order) - len(shown)
    lead = _soon(order) + (f" Not shown, because near no limit: {counted(quiet, 'stream')}." if quiet else "")
    grid = Grid(head=head, rows=rows, right=frozenset({2, 4, 5, 6, 7}), left_out=max(0, len(shown) - _STREAMS))
    return ReportPart(title=title, lead=lead, pieces=(grid,))


def refuses_in(one: Row) -> float | None:
    """Return the days until it takes no more. A stream that drops its oldest messages does so at its own limit, which
    is normal; the account's limit stops every stream."""
    days: float | None = one.get("days_to_account_limit") if one.get("when_full") == "old" else one.get("days")
    return days


def _urgency(one: Row) -> tuple[object, ...]:
    refuses, days = refuses_in(one), one.get("days")
    growth = -(one.get("bytes_per_day") or 0.0)
    return (refuses is None, refuses or 0.0, days is None, days or 0.0, growth, one["target"], one["stream"])


def _soon(order: Sequence[Row]) -> str:
    soon = [one for one in order if (days := refuses_in(one)) is not None and days <= _SOON]
    drop = sum(one.get("days") is not None and one["days"] <= _SOON for one in order if refuses_in(one) is None)
    said = f"{counted(len(soon), 'stream')} full and refusing messages" if soon else "No stream refuses messages"
    rest = f" {counted(drop, 'stream')} will be dropping the oldest messages by then, as configured." if drop else ""
    return f"{said} within {_SOON} days at the growth of the last looks.{rest}"


_BY = (("days_to_max_messages", "max_msgs"), ("days_to_max_bytes", "max_bytes"), ("days_to_account_limit", "account"))


def _stream(one: Row) -> tuple[Cell, ...]:
    refuses = refuses_in(one)
    days = one.get("days") if refuses is None else refuses
    tone: Any = "" if refuses is None or refuses > _LATER else "bad" if refuses <= _SOON else "warn"
    limits = _BY[-1:] if refuses is not None and one.get("when_full") == "old" else _BY
    by = next((name for key, name in limits if days is not None and one.get(key) == days), "")
    then = ("drops the oldest" if refuses is None else "refuses then") if by else ""
    return cells(
        one["target"], Cell(text=one["stream"], is_code=True), Cell(text=show_days(days), tone=tone),
        ", ".join(filter(None, (by, then))), Cell(text=show_size(one["bytes"]), share=_filled(one)),
        show_rate(one.get("bytes_per_day"), size=True), show_rate(one.get("messages_per_day"), size=False), _beside(one),
    )  # fmt: skip


def _filled(one: Row) -> float | None:
    return one["bytes"] / one["max_bytes"] if (one.get("max_bytes") or 0) > 0 else None


def show_days(days: float | None) -> str:
    """Return `2.5 days`, `42 days`, or `full` at 0 and below; `–` where nothing fills it, or that is unknown."""
    if days is None:
        return "–"
    if days <= 0:
        return "full"
    return show_span(days * 86_400) if days < 10 else f"{days:_.0f} days"


def show_rate(rate: float | None, *, size: bool) -> str:
    """Return growth per day: `+1.2 MiB` with `size`, otherwise `−340`; `–` where there is none, or it is unknown."""
    if not rate:
        return "–"
    said = show_size(abs(rate)) if size else f"{abs(rate):_.0f}"
    return f"{'+' if rate > 0 else '−'}{said}"


def _beside(one: Row) -> str:
    """The server's own bytes, as a share of all."""
    if not one.get("records") or not one["bytes"]:
        return "–"
    return f"at least {one['records'] / one['bytes']:.0%}"
