"""A report about a fleet as one page that needs nothing else.

Numbers as pictures in SVG: stacked columns over time, a load on places, a share, a trend. Every figure is also
text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, log10
from typing import Any

from reconciler.fleet.formats import elements
from reconciler.fleet.formats.elements import BarChart, ColumnChart
from reconciler.report.html.html import Chip, asset, controls, page
from reconciler.report.html.markup import Markup, element, page_link, prose, together

_SHADES = 5


def render(report: elements.Report) -> str:
    """Render the page. The filter works on the list of drift, wherever that is."""
    main = element("main", *(_part(part, number) for number, part in enumerate(report.parts)))
    title = f"{report.command}: {report.heading}: {report.totals}"
    style = asset("reconciler.fleet.formats", "fleet.css")
    return page(title, together(_skip(report), _header(report), main), style)


def _skip(report: elements.Report) -> Markup | None:
    return element("a", "Skip to the first part", href="#part-0", class_="skip") if report.parts else None


def _header(report: elements.Report) -> Markup:
    contents = [
        element("a", part.title, href=f"#part-{number}") for number, part in enumerate(report.parts) if part.title
    ]
    return element(
        "header",
        element("p", f"reconciler {report.command}", class_="kicker"),
        element("h1", report.heading),
        element("p", report.totals, class_="totals"),
        element("p", report.about, class_="quiet") if report.about else None,
        *(element("p", prose(line), class_="next") for line in report.following),
        element("nav", *contents, aria_label="Parts") if len(contents) > 2 else None,
    )


def _part(part: elements.ReportPart, number: int) -> Markup:
    return element(
        "section",
        element("h2", part.title) if part.title else None,
        element("p", prose(part.lead), class_="lead") if part.lead else None,
        *map(_piece, part.pieces),
        id=f"part-{number}",
    )


def _piece(piece: elements.Piece) -> Markup:
    return _RENDERERS[type(piece)](piece)


def _prose(piece: elements.Prose) -> Markup:
    if piece.is_list:
        return element("ul", *(element("li", prose(line)) for line in piece.lines), class_="attention")
    style = f"tone-{piece.tone}" if piece.tone else None
    return together(*(element("p", prose(line), class_=style) for line in piece.lines))


def _tiles(piece: elements.Tiles) -> Markup:
    shown = (
        element(
            "div", element("dt", tile.label), element("dd", tile.value),
            element("dd", tile.note, class_="note") if tile.note else None,
            class_=f"tile tone-{tile.tone}" if tile.tone else "tile",
        )
        for tile in piece.tiles
    )  # fmt: skip
    return element("dl", *shown, class_="tiles")


def _grid(piece: elements.Grid) -> Markup:
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


def _alignment(piece: elements.Grid, column: int) -> str | None:
    return "right" if column in piece.right else None


def _cell(cell: elements.Cell, is_first: bool, side: str | None) -> Markup:
    text = element("code", cell.text) if cell.is_code and cell.text else prose(cell.text)
    drawn = share_bar(cell.share) if cell.share is not None else trend_line(cell.trend) if len(cell.trend) > 1 else None
    style = " ".join(filter(None, (side, f"tone-{cell.tone}" if cell.tone else "")))
    return element("th" if is_first else "td", drawn, text, class_=style or None, scope="row" if is_first else None)


def _heat_map(piece: elements.HeatMap) -> Markup:
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


def _column_chart(piece: elements.ColumnChart) -> Markup:
    return element("figure", column_chart(piece))


def _bar_chart(piece: elements.BarChart) -> Markup:
    words = element("figcaption", prose(f"{piece.title}: {caption(piece)}"))
    return element("figure", words, bar_chart(piece), class_="half")


def _folds(piece: elements.Folds) -> Markup:
    counts = Counter((fold.mark, fold.word) for fold in piece.folds)
    chips = [Chip(key=word, mark=mark, word=word, count=count) for (mark, word), count in counts.items()]
    listed = [_fold(fold, f"c{number}") for number, fold in enumerate(piece.folds)]
    more = element("p", f"{piece.left_out:_} more are not shown.", class_="quiet") if piece.left_out else None
    return together(controls(chips), element("div", *listed, class_="changes"), more)


def _fold(fold: elements.Fold, anchor: str) -> Markup:
    summary = element(
        "summary",
        element("span", fold.mark, class_="mark", aria_hidden="true"),
        element("span", fold.word, class_="word"),
        element("code", fold.name, class_="address"),
        element("span", fold.about, class_="about") if fold.about else None,
        *(element("span", page_link(code), class_="code") for code in fold.codes),
        element("span", fold.place, class_="place") if fold.place else None,
    )
    return element(
        "details", summary, element("div", *map(_piece, fold.pieces), class_="body"),
        id=anchor, class_=f"change is-{fold.style}", data_section=fold.word, open=fold.is_open,
    )  # fmt: skip


_RENDERERS: Mapping[type[Any], Callable[[Any], Markup]] = {
    elements.Prose: _prose, elements.Tiles: _tiles, elements.Grid: _grid,
    elements.HeatMap: _heat_map, elements.ColumnChart: _column_chart, elements.BarChart: _bar_chart, elements.Folds: _folds,
}  # fmt: skip


WIDE, HALF, HIGH = 1080, 532, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 8, 22, 40
_MOST_LABELS = 16


def column_chart(chart: ColumnChart) -> Markup:
    """Draw stacked counts; the sum is above each column, the parts in its title."""
    totals = chart.totals
    scale = Scale(max(totals, default=0))
    step = (WIDE - LEFT - RIGHT) / max(1, len(totals))
    wide = max(1.0, min(64.0, step * 0.62))
    every = ceil(len(totals) / _MOST_LABELS)
    stacks = []
    for number, label in enumerate(chart.labels):
        x = LEFT + step * number + (step - wide) / 2
        stacks.append(_stack(chart, number, x, wide, scale))
        if number % every == 0:
            stacks.append(_text(label, x + wide / 2, TOP + HIGH + 18, "tick", "middle"))
    return together(
        _drawing(f"{chart.what}, by run", WIDE, HIGH, *scale.lines(WIDE), *stacks),
        _legend([(series.name, f"t-{series.tone or 'info'}") for series in chart.series]),
    )


def _stack(chart: ColumnChart, number: int, x: float, wide: float, scale: Scale) -> Markup:
    total, y = chart.totals[number], float(TOP + HIGH)
    parts = []
    for series in chart.series:
        high = scale.high(series.values[number])
        if high:
            y -= high
            parts.append(_rect(x, y, wide, high, f"t-{series.tone or 'info'}"))
    parts_in_words = [f"{series.values[number]:_} {series.name}" for series in chart.series if series.values[number]]
    title = element("title", f"{chart.labels[number]}: {', '.join(parts_in_words) or 'nothing'}")
    return element("g", title, *parts, _text(f"{total:_}", x + wide / 2, y - 6, "figure", "middle"))


def bar_chart(chart: BarChart) -> Markup:
    """Draw one bar for each place; the part above the line of equal shares has its own colour."""
    scale = Scale(chart.top, 110)
    step = (HALF - LEFT - RIGHT) / max(1, len(chart.values))
    wide = max(1.0, step - (4 if step > 14 else 1 if step > 4 else 0))
    every = ceil(len(chart.values) / _MOST_LABELS)
    drawn = []
    for number, (label, value) in enumerate(zip(chart.labels, chart.values, strict=True)):
        x = LEFT + step * number + (step - wide) / 2
        title = element("title", f"{label}: {value:_} {chart.what}")
        drawn.append(element("g", title, *_bar(x, wide, value, chart.mean, scale)))
        if number % every == 0:
            drawn.append(_text(label, x + wide / 2, TOP + scale.tall + 16, "tick", "middle"))
    y = TOP + scale.tall - scale.high(chart.mean)
    mean = element("path", d=f"M{LEFT} {y:.1f} H{HALF - RIGHT}", class_="mean")
    label_of_chart = f"{chart.title.replace('`', '')}: {chart.what}"
    return _drawing(label_of_chart, HALF, scale.tall, *scale.lines(HALF), *drawn, mean)


def _bar(x: float, wide: float, value: float, mean: float, scale: Scale) -> Iterator[Markup]:
    ground, fair = TOP + scale.tall, min(value, mean)
    yield _rect(x, ground - scale.high(fair), wide, scale.high(fair), "t-info fair")
    if value > mean:
        yield _rect(x, ground - scale.high(value), wide, scale.high(value - mean), "t-warn")


def share_bar(part: float) -> Markup:
    """Draw a bar as long as the part is of the whole."""
    return element(
        "svg",
        element("rect", width=80, height=8, rx=2, class_="rest"),
        element("rect", width=round(80 * max(0.0, min(1.0, part))), height=8, rx=2, class_="part"),
        viewBox="0 0 80 8", width=80, height=8, class_="share", aria_hidden="true",
    )  # fmt: skip


def trend_line(values: Sequence[float]) -> Markup:
    """Draw a trend without figures: those are beside it."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = 76 / max(1, len(values) - 1)
    points = [(2 + step * number, 20 - 16 * (value - low) / span) for number, value in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element(
        "svg",
        element("polyline", points=line, class_="line"),
        element("circle", cx=f"{points[-1][0]:.1f}", cy=f"{points[-1][1]:.1f}", r=2, class_="end"),
        viewBox="0 0 80 24", width=80, height=24, class_="trend", aria_hidden="true",
    )  # fmt: skip


class Scale:
    """From a value to a height, with lines at round values."""

    def __init__(self, most: float, high: int = HIGH) -> None:
        self.step = _round_step(most)
        self.top = max(self.step, ceil(most / self.step) * self.step)
        self.tall = high

    def high(self, value: float) -> float:
        """Return the pixels from the ground up to this value."""
        return value / self.top * self.tall

    def lines(self, wide: int) -> Iterator[Markup]:
        """Draw a line and its figure at each round value from 0 to the top, across a chart of `wide` pixels."""
        for number in range(round(self.top / self.step) + 1):
            value = number * self.step
            y = TOP + self.tall - self.high(value)
            yield element("path", d=f"M{LEFT} {y:.1f} H{wide - RIGHT}", class_="grid")
            yield _text(_short_number(value), LEFT - 8, y + 4, "tick", "end")


def _round_step(most: float) -> int:
    """1, 2 or 5 times a power of ten, for about four lines."""
    if most <= 4:
        return 1
    rough = most / 4
    power = 10 ** int(log10(rough))
    return int(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough))


def _short_number(value: int) -> str:
    for sign, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= size and value % (size // 10) == 0:
            return f"{value / size:g}{sign}"
    return f"{value:_}"


def _drawing(label: str, wide: int, high: int, *inside: Markup) -> Markup:
    tall = TOP + high + BOTTOM
    return element(
        "svg", *inside, viewBox=f"0 0 {wide} {tall}", width=wide, height=tall, role="img", aria_label=label,
        class_="chart",
    )  # fmt: skip


def _rect(x: float, y: float, wide: float, high: float, style: str) -> Markup:
    return element(
        "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{wide:.1f}", height=f"{max(high, 0.5):.1f}", class_=style
    )


def _text(text: str, x: float, y: float, style: str, anchor: str) -> Markup:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", class_=style, text_anchor=anchor)


def _legend(entries: Sequence[tuple[str, str]]) -> Markup:
    return element("ul", *(element("li", name, class_=style) for name, style in entries), class_="legend")


def caption(chart: BarChart) -> str:
    """Return the caption: what the picture says in figures."""
    most = max(chart.values, default=0)
    ratio = f", {most / chart.mean:.2f} times that in the fullest" if chart.mean else ""
    return f"{chart.mean:_.0f} {chart.what} each on average{ratio}."
