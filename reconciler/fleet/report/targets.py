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
    counts = drifted or {}
    order = sorted(
        targets, key=lambda target: (not target.error, not target.unknown, -counts.get(target.name, 0), target.name)
    )
    most = max((target.bytes for target in targets), default=0)
    labels = _common_labels(targets)
    head = ("target", *labels, "server", "streams", "consumers", "messages", "stored")
    head += (("drifted",) if drifted is not None else ()) + ("read in",)
    rows = tuple(
        _target_row(target, labels, counts.get(target.name, 0) if drifted is not None else None, most)
        for target in order[:MOST]
    )
    right = frozenset(range(2 + len(labels), len(head)))
    grid = Grid(head=head, rows=rows, right=right, left_out=max(0, len(order) - MOST))
    silent = tuple(f"`{target.name}` was not read: {target.error}" for target in order if target.error)
    return ReportPart(title="Targets", pieces=(grid, Prose(lines=silent[:_SAID])) if silent else (grid,))


def _common_labels(targets: Sequence[SeenTarget]) -> tuple[str, ...]:
    """The labels that most targets have, three at most."""
    counts = Counter(name for target in targets for name in target.labels)
    common = [name for name, count in counts.most_common() if count * 2 >= len(targets)]
    return tuple(sorted(common)[:3])


def _target_row(target: SeenTarget, labels: Sequence[str], strayed: int | None, most: int) -> tuple[Cell, ...]:
    named = [Cell(text=target.name), *(Cell(text=target.labels.get(name, "")) for name in labels)]
    if target.error:
        count = len(_COUNTED) + (strayed is not None)
        return (*named, Cell(text="not read", tone="odd"), *([Cell(text="")] * count), _time_cell(target))
    counts = [Cell(text=f"{getattr(target, name):_}") for name in _COUNTED[:-1]]
    stored = Cell(text=show_size(target.bytes), share=target.bytes / most if most else None)
    unread = f"{target.version}, {target.unknown:_} unknown" if target.unknown else target.version
    strays = (
        [Cell(text=f"{strayed:_}" if strayed else "·", tone="bad" if strayed else "quiet")]
        if strayed is not None
        else []
    )
    return (
        *named,
        Cell(text=unread, tone="odd" if target.unknown else ""),
        *counts,
        stored,
        *strays,
        _time_cell(target),
    )


_COUNTED = ("streams", "consumers", "messages", "bytes")


def _time_cell(target: SeenTarget) -> Cell:
    return Cell(text=show_seconds(target.seconds) if target.seconds is not None else "", tone="quiet")


def show_size(size: float) -> str:
    """Return three figures and a unit: these are sums to compare, not settings to copy."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024 or unit == "TiB":
            break
        size /= 1024
    return f"{size:.3g} {unit}" if size < 1000 else f"{size:.0f} {unit}"
