"""The pieces of a report on its page: tables, sentences, figures, charts, and folds with a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.report.document import pieces
from reconciler.report.html.charts import bar_chart, caption, column_chart, share_bar, trend_line
from reconciler.report.html.controls import Chip
from reconciler.report.html.markup import Markup, element, page_link, prose, together

_SHADES = 5
_NAMES = 500


def part_sections(parts: Sequence[pieces.ReportPart], prefix: str, controls: Markup | None) -> Iterator[Markup]:
    """Render each part as a section with an id of its own, which begins with `prefix`. The controls stand above the first
    folds."""
    fold_anchors, above = _fold_anchors(parts, prefix), controls
    for number, part in enumerate(parts):
        shown: list[Markup] = []
        for piece in part.pieces:
            if isinstance(piece, pieces.Folds):
                shown, above = [*shown, *([above] if above else []), _folds(piece, fold_anchors)], None
            else:
                shown.append(_piece(piece))
        yield element(
            "section",
            element("h2", part.title) if part.title else None,
            element("p", prose(part.lead), class_="lead") if part.lead else None,
            *shown,
            id=_anchor(prefix, number),
        )


def _fold_anchors(parts: Sequence[pieces.ReportPart], prefix: str) -> Iterator[str]:
    return (f"{prefix}c{number}" for number, _ in enumerate(pieces.folds_of(parts)))


def anchors_of_folds(parts: Sequence[pieces.ReportPart], prefix: str) -> dict[str, str]:
    """Map the address of each object to the fold about it."""
    numbered = zip(pieces.folds_of(parts), _fold_anchors(parts, prefix), strict=True)
    return {address: anchor for fold, anchor in numbered for address in fold.addresses}


def fold_chips(parts: Sequence[pieces.ReportPart]) -> list[Chip]:
    """Return a button for each sort of fold."""
    counts = Counter((fold.mark, fold.word) for fold in pieces.folds_of(parts))
    return [Chip(key=word, mark=mark, word=word, count=count) for (mark, word), count in counts.items()]


def contents(parts: Sequence[pieces.ReportPart], prefix: str) -> Markup | None:
    """Return links to the parts, where there are more than two."""
    links = [
        element("a", part.title, href=f"#{_anchor(prefix, number)}") for number, part in enumerate(parts) if part.title
    ]
    return element("nav", *links, aria_label="Parts") if len(links) > 2 else None


def _anchor(prefix: str, number: int) -> str:
    return f"{prefix}part-{number}"


def _piece(piece: pieces.Piece) -> Markup:
    return _RENDERERS[type(piece)](piece)


def _prose(piece: pieces.Prose) -> Markup:
    if piece.is_list:
        return element("ul", *(element("li", prose(line)) for line in piece.lines), class_="attention")
    style = f"tone-{piece.tone}" if piece.tone else None
    return together(*(element("p", prose(line), class_=style) for line in piece.lines))


def _tiles(piece: pieces.Tiles) -> Markup:
    shown = (
        element(
            "div", element("dt", tile.label), element("dd", tile.value),
            element("dd", tile.note, class_="note") if tile.note else None,
            class_=f"tile tone-{tile.tone}" if tile.tone else "tile",
        )
        for tile in piece.tiles
    )  # fmt: skip
    return element("dl", *shown, class_="tiles")


def _grid(piece: pieces.Grid) -> Markup:
    head = element(
        "tr",
        *(element("th", cell, scope="col", class_=_alignment(piece, index)) for index, cell in enumerate(piece.head)),
    )
    rows = (
        element("tr", *(_cell(cell, index == 0, _alignment(piece, index)) for index, cell in enumerate(row)))
        for row in piece.rows
    )
    table = element("table", element("thead", head), element("tbody", *rows), class_="grid")
    more = element("p", f"{piece.left_out:_} more are not shown.", class_="quiet") if piece.left_out else None
    return together(element("div", table, class_="wide", tabindex=0, role="region", aria_label=piece.head[0]), more)


def _alignment(piece: pieces.Grid, column: int) -> str | None:
    return "right" if column in piece.right else None


def _cell(cell: pieces.Cell, is_first: bool, side: str | None) -> Markup:
    text = element("code", cell.text) if cell.is_code and cell.text else prose(cell.text)
    drawn = share_bar(cell.share) if cell.share is not None else trend_line(cell.trend) if len(cell.trend) > 1 else None
    style = " ".join(filter(None, (side, f"tone-{cell.tone}" if cell.tone else "")))
    return element("th" if is_first else "td", drawn, text, class_=style or None, scope="row" if is_first else None)


def _heat_map(piece: pieces.HeatMap) -> Markup:
    most = max((value for row in piece.values for value in row if value), default=1)
    head = element("tr", element("th", ""), *(element("th", value, scope="col") for value in piece.columns))
    rows = (
        element("tr", element("th", name, scope="row"), *(_heat_cell(value, most) for value in values))
        for name, values in zip(piece.rows, piece.values, strict=True)
    )
    table = element("table", element("thead", head), element("tbody", *rows), class_="heat")
    return element("div", table, class_="wide", tabindex=0, role="region", aria_label=piece.what)


def _heat_cell(value: int | None, most: int) -> Markup:
    if value is None:
        return element("td", "?", class_="unknown", title="unknown: not looked at, or it could not be read")
    shade = 0 if value == 0 else 1 + min(_SHADES - 1, (value - 1) * _SHADES // max(1, most))
    return element("td", f"{value:_}" if value else "·", class_=f"h{shade}")


def _column_chart(piece: pieces.ColumnChart) -> Markup:
    return element("figure", column_chart(piece))


def _bar_chart(piece: pieces.BarChart) -> Markup:
    words = element("figcaption", prose(f"{piece.title}: {caption(piece)}"))
    return element("figure", words, bar_chart(piece), class_="half")


def _differences(piece: pieces.Differences) -> Markup:
    rows = (
        element(
            "tr",
            element("th", element("code", row.path), scope="row"),
            element("td", element("del", row.before), " → ", element("ins", row.after)),
            element("td", prose(row.words), class_=f"tone-{row.tone}" if row.tone else None),
        )
        for row in piece.rows
    )
    head = element("tr", *(element("th", word, scope="col") for word in ("field", "difference", "how it came about")))
    table = element("table", element("thead", head), element("tbody", *rows), class_="grid")
    return element("div", table, class_="wide", tabindex=0, role="region", aria_label="Fields that differ")


def _ways_out(piece: pieces.WaysOut) -> Markup:
    return together(*(element("p", "What to do: ", prose(line), ".") for line in piece.lines))


def names_paragraph(piece: pieces.Names) -> Markup:
    """Render names after their word, as many as a page can hold."""
    shown = (element("code", name) for name in piece.names[:_NAMES])
    more = f" and {len(piece.names) - _NAMES:_} more" if len(piece.names) > _NAMES else None
    return element("p", f"{piece.word} ", *(together(name_code, " ") for name_code in shown), more, class_="names")


def _folds(piece: pieces.Folds, anchors: Iterator[str]) -> Markup:
    listed = [_fold(fold, next(anchors)) for fold in piece.folds]
    more = element("p", f"{piece.left_out:_} more are not shown.", class_="quiet") if piece.left_out else None
    return together(element("div", *listed, class_="changes"), more)


def _fold(fold: pieces.Fold, anchor: str) -> Markup:
    summary = element(
        "summary",
        element("span", fold.mark, class_="mark", aria_hidden="true"),
        element("span", fold.word, class_="word"),
        element("code", fold.name, class_="address"),
        element("span", fold.about, class_="about") if fold.about else None,
        *(element("span", page_link(code), class_="code") for code in fold.codes),
        element("span", str(fold.place), class_="place") if fold.place else None,
    )
    return element(
        "details", summary, element("div", *map(_piece, fold.pieces), class_="body"),
        id=anchor, class_=f"change is-{fold.style}", data_section=fold.word, open=fold.is_open,
    )  # fmt: skip


_RENDERERS: Mapping[type[Any], Callable[[Any], Markup]] = {
    pieces.Prose: _prose, pieces.Tiles: _tiles, pieces.Grid: _grid, pieces.Differences: _differences, pieces.Names: names_paragraph,
    pieces.WaysOut: _ways_out,
    pieces.HeatMap: _heat_map, pieces.ColumnChart: _column_chart, pieces.BarChart: _bar_chart,
}  # fmt: skip
