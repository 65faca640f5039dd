"""What differs from its peers, and what will be full."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from reconciler.fleet.report.drift import show_span
from reconciler.fleet.report.targets import show_size
from reconciler.model.fields import FieldInfo
from reconciler.report.document.pieces import Cell, Grid, Prose, ReportPart, cells
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
        return ReportPart(title=title, pieces=(_no_outliers(with_peers),))
    order = sorted(outliers, key=lambda row: (-row["holders"] / max(1, row["among"]), row["target"], row["address"]))
    rows = tuple(
        cells(
            row["target"], Cell(text=row["address"], is_code=True), Cell(text=row.get("path") or "", is_code=True),
            Cell(text=_show_value_here(row, infos), is_code=row["what"] == "differs", tone="" if row["what"] == "differs" else "warn"),
            Cell(text=_show_usual_value(row, infos), is_code=row["what"] == "differs"),
            Cell(text=f"{row['holders']:_} of {row['among']:_}", share=row["holders"] / max(1, row["among"])),
            Cell(text=row["peers"], tone="quiet"),
        )
        for row in order[:MOST]
    )  # fmt: skip
    head = ("target", "address", "field", "here", "at most peers", "peers that agree", "peers by")
    lead = f"{counted(len(order), 'value')} on {counted(len({row['target'] for row in order}), 'target')}, whether declared or not."
    return ReportPart(title=title, lead=lead, pieces=(Grid(head=head, rows=rows, left_out=max(0, len(order) - MOST)),))


def _no_outliers(with_peers: int) -> Prose:
    if not with_peers:
        return Prose(lines=(_NO_PEERS,), tone="warn")
    were = "was" if with_peers == 1 else "were"
    sentence = f"{counted(with_peers, 'target')} {were} compared with others of the same labels: none differs from most of them."
    return Prose(lines=(sentence,), tone="good")


def _show_value_here(outlier: Row, infos: Infos) -> str:
    return {"missing": "missing", "extra": "only here"}.get(outlier["what"]) or _show_value(outlier, "value", infos)


def _show_usual_value(outlier: Row, infos: Infos) -> str:
    return {"missing": "there", "extra": "none"}.get(outlier["what"]) or _show_value(outlier, "usual", infos)


def _show_value(outlier: Row, column: str, infos: Infos) -> str:
    """A value as it would stand in a file."""
    value = json.loads(outlier[column]) if outlier.get(column) is not None else None
    return show_side(value, infos.get((outlier["kind"], outlier.get("path") or ""), FieldInfo()))


def capacity_part(capacity: Sequence[Row]) -> ReportPart:
    """Show first the streams that refuse messages first, then those that drop their oldest; streams that do not grow
    are counted."""
    title = "Room"
    if not capacity:
        return ReportPart(title=title, pieces=(Prose(lines=("No stream was seen.",)),))
    order = sorted(capacity, key=_urgency)
    shown = [stream for stream in order if stream.get("days") is not None] or order[:10]
    rows = tuple(map(_stream_row, shown[:_STREAMS]))
    head = ("target", "stream", "full in", "by", "stored", "a day", "messages a day", "beside the payload")
    quiet = len(order) - len(shown)
    lead = _capacity_lead_text(order) + (
        f" Not shown, because near no limit: {counted(quiet, 'stream')}." if quiet else ""
    )
    grid = Grid(head=head, rows=rows, right=frozenset({2, 4, 5, 6, 7}), left_out=max(0, len(shown) - _STREAMS))
    return ReportPart(title=title, lead=lead, pieces=(grid,))


def days_to_refusal(stream: Row) -> float | None:
    """Return the days until it takes no more. A stream that drops its oldest messages does so at its own limit, which
    is normal; the account's limit stops every stream."""
    days: float | None = stream.get("days_to_account_limit") if stream.get("when_full") == "old" else stream.get("days")
    return days


def _urgency(stream: Row) -> tuple[object, ...]:
    refuses, days = days_to_refusal(stream), stream.get("days")
    growth = -(stream.get("bytes_per_day") or 0.0)
    return (refuses is None, refuses or 0.0, days is None, days or 0.0, growth, stream["target"], stream["stream"])


def _capacity_lead_text(order: Sequence[Row]) -> str:
    soon = [stream for stream in order if (days := days_to_refusal(stream)) is not None and days <= _SOON]
    drop = sum(
        stream.get("days") is not None and stream["days"] <= _SOON
        for stream in order
        if days_to_refusal(stream) is None
    )
    refusing = f"{counted(len(soon), 'stream')} full and refusing messages" if soon else "No stream refuses messages"
    rest = f" {counted(drop, 'stream')} will be dropping the oldest messages by then, as configured." if drop else ""
    return f"{refusing} within {_SOON} days at the growth of the last looks.{rest}"


_BY = (("days_to_max_messages", "max_msgs"), ("days_to_max_bytes", "max_bytes"), ("days_to_account_limit", "account"))


def _stream_row(stream: Row) -> tuple[Cell, ...]:
    refuses = days_to_refusal(stream)
    days = stream.get("days") if refuses is None else refuses
    tone: Any = "" if refuses is None or refuses > _LATER else "bad" if refuses <= _SOON else "warn"
    limits = _BY[-1:] if refuses is not None and stream.get("when_full") == "old" else _BY
    by = next((name for key, name in limits if days is not None and stream.get(key) == days), "")
    then = ("drops the oldest" if refuses is None else "refuses then") if by else ""
    return cells(
        stream["target"], Cell(text=stream["stream"], is_code=True), Cell(text=show_days(days), tone=tone),
        ", ".join(filter(None, (by, then))), Cell(text=show_size(stream["bytes"]), share=_filled_share(stream)),
        show_rate(stream.get("bytes_per_day"), size=True), show_rate(stream.get("messages_per_day"), size=False), _show_overhead(stream),
    )  # fmt: skip


def _filled_share(stream: Row) -> float | None:
    return stream["bytes"] / stream["max_bytes"] if (stream.get("max_bytes") or 0) > 0 else None


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
    amount = show_size(abs(rate)) if size else f"{abs(rate):_.0f}"
    return f"{'+' if rate > 0 else '−'}{amount}"


def _show_overhead(stream: Row) -> str:
    """The server's own bytes, as a share of all."""
    if not stream.get("records") or not stream["bytes"]:
        return "–"
    return f"at least {stream['records'] / stream['bytes']:.0%}"
