"""The pieces of a report on its page: tables, sentences, figures, charts, and folds with a filter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.report.document import pieces
from reconciler.report.html.charts import bar_chart, caption, column_chart, share_bar, trend_line
from reconciler.report.html.controls import Chip
from reconciler.report.html.markup import Markup, element, escaped, page_link, prose, together
from reconciler.report.html.partitions import partition_tables
from reconciler.report.words.ways_out import parts_of_way_out

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
            element("p", prose(part.verdict), class_=f"verdict {STYLES.get(part.tone, 'totals')}")
            if part.verdict
            else None,
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
    """Return a button for each sort of fold, with the number of objects that they are about."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for fold in pieces.folds_of(parts):
        counts[fold.style, fold.mark, fold.word] += max(1, len(fold.addresses))
    return [Chip(key=style, mark=mark, word=word, count=count) for (style, mark, word), count in counts.items()]


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
    text = _cell_text(cell)
    drawn = share_bar(cell.share) if cell.share is not None else trend_line(cell.trend) if len(cell.trend) > 1 else None
    style = " ".join(filter(None, (side, f"tone-{cell.tone}" if cell.tone else "")))
    return element("th" if is_first else "td", drawn, text, class_=style or None, scope="row" if is_first else None)


def _cell_text(cell: pieces.Cell) -> Markup:
    if cell.codes:
        return together(*(together(" " if number else None, page_link(code)) for number, code in enumerate(cell.codes)))
    text = element("code", cell.text) if cell.is_code and cell.text else prose(cell.text)
    if cell.alike:
        return element("details", element("summary", text), *(element("p", prose(one)) for one in cell.alike))
    return text


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
            element("th", row.path, _since(row), scope="row"),
            element("td", element("del", row.before)),
            element("td", element("ins", row.after)),
        )
        for row in piece.rows
    )
    head = element("tr", *(element("th", word, scope="col") for word in ("field", *piece.sides)))
    return element(
        "div", element("table", element("thead", head), element("tbody", *rows), class_="diff"), class_="wide"
    )


def _since(row: pieces.DifferenceRow) -> Markup | None:
    return element("span", prose(row.words), class_=f"since tone-{row.tone}") if row.words else None


def _statement(piece: pieces.Statement) -> Markup:
    style = f"tone-{piece.tone}" if piece.tone else "consequence"
    text = element("p", prose(piece.text), class_=style) if piece.text else None
    each = (element("li", element("code", address), ": ", prose(said)) for address, said in piece.each[:_NAMES])
    return together(text, element("ul", *each) if piece.each else None)


STYLES: Mapping[pieces.Tone, str] = {"bad": "blocks", "warn": "warns", "info": "warns", "good": "consented"}
"""How what a rule says stands out."""


def _judgement(piece: pieces.Judgement) -> Markup:
    title = element("b", page_link(piece.code), f" {piece.name}")
    head = element("p", title, " ", element("span", piece.status, class_="word"))
    reason = element("p", "Because: ", prose(piece.reason)) if piece.reason else None
    consent = (element("p", f"{piece.consent.words}:"), element("pre", piece.consent.entry)) if piece.consent else ()
    statement = _statement(piece.statement) if piece.statement else None
    return element(
        "div", head, statement, reason, *way_out_blocks(piece.way_out), *consent, class_=f"verdict {STYLES[piece.tone]}"
    )


def way_out_blocks(way_out: str) -> Iterator[Markup]:
    """Render words, steps and text to copy as blocks of their own."""
    instead = element("b", "Instead: ")
    for part in parts_of_way_out(way_out):
        if part.form == "copy":
            yield element("pre", Markup("\n".join(map(escaped, part.lines))))
        elif part.form == "steps":
            yield element("ol", *(element("li", prose(step)) for step in part.lines))
        else:
            yield element("p", instead, prose(" ".join(part.lines)))
            instead = Markup()


def _partition_map(piece: pieces.PartitionMap) -> Markup:
    return partition_tables(piece.drawn)


def _aside(piece: pieces.Aside) -> Markup:
    return element("details", element("summary", piece.title), *map(_piece, piece.pieces), class_="more")


def _ways_out(piece: pieces.WaysOut) -> Markup:
    return together(*(element("p", "What to do: ", prose(line), ".") for line in piece.lines))


def _names(piece: pieces.Names) -> Markup:
    """As many as a page can hold."""
    shown = (element("code", name) for name in piece.names[:_NAMES])
    more = f" and {len(piece.names) - _NAMES:_} more" if len(piece.names) > _NAMES else None
    return element("p", f"{piece.word} ", *(together(name_code, " ") for name_code in shown), more, class_="names")


def _folds(piece: pieces.Folds, anchors: Iterator[str]) -> Markup:
    listed = [_fold(fold, next(anchors)) for fold in piece.folds]
    more = element("p", f"{piece.left_out:_} more are not shown.", class_="quiet") if piece.left_out else None
    return together(element("div", *listed, class_="changes"), more)


def _fold(fold: pieces.Fold, anchor: str) -> Markup:
    untold = fold.untold_codes
    summary = element(
        "summary",
        element("span", fold.mark, class_="mark", aria_hidden="true"),
        element("span", fold.word, class_="word"),
        element("code", fold.name, class_="address"),
        element("span", fold.about, class_="about") if fold.about else None,
        *(element("span", page_link(code) if code in untold else code, class_="code") for code in fold.codes),
        element("span", str(fold.place), class_="place") if fold.place else None,
    )
    return element(
        "details", summary, element("div", *map(_piece, fold.pieces), class_="body"),
        id=anchor, class_=f"change is-{fold.style}", data_section=fold.style, open=fold.is_open,
    )  # fmt: skip


_RENDERERS: Mapping[type[Any], Callable[[Any], Markup]] = {
    pieces.Prose: _prose, pieces.Tiles: _tiles, pieces.Grid: _grid, pieces.Differences: _differences, pieces.Names: _names,
    pieces.WaysOut: _ways_out, pieces.Statement: _statement, pieces.Judgement: _judgement,
    pieces.PartitionMap: _partition_map, pieces.Aside: _aside,
    pieces.HeatMap: _heat_map, pieces.ColumnChart: _column_chart, pieces.BarChart: _bar_chart,
}  # fmt: skip
