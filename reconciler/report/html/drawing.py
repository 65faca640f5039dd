"""Draws the picture of a topology as SVG. The layout is computed here, so the same plan always gives the same
drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.model.dataclass import dataclass
from reconciler.report.document.change_details import MARKS
from reconciler.report.document.entries import Section
from reconciler.report.document.picture import Arrow, Card, CardRow, Picture
from reconciler.report.html.markup import Markup, element, together
from reconciler.report.words.values import kind_noun
from reconciler.report.words.visible import columns, visible

WIDTH, HEAD, ROW = 256, 44, 22
ACROSS, DOWN, BESIDE, MARGIN = 100, 20, 16, 10
"""Gaps between cards, and around all of them."""
_LINE = 14
"""The distance at which ends of arrows still get labels."""
_APART = 4
"""How many columns hold cards without copies or origins."""


@dataclass(frozen=True, slots=True)
class Box:
    card: Card
    x: int
    y: int

    @property
    def height(self) -> int:
        """Return the height of the card in pixels, with a line for each reader and one for those left out."""
        rows = len(self.card.rows) + bool(self.card.more)
        return HEAD + rows * ROW + (8 if rows else 0)

    @property
    def middle(self) -> int:
        """Return the y coordinate where arrows leave the card: the middle of its head, not of the card."""
        return self.y + HEAD // 2


def topology_drawing(picture: Picture, anchors: Mapping[str, str]) -> Markup:
    """Draw the picture. `anchors` maps an address to the place on the page that describes its change."""
    boxes = _placed_boxes(picture)
    if not boxes:
        return Markup("")
    width = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.y + box.height for box in boxes.values()) + MARGIN
    return element(
        "svg",
        *_arrows(picture.arrows, boxes),
        *(_card(box, anchors) for box in boxes.values()),
        viewBox=f"0 0 {width} {height}", width=width, height=height, role="img",
        aria_label=f"{len(boxes)} streams and buckets with their consumers and groups",
    )  # fmt: skip


def _placed_boxes(picture: Picture) -> dict[str, Box]:
    boxes: dict[str, Box] = {}
    bottom = MARGIN
    for number, layer in enumerate(picture.layers):
        y = MARGIN
        for card in layer:
            box = Box(card, MARGIN + number * (WIDTH + ACROSS), y)
            boxes[card.address] = box
            y += box.height + DOWN
        bottom = max(bottom, y)
    ends = [bottom] * max(_APART, len(picture.layers))
    for card in picture.apart:
        column = ends.index(min(ends))
        box = Box(card, MARGIN + column * (WIDTH + BESIDE), ends[column])
        boxes[card.address] = box
        ends[column] += box.height + DOWN
    return boxes


def _arrows(arrows: Sequence[Arrow], boxes: Mapping[str, Box]) -> Iterator[Markup]:
    """Keep arrows that end at one card apart, in the order of their origins."""
    ending: dict[str, list[Arrow]] = {}
    for arrow in arrows:
        ending.setdefault(arrow.copy, []).append(arrow)
    for copy, arriving in ending.items():
        gap = boxes[copy].height // (len(arriving) + 1)
        for number, arrow in enumerate(sorted(arriving, key=lambda other: boxes[other.origin].y)):
            yield _arrow(arrow, boxes, (number + 1) * gap, is_labelled=gap >= _LINE)


def _arrow(arrow: Arrow, boxes: Mapping[str, Box], down: int, *, is_labelled: bool) -> Markup:
    start, end = boxes[arrow.origin], boxes[arrow.copy]
    x1, y1, x2, y2 = start.x + WIDTH, start.middle, end.x, end.y + down
    bend = max(40, abs(x2 - x1) // 2)
    word = f"{arrow.news} {arrow.word}".strip()
    caption = f"{_name_of(arrow.copy)} has {_name_of(arrow.origin)} as {word}"
    return element(
        "g",
        element("title", caption),
        element("path", d=f"M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2 - 7} {y2}"),
        element("path", d=f"M{x2} {y2} l-9 -5 v10 z", class_="tip"),
        element("text", word, x=x2 - 11, y=y2 - 4, class_="word", text_anchor="end") if is_labelled else None,
        class_=f"arrow {arrow.news}".strip(),
    )


def _name_of(address: str) -> str:
    return address.partition("/")[2]


def _card(box: Box, anchors: Mapping[str, str]) -> Markup:
    card = box.card
    kind, _, name = card.address.partition("/")
    kind_text = (
        "elsewhere" if kind == "elsewhere" else kind_noun(kind, 1) + (", not declared here" if card.elsewhere else "")
    )
    head = together(
        element("title", _tooltip(card.address, card.section)),
        element("rect", x=box.x, y=box.y, width=WIDTH, height=box.height, rx=8),
        element("text", kind_text, x=box.x + 12, y=box.y + 17, class_="kind"),
        element(
            "text", _cut_to_columns(_name_with_mark(name, card.section), 29), x=box.x + 12, y=box.y + 35, class_="name"
        ),
    )
    rows = [_row(row, box, number, anchors) for number, row in enumerate(card.rows)]
    if card.more:
        rows.append(
            element("text", f"and {card.more:_} more", x=box.x + 12, y=_row_baseline(box, len(rows)), class_="note")
        )
    style = " ".join(filter(None, ("card", _section_class(card.section), "elsewhere" if card.elsewhere else "")))
    return element("g", _linked(head, anchors.get(card.address)), *rows, class_=style)


def _row(row: CardRow, box: Box, number: int, anchors: Mapping[str, str]) -> Markup:
    name = row.address.split("/", 2)[2]
    y = _row_baseline(box, number)
    note = _cut_to_columns(row.note, 20)
    room = 30 - columns(note) - 2
    sign = "◈" if "group" in row.address.partition("/")[0] else "▸"
    pieces = together(
        element("title", _tooltip(row.address, row.section)),
        element(
            "text",
            _cut_to_columns(f"{sign} {_name_with_mark(name, row.section)}", room),
            x=box.x + 12,
            y=y,
            class_="row",
        ),
        element("text", note, x=box.x + WIDTH - 12, y=y, class_="note", text_anchor="end") if note else None,
    )
    return element(
        "g", _linked(pieces, anchors.get(row.address)), class_=f"reader {_section_class(row.section)}".strip()
    )


def _row_baseline(box: Box, number: int) -> int:
    return box.y + HEAD + number * ROW + 15


def _linked(pieces: Markup, anchor: str | None) -> Markup:
    return element("a", pieces, href=f"#{anchor}") if anchor else pieces


def _name_with_mark(name: str, section: Section | None) -> str:
    return f"{MARKS.get(section, '')} {name}".strip() if section is not None else name


def _tooltip(address: str, section: Section | None) -> str:
    return f"{address}: {section.name.lower()}" if section is not None else address


def _section_class(section: Section | None) -> str:
    return f"is-{section.name.lower()}" if section is not None else ""


def _cut_to_columns(text: str, most: int) -> str:
    """Cut a name to this many columns; the title holds the whole name."""
    text = visible(text)
    if columns(text) <= most:
        return text
    cut: Sequence[str] = list(text[:most])
    while columns("".join(cut)) > most - 1:
        cut = cut[:-1]
    return "".join(cut) + "…"
