"""A report about a fleet as Markdown: one summary of a job, or one comment, with the long parts folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.fleet.formats import elements, text
from reconciler.report.markdown.gfm import code, fenced, folded, prose
from reconciler.report.words.paper import Paper

LIMIT = 65_536
"""Bytes that a comment on GitHub may have."""
_RESERVE = 512
_NARROW = Paper(width=100)


def render(report: elements.Report) -> str:
    """Render the report, and name what does not fit."""
    head = [
        f"<!-- reconciler:{report.command.replace(' ', '-')} -->", f"### {prose(report.heading)}", "",
        f"**{prose(report.totals)}**", "", *([prose(report.about), ""] if report.about else []),
    ]  # fmt: skip
    ends = [prose(line) for line in report.following]
    room = LIMIT - _RESERVE - _size([*head, *ends])
    lines, missing = [], list[str]()
    for part in report.parts:
        shown = _part(part)
        if _size(shown) > room:
            missing.append(part.title)
            continue
        room -= _size(shown)
        lines += shown
    left = [f"Left out for want of room: {prose(', '.join(missing))}.", ""] if missing else []
    return "\n".join([*head, *lines, *left, *ends]).rstrip() + "\n"


def _size(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _part(part: elements.ReportPart) -> list[str]:
    lead = [prose(part.lead), ""] if part.lead else []
    return [*([f"#### {prose(part.title)}", ""] if part.title else []), *lead, *_pieces(part.pieces)]


def _pieces(pieces: Sequence[elements.Piece]) -> list[str]:
    return [line for piece in pieces for line in (*_SHOWN[type(piece)](piece), "")]


def _prose(piece: elements.Prose) -> list[str]:
    if piece.is_list:
        return [f"- {prose(paragraph)}" for paragraph in piece.lines]
    return [line for paragraph in piece.lines for line in (prose(paragraph), "")][:-1]


def _tiles(piece: elements.Tiles) -> list[str]:
    return [
        f"- {prose(tile.label)}: **{prose(tile.value)}**{f' · {prose(tile.note)}' if tile.note else ''}"
        for tile in piece.tiles
    ]


def _grid(piece: elements.Grid) -> list[str]:
    rule = ["---:" if column in piece.right else "---" for column in range(len(piece.head))]
    rows = [_row(map(prose, piece.head)), _row(rule), *(_row(map(_cell, row)) for row in piece.rows)]
    return [*rows, *(["", f"and {piece.left_out:_} more"] if piece.left_out else [])]


def _row(texts: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in texts)} |"


def _cell(cell: elements.Cell) -> str:
    wave = f"{text.sparkline(cell.trend)} " if len(cell.trend) > 1 else ""
    return wave + (code(cell.text) if cell.is_code and cell.text else prose(cell.text))


def _fenced_chart(piece: elements.ColumnChart | elements.HeatMap | elements.BarChart) -> list[str]:
    return fenced(text.piece_lines([piece], _NARROW, 0))


def _folds(piece: elements.Folds) -> list[str]:
    lines = [line for fold in piece.folds for line in (*_fold(fold), "")]
    return [*lines, *([f"and {piece.left_out:_} more"] if piece.left_out else [])]


def _fold(fold: elements.Fold) -> list[str]:
    title = " ".join(filter(None, (fold.mark, fold.name, fold.word, fold.about, *fold.codes)))
    return folded(title, _pieces(fold.pieces), is_open=fold.is_open) or [f"- {prose(title)}"]


_SHOWN: Mapping[type[Any], Callable[[Any], list[str]]] = {
    elements.Prose: _prose, elements.Tiles: _tiles, elements.Grid: _grid,
    elements.HeatMap: _fenced_chart, elements.ColumnChart: _fenced_chart, elements.BarChart: _fenced_chart, elements.Folds: _folds,
}  # fmt: skip
