"""The one line about a run that a terminal shows while it lasts: what is being done, what is waited for, how long already."""

from __future__ import annotations

from reconciler.model.waits import Wait
from reconciler.report.words.visible import columns, visible


def status_text(doing: str, wait: Wait | None, now: float, width: int) -> str:
    """Return `3 of 10 steps; waiting for the replicas of ORDERS: n2 not current (34 s of at most 10 min)`, never wider than the
    terminal: how long it takes is said in any case."""
    if wait is None:
        return cut_line(visible(doing), width)
    head = visible(doing.removesuffix(" …"))
    text = f"{head}; waiting {visible(wait.what)}" if head else f"waiting {visible(wait.what)}"
    tail = f" ({_duration_so_far(wait, now)})"
    return cut_line(cut_line(text, width - len(tail)) + tail, width)


def _duration_so_far(wait: Wait, now: float) -> str:
    so_far = duration_text(now - wait.since)
    return so_far if wait.until is None else f"{so_far} of at most {duration_text(wait.until - wait.since)}"


def duration_text(seconds: float) -> str:
    """Return `34 s`, `10 min`, `2 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return " ".join(filter(None, (f"{minutes} min" if minutes else "", f"{rest} s" if rest or not minutes else "")))


def cut_line(line: str, width: int) -> str:
    """Cut to less than `width` columns, with a mark where something is left out."""
    if columns(line) < width:
        return line
    while line and columns(line) >= width - 1:
        line = line[:-1]
    return f"{line}…"
