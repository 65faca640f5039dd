"""All targets in a table: what each holds, how many objects drifted there, and which could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from reconciler.fleet.formats.elements import Cell, Grid, Prose, ReportPart
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.report.words.values import show_seconds

MOST = 1_000
_SAID = 50


def targets_part(targets: Sequence[SeenTarget], drifted: Mapping[str, int] | None = None) -> ReportPart:
    """Return the table. `drifted` has objects by target, where drift was looked for. Targets in trouble are first."""
    found = drifted or {}
    order = sorted(targets, key=lambda one: (not one.error, not one.unknown, -found.get(one.name, 0), one.name))
    most = max((one.bytes for one in targets), default=0)
    labels = _telling(targets)
    head = ("target", *labels, "server", "streams", "consumers", "messages", "stored")
    head += (("drifted",) if drifted is not None else ()) + ("read in",)
    rows = tuple(
        _row(one, labels, found.get(one.name, 0) if drifted is not None else None, most) for one in order[:MOST]
    )
    right = frozenset(range(2 + len(labels), len(head)))
    grid = Grid(head=head, rows=rows, right=right, left_out=max(0, len(order) - MOST))
    silent = tuple(f"`{one.name}` was not read: {one.error}" for one in order if one.error)
    return ReportPart(title="Targets", pieces=(grid, Prose(lines=silent[:_SAID])) if silent else (grid,))


def _telling(targets: Sequence[SeenTarget]) -> tuple[str, ...]:
    """The labels that most targets have, three at most."""
    counts = Counter(name for one in targets for name in one.labels)
    common = [name for name, count in counts.most_common() if count * 2 >= len(targets)]
    return tuple(sorted(common)[:3])


def _row(one: SeenTarget, labels: Sequence[str], strayed: int | None, most: int) -> tuple[Cell, ...]:
    named = [Cell(text=one.name), *(Cell(text=one.labels.get(name, "")) for name in labels)]
    if one.error:
        count = len(_COUNTED) + (strayed is not None)
        return (*named, Cell(text="not read", tone="odd"), *([Cell(text="")] * count), _took(one))
    counts = [Cell(text=f"{getattr(one, name):_}") for name in _COUNTED[:-1]]
    stored = Cell(text=show_size(one.bytes), share=one.bytes / most if most else None)
    unread = f"{one.version}, {one.unknown:_} unknown" if one.unknown else one.version
    strays = (
        [Cell(text=f"{strayed:_}" if strayed else "·", tone="bad" if strayed else "quiet")]
        if strayed is not None
        else []
    )
    return (*named, Cell(text=unread, tone="odd" if one.unknown else ""), *counts, stored, *strays, _took(one))


_COUNTED = ("streams", "consumers", "messages", "bytes")


def _took(one: SeenTarget) -> Cell:
    return Cell(text=show_seconds(one.seconds) if one.seconds is not None else "", tone="quiet")


def show_size(size: float) -> str:
    """Return three figures and a unit: these are sums to compare, not settings to copy."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
