"""The pieces of a report as lines for a terminal; charts are drawn with blocks, and every figure is beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.report.document import pieces
from reconciler.report.document.partitions import partition_lines
from reconciler.report.words.paper import Paper, Role, table
from reconciler.report.words.values import counted, name_lines
from reconciler.report.words.visible import columns, padded, visible
from reconciler.report.words.ways_out import way_out_lines

_ROLES: Mapping[pieces.Tone, Role] = {
    "bad": "refused", "warn": "consent", "good": "good", "info": "update", "odd": "consent", "quiet": "quiet",
}  # fmt: skip
_STYLES: Mapping[str, Role] = {
    "delete": "delete", "replace": "delete", "update": "update", "unknown": "consent", "refused": "refused",
    "create": "create", "consent": "consent",
}  # fmt: skip
_LONG = 40
"""Characters of the longest bar."""
_FEW = 3
"""How many of many different sentences are shown."""


def part_lines(part: pieces.ReportPart, paper: Paper) -> list[str]:
    """Return a part: its title, what there is to see, and its pieces, indented below the title."""
    lines = [paper.paint(visible(part.title), "head")] if part.title else []
    lines += paper.wrapped(_without_backticks(part.lead)) if part.lead else []
    lines += piece_lines(part.pieces, paper, 2 if part.title else 0)
    while lines and not lines[-1]:
        lines.pop()
    verdict = paper.wrapped(part.verdict) if part.verdict else ()
    return [*lines, *(paper.paint(line, _ROLES.get(part.tone, "head")) for line in verdict)]


def piece_lines(shown: Sequence[pieces.Piece], paper: Paper, indent: int, *, gap: Sequence[str] = ("",)) -> list[str]:
    """Join blocks with `gap` between them."""
    narrow = replace(paper, width=max(40, paper.width - indent))
    lines: list[str] = []
    for piece in shown:
        of_piece = [f"{' ' * indent}{line}" if line else "" for line in _SHOWN[type(piece)](piece, narrow)]
        lines += [*(gap if lines and of_piece else ()), *of_piece]
    return lines


def _without_backticks(text: str) -> str:
    """Return the text for a terminal, which has no letters of its own for code."""
    return text.replace("`", "")


def _prose(piece: pieces.Prose, paper: Paper) -> list[str]:
    sign = "! " if piece.is_list else ""
    lines = [line for text in piece.lines for line in paper.wrapped(sign + _without_backticks(text))]
    return [paper.paint(line, _ROLES[piece.tone]) for line in lines] if piece.tone else lines


_WIDEST = 40
"""Columns for names and values that stand below one another; longer ones push the rest of their line aside."""


def _differences(piece: pieces.Differences, paper: Paper) -> list[str]:
    names = [visible(row.path) for row in piece.rows]
    values = [f"{visible(row.before)} → {visible(row.after)}" for row in piece.rows]
    explained = [value for value, row in zip(values, piece.rows, strict=True) if row.words]
    name_width, value_width = (min(max(map(columns, texts), default=0), _WIDEST) for texts in (names, explained))
    lines: list[str] = []
    for name, value, row in zip(names, values, piece.rows, strict=True):
        head = f"{padded(name, name_width)}  "
        with_words = f"{head}{padded(value, value_width)}  {visible(row.words)}" if row.words else head + value
        if columns(with_words) <= paper.width:
            lines.append(with_words)
        else:
            lines += [*_value_lines(head, value, row, paper), *_margin_lines(head, row.words, paper)]
    return lines


def _value_lines(head: str, value: str, row: pieces.DifferenceRow, paper: Paper) -> list[str]:
    """Return the two values below one another where one line is too short; of long lists, what comes and goes."""
    if columns(head) + columns(value) <= paper.width:
        return [head + value]
    if row.items is None:
        return [head + visible(row.before), f"{' ' * columns(head)}→ {visible(row.after)}"]
    first, *rest = (line for text in _list_change_texts(row, row.items) for line in _margin_lines(head, text, paper))
    return [head + first.lstrip(), *rest]


def _list_change_texts(row: pieces.DifferenceRow, items: pieces.ListChange) -> list[str]:
    if not items.kept or not (items.gone or items.new):
        return [row.before, f"→ {row.after}"]
    sides = (("without", items.gone), ("with", items.new))
    return [*(f"{word} {side}" for word, side in sides if side), f"({counted(items.kept, 'item')} unchanged)"]


def _margin_lines(head: str, text: str, paper: Paper) -> list[str]:
    return paper.wrapped(text, columns(head)) if text else []


def _statement(piece: pieces.Statement, paper: Paper) -> list[str]:
    return [*(paper.paragraphs(piece.text) if piece.text else ()), *_lines_of_each(piece, paper)]


def _lines_of_each(piece: pieces.Statement, paper: Paper) -> list[str]:
    shown = piece.each if paper.verbose or len(piece.each) <= _FEW + 1 else piece.each[:_FEW]
    lines = [line for address, text in shown for line in paper.wrapped(f"{address}: {text}")]
    more = len(piece.each) - len(shown)
    return [*lines, f"and {more:_} more; -v shows all"] if more else lines


def _judgement(piece: pieces.Judgement, paper: Paper) -> Iterator[str]:
    said = piece.statement or pieces.Statement(text="")
    first, *rest = paper.wrapped(f"{piece.head} {said.text}".rstrip())
    head_end = len(piece.head) if first.startswith(piece.head) else 0
    yield (paper.paint(first[:head_end], _ROLES[piece.tone]) if head_end else "") + first[head_end:]
    yield from rest
    yield from (f"  {line}" for line in _lines_of_each(said, replace(paper, width=paper.width - 2)))
    yield from paper.paragraphs("\n".join(way_out_lines(piece.way_out)))
    if piece.consent:
        yield from paper.wrapped(f"{piece.consent.words}:")
        yield f"  {visible(piece.consent.entry)}"


def _partition_map(piece: pieces.PartitionMap, paper: Paper) -> list[str]:
    return partition_lines(piece.drawn, paper, 2)


def _ways_out(_piece: pieces.WaysOut, _paper: Paper) -> list[str]:
    return []


def _names(piece: pieces.Names, paper: Paper) -> list[str]:
    return name_lines(piece.word, piece.names, paper, 0, piece.is_whole)


def _tiles(piece: pieces.Tiles, _paper: Paper) -> list[str]:
    return table([[tile.label, tile.value, tile.note] for tile in piece.tiles], right=frozenset({1}))


def _grid(piece: pieces.Grid, paper: Paper) -> list[str]:
    rows = [[_cell_text(cell) for cell in row] for row in piece.rows]
    head, *lines = table([piece.head, *rows], right=piece.right)
    more = [f"and {piece.left_out:_} more"] if piece.left_out else []
    if piece.is_stacked and max(map(columns, lines), default=0) > paper.width:
        return [*_stacked_lines(piece.head, rows, paper), *more]
    shown = [_painted_row(line, row, paper) for line, row in zip(lines, piece.rows, strict=True)]
    return [paper.paint(head, "quiet"), *shown, *more]


def _stacked_lines(head: Sequence[str], rows: Sequence[Sequence[str]], paper: Paper) -> list[str]:
    """Put the cells of a row below one another: the first once for all rows that have it, the second without its head."""
    width = max(map(len, head[2:]), default=0) + 2
    lines, first = list[str](), ""
    for row in rows:
        lines += [visible(row[0])] if row[0] != first else []
        lines += paper.wrapped(row[1], 2)
        for name, text in zip(head[2:], row[2:], strict=True):
            start, *rest = paper.wrapped(text, 4 + width)
            lines += [f"    {name.ljust(width)}{start.lstrip()}", *rest]
        first = row[0]
    return lines


def _cell_text(cell: pieces.Cell) -> str:
    bar = f"{bar_of(cell.share, 10)} " if cell.share is not None else ""
    wave = f"{sparkline(cell.trend)} " if len(cell.trend) > 1 else ""
    return bar + wave + (" ".join(cell.codes) or _without_backticks(cell.text))


def _painted_row(line: str, row: Sequence[pieces.Cell], paper: Paper) -> str:
    """Paint a line in one colour: that of what matters most in it."""
    tones = [cell.tone for cell in row]
    worst = next((tone for tone in ("bad", "warn", "odd") if tone in tones), "")
    return paper.paint(line, _ROLES[worst]) if worst in _ROLES else line  # type: ignore[index]


_EIGHTHS = " ▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"


def sparkline(values: Sequence[float]) -> str:
    """Draw values over time in as many characters."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    return "".join(_EIGHTHS[1 + round(7 * (value - low) / span)] for value in values)


def bar_of(part: float, long: int) -> str:
    """Draw a bar of at most this many characters, in eighths."""
    eighths = round(max(0.0, min(1.0, part)) * long * 8)
    full, rest = divmod(eighths, 8)
    return padded("█" * full + (_PARTS[rest] if rest else ""), long)


def _column_chart(piece: pieces.ColumnChart, _paper: Paper) -> list[str]:
    most = max(piece.totals, default=0) or 1
    return table([_chart_row(piece, number, most) for number in range(len(piece.labels))], right=frozenset({1}))


def _chart_row(piece: pieces.ColumnChart, number: int, most: int) -> list[str]:
    parts_in_words = ", ".join(
        f"{series.values[number]:_} {series.name}" for series in piece.series if series.values[number]
    )
    total = piece.totals[number]
    return [piece.labels[number], f"{total:_}", bar_of(total / most, _LONG // 2).rstrip(), parts_in_words]


def _heat_map(piece: pieces.HeatMap, paper: Paper) -> list[str]:
    """Show the latest columns, where not all fit."""
    room = max(
        1, (paper.width - max(map(columns, piece.rows), default=0)) // (max(map(columns, piece.columns), default=1) + 2)
    )
    head = ["", *piece.columns[-room:]]
    rows = [
        [name, *("?" if value is None else f"{value:_}" if value else "·" for value in values[-room:])]
        for name, values in zip(piece.rows, piece.values, strict=True)
    ]
    top, *lines = table([head, *rows], right=frozenset(range(1, len(head))))
    return [paper.paint(top, "quiet"), *lines]


def _bar_chart(piece: pieces.BarChart, paper: Paper) -> list[str]:
    most = piece.top or 1
    rows = [
        [label, f"{value:_}", bar_of(value / most, min(_LONG, paper.width // 2)).rstrip()]
        for label, value in zip(piece.labels, piece.values, strict=True)
    ]
    return [visible(_without_backticks(piece.title)), *table(rows, right=frozenset({0, 1}), indent=2)]


def _folds(piece: pieces.Folds, paper: Paper) -> list[str]:
    lines = [line for fold in piece.folds for line in ("", *_fold(fold, paper))][1:]
    return [*lines, "", f"and {piece.left_out:_} more"] if piece.left_out else lines


def _fold(fold: pieces.Fold, paper: Paper) -> Iterator[str]:
    suffix = f"  {fold.about}" if fold.about else ""
    left = visible(f"{fold.mark} {fold.name}  {fold.word}{suffix}{''.join(f' {code}' for code in fold.codes)}")
    line = paper.with_right(left, visible(str(fold.place)))
    yield paper.paint(left, _STYLES.get(fold.style, "quiet")) + paper.paint(line[len(left) :], "quiet")
    yield from piece_lines(fold.pieces, paper, 4, gap=())


def _aside(piece: pieces.Aside, paper: Paper) -> list[str]:
    if piece.is_shown_in_text or paper.verbose:
        return [visible(piece.title), *piece_lines(piece.pieces, paper, 2, gap=())]
    return []


_SHOWN: Mapping[type[Any], Callable[[Any, Paper], Iterable[str]]] = {
    pieces.Prose: _prose, pieces.Tiles: _tiles, pieces.Grid: _grid, pieces.Differences: _differences, pieces.Names: _names,
    pieces.WaysOut: _ways_out, pieces.Statement: _statement, pieces.Judgement: _judgement,
    pieces.PartitionMap: _partition_map, pieces.Aside: _aside,
    pieces.HeatMap: _heat_map, pieces.ColumnChart: _column_chart, pieces.BarChart: _bar_chart, pieces.Folds: _folds,
}  # fmt: skip
