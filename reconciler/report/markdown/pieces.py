"""The pieces of a report in a comment, the long ones folded; charts are drawn with blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from reconciler.report.document import pieces
from reconciler.report.document.partitions import partition_lines
from reconciler.report.document.piece_lines import piece_lines, sparkline
from reconciler.report.markdown.gfm import code, escaped_html, fenced, folded, page_link, prose
from reconciler.report.words.paper import Paper
from reconciler.report.words.ways_out import parts_of_way_out

_NARROW = Paper(width=100)
_NAMES = 20
"""How many names are shown."""
_EACH = 3
"""How many of different sentences about equal objects are shown."""
ROWS = 25
"""The most rows of a table that is shown whole or not at all."""


def part_blocks(part: pieces.ReportPart) -> Iterator[tuple[str, int]]:
    """Yield the sentences of a part and each piece of it, with the number of entries in it; folds come one by one, and a
    long table in several."""
    if part.verdict:
        yield f"**{prose(part.verdict)}**", 1
    if part.lead:
        yield prose(part.lead), 1
    for piece in part.pieces:
        if isinstance(piece, pieces.Folds):
            yield from (("\n".join(fold_lines(fold)), 1) for fold in piece.folds)
            if piece.left_out:
                yield f"and {piece.left_out:_} more", piece.left_out
        elif isinstance(piece, pieces.Grid):
            yield from (("\n".join(_grid(part_of_it)), len(part_of_it.rows)) for part_of_it in _short_grids(piece))
        elif text := "\n".join(_SHOWN[type(piece)](piece)):
            yield text, 1


def _short_grids(piece: pieces.Grid) -> Iterator[pieces.Grid]:
    for start in range(0, max(1, len(piece.rows)), ROWS):
        is_last = start + ROWS >= len(piece.rows)
        yield replace(piece, rows=piece.rows[start : start + ROWS], left_out=piece.left_out if is_last else 0)


def piece_blocks(shown: Sequence[pieces.Piece]) -> list[str]:
    """Return the lines of all pieces, with an empty line between them."""
    return [line for piece in shown if (lines := [*_SHOWN[type(piece)](piece)]) for line in ("", *lines)][1:]


def _prose(piece: pieces.Prose) -> list[str]:
    if piece.is_list:
        return [f"- {prose(paragraph)}" for paragraph in piece.lines]
    return [line for paragraph in piece.lines for line in (prose(paragraph), "")][:-1]


def _tiles(piece: pieces.Tiles) -> list[str]:
    return [
        f"- {prose(tile.label)}: **{prose(tile.value)}**{f' · {prose(tile.note)}' if tile.note else ''}"
        for tile in piece.tiles
    ]


def _grid(piece: pieces.Grid) -> list[str]:
    rule = ["---:" if column in piece.right else "---" for column in range(len(piece.head))]
    rows = [_row(map(prose, piece.head)), _row(rule), *(_row(map(_cell, row)) for row in piece.rows)]
    return [*rows, *(["", f"and {piece.left_out:_} more"] if piece.left_out else [])]


def _differences(piece: pieces.Differences) -> list[str]:
    width = min(max(len(row.path) for row in piece.rows), 40)
    return fenced([line for row in piece.rows for line in _diff_lines(row, width)], "diff")


def _diff_lines(row: pieces.DifferenceRow, width: int) -> Iterator[str]:
    name = row.path.ljust(width)
    yield f"- {name}  {row.before}"
    yield f"+ {name}  {row.after}"
    if row.words:
        yield f"# {row.words}"


def _statement(piece: pieces.Statement) -> list[str]:
    each = (f"{code(address)}: {prose(text)}" for address, text in piece.each[:_EACH])
    return "\\\n".join([*([prose(piece.text)] if piece.text else []), *each]).split("\n")


def _judgement(piece: pieces.Judgement) -> Iterator[str]:
    _, _, status = piece.head.partition(" ")
    first, *rest = _statement(piece.statement) if piece.statement else [""]
    yield f"**{page_link(piece.code)} {prose(status)}** {first}".rstrip()
    yield from rest
    yield from way_out_blocks(piece.way_out)
    if piece.consent:
        yield from ("", f"{prose(piece.consent.words)}:", "", *fenced([piece.consent.entry], piece.consent.language))


def way_out_blocks(fix: str) -> Iterator[str]:
    """Render words, steps and text to copy as blocks of their own."""
    instead = "Instead: "
    for part in parts_of_way_out(fix):
        yield ""
        if part.form == "copy":
            yield from fenced([*part.lines], "yaml")
        elif part.form == "steps":
            yield from (f"{number}. {prose(step)}" for number, step in enumerate(part.lines, 1))
        else:
            yield instead + prose(" ".join(part.lines))
            instead = ""


def _aside(piece: pieces.Aside) -> list[str]:
    return folded(piece.title, piece_blocks(piece.pieces)) if piece.is_shown_in_text else []


def _ways_out(piece: pieces.WaysOut) -> list[str]:
    return [f"What to do: {prose(line)}." for line in piece.lines]


def _names(piece: pieces.Names) -> list[str]:
    return [_names_text(piece)]


def _names_text(piece: pieces.Names) -> str:
    more = f" and {len(piece.names) - _NAMES:_} more" if len(piece.names) > _NAMES else ""
    return f"{prose(piece.word)} {' '.join(map(code, piece.names[:_NAMES]))}{more}"


def _row(texts: Iterator[str] | Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in texts)} |"


def _cell(cell: pieces.Cell) -> str:
    wave = f"{sparkline(cell.trend)} " if len(cell.trend) > 1 else ""
    text = " ".join(map(page_link, cell.codes)) or (code(cell.text) if cell.is_code and cell.text else prose(cell.text))
    return wave + (f"**{text}**" if text and cell.tone == "bad" else text)


def _fenced(piece: pieces.ColumnChart | pieces.HeatMap | pieces.BarChart | pieces.PartitionMap) -> list[str]:
    return fenced(piece_lines([piece], _NARROW, 0))


def _partition_map(piece: pieces.PartitionMap) -> list[str]:
    return fenced(partition_lines(piece.drawn, _NARROW, 0))


def _folds(piece: pieces.Folds) -> list[str]:
    lines = [line for fold in piece.folds for line in (*fold_lines(fold), "")]
    return [*lines, *([f"and {piece.left_out:_} more"] if piece.left_out else [])]


def fold_lines(fold: pieces.Fold) -> list[str]:
    """Return a fold with its details; one with little to say becomes an item of a list."""
    if is_short(fold):
        return [_fold_item(fold)]
    names = (escaped_html(text) for text in (fold.word, fold.about))
    title = " ".join(filter(None, (escaped_html(fold.mark.strip()), f"<code>{escaped_html(fold.name)}</code>", *names)))
    foot = _foot(fold)
    return folded(
        title, [*piece_blocks(fold.pieces), *(["", foot] if foot else [])], is_open=fold.is_open, is_markup=True
    )


def is_short(fold: pieces.Fold) -> bool:
    """Are its details but sentences and names?"""
    return all(isinstance(piece, pieces.Names) or _is_short_statement(piece) for piece in fold.pieces)


def _is_short_statement(piece: pieces.Piece) -> bool:
    return isinstance(piece, pieces.Statement) and not piece.each


def _fold_item(fold: pieces.Fold) -> str:
    mark = code(fold.mark) if fold.mark.strip() else ""
    name = " · ".join(filter(None, (code(fold.name), prose(fold.about) if fold.about else "", _foot(fold))))
    details = [" ".join(_SHOWN[type(piece)](piece)) for piece in fold.pieces]
    return " ".join(filter(None, ("-", mark, name, *details)))


def _foot(fold: pieces.Fold) -> str:
    """Return the place, and the codes that no judgement shows."""
    return " ".join([*map(page_link, fold.untold_codes), *([code(str(fold.place))] if fold.place else [])])


_SHOWN: Mapping[type[Any], Callable[[Any], Iterable[str]]] = {
    pieces.Prose: _prose, pieces.Tiles: _tiles, pieces.Grid: _grid, pieces.Differences: _differences, pieces.Names: _names,
    pieces.WaysOut: _ways_out, pieces.Statement: _statement, pieces.Judgement: _judgement,
    pieces.PartitionMap: _partition_map, pieces.Aside: _aside,
    pieces.HeatMap: _fenced, pieces.ColumnChart: _fenced, pieces.BarChart: _fenced, pieces.Folds: _folds,
}  # fmt: skip
