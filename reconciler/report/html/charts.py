"""Draws numbers as SVG: stacked columns over time, a load on places, a share, a trend. Every figure is also text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log10

from reconciler.report.document.pieces import BarChart, ColumnChart
from reconciler.report.html.markup import Markup, element, together

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
        stacks.append(_stacked_column(chart, number, x, wide, scale))
        if number % every == 0:
            stacks.append(_text(label, x + wide / 2, TOP + HIGH + 18, "tick", "middle"))
    return together(
        _drawing(f"{chart.what}, by run", WIDE, HIGH, *scale.lines(WIDE), *stacks),
        _legend([(series.name, f"t-{series.tone or 'info'}") for series in chart.series]),
    )


def _stacked_column(chart: ColumnChart, number: int, x: float, wide: float, scale: Scale) -> Markup:
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
