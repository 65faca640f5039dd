"""Rows in columns, each as wide as its widest cell; numbers are right-aligned, and a cell that is too long stays as it
is."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.report.words.visible import columns, visible

GAP = "  "


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), indent: int = 0) -> list[str]:
    """Return lines without trailing spaces; `right` names the columns of numbers."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(columns, cells)) for cells in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        cells = (_cell(text, width, at in right) for at, (text, width) in enumerate(zip(row, widths, strict=True)))
        lines.append((" " * indent + GAP.join(cells)).rstrip())
    return lines


def _cell(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space
