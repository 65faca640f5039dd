"""The pieces of a report: tables, sentences, figures, charts, folds. Every format shows each of them, and knows no topic."""

from __future__ import annotations

from typing import Literal

from reconciler.model.dataclass import dataclass

Tone = Literal["", "bad", "warn", "good", "info", "odd", "quiet"]
"""How much something matters; a word always says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    text: str
    tone: Tone = ""
    is_code: bool = False
    share: float | None = None
    """0 to 1: a bar beside the text."""
    trend: tuple[float, ...] = ()
    """Values over time: a small line beside the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()
    """The columns of numbers."""
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Sentences, each a paragraph; text in backticks is code."""

    lines: tuple[str, ...]
    tone: Tone = ""
    is_list: bool = False
    """Tasks to look at, one after another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure that people look for first."""

    label: str
    value: str
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    name: str
    values: tuple[int, ...]
    tone: Tone = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChart:
    """Counts over time, stacked."""

    labels: tuple[str, ...]
    series: tuple[Series, ...]
    what: str
    """What is counted: `drifted objects`."""

    @property
    def totals(self) -> tuple[int, ...]:
        """Return the sum of all series at each label; empty where there are no series."""
        return tuple(map(sum, zip(*(series.values for series in self.series), strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """A number where a row meets a column; None: unknown."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[int | None, ...], ...]
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart:
    """A load on neighbouring places, with the line of equal shares."""

    title: str
    labels: tuple[str, ...]
    values: tuple[int, ...]
    what: str
    most: int = 0
    """The top of the scale, where several are to be compared."""

    @property
    def top(self) -> int:
        """Return the largest of `most` and the values; never below 0."""
        return max(self.most, *self.values, 0)

    @property
    def mean(self) -> float:
        """Return the average of the values, where the line of the chart is; 0 without values."""
        return sum(self.values) / len(self.values) if self.values else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One thing in a line, with its details below."""

    mark: str
    word: str
    name: str
    about: str = ""
    place: str = ""
    codes: tuple[str, ...] = ()
    style: str = ""
    """One of the page's own styles for changes: `delete`, `update`, `unknown` …"""
    pieces: tuple[Piece, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    folds: tuple[Fold, ...]
    left_out: int = 0


Piece = Grid | Prose | Tiles | ColumnChart | HeatMap | BarChart | Folds


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """A heading and what is below it."""

    title: str
    pieces: tuple[Piece, ...]
    lead: str = ""
    """What there is to see, in a sentence."""


def cells(*texts: str | Cell) -> tuple[Cell, ...]:
    """Return the cells of one row; a plain text becomes a cell without a tone."""
    return tuple(text if isinstance(text, Cell) else Cell(text=text) for text in texts)
