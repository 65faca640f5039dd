"""The pieces of a report: tables, sentences, figures, charts, folds. Every format shows each of them, and knows no topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.resource import Json
from reconciler.report.words.visible import visible

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
    codes: tuple[str, ...] = ()
    """Codes in place of the text."""
    alike: tuple[str, ...] = ()
    """Everything that the text stands for, where it names only the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Rows under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()
    """The columns of numbers."""
    left_out: int = 0
    is_stacked: bool = False
    """Text puts the cells of a row below one another where they do not fit side by side."""


class ListChange(NamedTuple):
    """How one list becomes another, for lists that are too long for a line."""

    gone: str
    """The items that are only in the first; empty where there are none."""
    new: str
    kept: int
    """How many items both have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """A field with two values."""

    path: str
    before: str
    after: str
    items: ListChange | None = None
    words: str = ""
    """How it came about."""
    tone: Tone = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Fields whose values differ, one a line."""

    rows: tuple[DifferenceRow, ...]
    sides: tuple[str, str]
    """What the two values are: `live` and `wanted`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A sentence about one object, or about each of several equal ones."""

    text: str
    """The sentence; where objects differ in it, the sum."""
    each: tuple[tuple[str, str], ...] = ()
    """Addresses with a sentence for each, where these differ."""
    tone: Tone = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentToCopy:
    """Consent that would allow a change."""

    words: str
    """What stands before it: `Or consent, in the file at stream/ORDERS`."""
    entry: str
    """An entry of a file, or an option of the command."""
    language: Literal["yaml", "sh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a rule says of a change, and the way out."""

    code: str
    name: str
    status: str
    """`refused`, `needs consent`, `consented`, `warning` …"""
    tone: Tone
    """`bad`, `warn`, `info`; `good` where somebody consented."""
    statement: Statement | None = None
    """None: it stands elsewhere in the report."""
    reason: str = ""
    """Why somebody consented."""
    way_out: str = ""
    consent: ConsentToCopy | None = None

    @property
    def head(self) -> str:
        """Return `ST101 storage-change, refused.`, or `consented` and the reason that somebody gave."""
        reason = f" ({visible(self.reason).rstrip('.')})" if self.reason else ""
        return f"{self.code} {self.name}, {self.status}{reason}."


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMap:
    """The owner of each partition of a group before and after a change."""

    drawn: Mapping[str, Json]
    """`{"now": [member], "then": [member], "queued": [count]}`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names after a word; where there are many, the first ones and a count."""

    word: str
    names: tuple[str, ...]
    is_whole: bool = False
    """Text names all of them too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaysOut:
    """What to do about one entry. Text for a terminal says it once for all entries, in its last lines."""

    lines: tuple[str, ...]
    """Without a full stop."""


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
    addresses: tuple[str, ...] = ()
    """The objects it is about, for links to it."""
    about: str = ""
    place: SourceSpan | str = ""
    codes: tuple[str, ...] = ()
    style: str = ""
    """One of the page's own styles for changes: `delete`, `update`, `unknown` …"""
    pieces: tuple[Piece, ...] = ()
    is_open: bool = False

    @property
    def untold_codes(self) -> list[str]:
        """Return the codes about which no judgement below says more."""
        told = {piece.code for piece in self.pieces if isinstance(piece, Judgement)}
        return [code for code in self.codes if code not in told]


@dataclass(frozen=True, slots=True, kw_only=True)
class Folds:
    folds: tuple[Fold, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What few readers look for, below a title that says how much it is."""

    title: str
    pieces: tuple[Piece, ...]
    is_shown_in_text: bool = True
    """Otherwise text shows it only with `-v`, and a comment never does."""


Piece = (
    Grid | Differences | Statement | Judgement | PartitionMap | Names | WaysOut | Prose | Tiles | ColumnChart | HeatMap
    | BarChart | Folds | Aside
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """A heading and what is below it."""

    title: str
    pieces: tuple[Piece, ...]
    lead: str = ""
    """What there is to see, in a sentence."""
    verdict: str = ""
    """What follows from it, in a sentence: the last one in text, the first one elsewhere."""
    tone: Tone = ""
    """That of the verdict."""


def cells(*texts: str | Cell) -> tuple[Cell, ...]:
    """Return the cells of one row; a plain text becomes a cell without a tone."""
    return tuple(text if isinstance(text, Cell) else Cell(text=text) for text in texts)


def folds_of(parts: Sequence[ReportPart]) -> Iterator[Fold]:
    """Yield every fold that no other one holds."""
    for part in parts:
        for piece in part.pieces:
            if isinstance(piece, Folds):
                yield from piece.folds


def with_places(part: ReportPart, place: Callable[[SourceSpan], SourceSpan]) -> ReportPart:
    """Return the part with the place of each fold as its viewers look for it."""

    def placed(piece: Piece) -> Piece:
        return replace(piece, folds=tuple(map(placed_fold, piece.folds))) if isinstance(piece, Folds) else piece

    def placed_fold(fold: Fold) -> Fold:
        return replace(fold, place=place(fold.place)) if isinstance(fold.place, SourceSpan) else fold

    return replace(part, pieces=tuple(map(placed, part.pieces)))
