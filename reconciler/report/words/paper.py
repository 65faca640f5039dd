"""The width, colours and columns of a text report. Colours never carry meaning alone; numbers are right-aligned."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from reconciler.model.dataclass import dataclass
from reconciler.report.words.visible import columns, visible

GAP = "  "


def table(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), indent: int = 0) -> list[str]:
    """Return lines without trailing spaces; `right` names the columns of numbers."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(columns, cells)) for cells in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        cells = (
            _cell(text, width, column in right) for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append((" " * indent + GAP.join(cells)).rstrip())
    return lines


def _cell(text: str, width: int, right: bool) -> str:
    space = " " * (width - columns(text))
    return space + text if right else text + space


Role = Literal["refused", "consent", "create", "update", "delete", "quiet", "head", "good"]
Paint = Callable[[str, Role], str]

_STYLES: dict[Role, str] = {
    "refused": "bold red", "consent": "bold yellow", "create": "green", "update": "yellow",
    "delete": "red", "quiet": "dim", "head": "bold", "good": "bold green",
}  # fmt: skip

_COLOURS = re.compile("\x1b\\[[0-9;]*m")

WIDTH = 100
"""The width where the reader's screen is unknown."""


def plain(text: str, _role: Role) -> str:
    """Return the text as it is, for paper without colours."""
    return text


def colour_paint() -> Paint:
    """Paint with the sixteen colours that every terminal has, so that its own theme applies."""
    from rich.color import ColorSystem  # noqa: PLC0415 - only terminals pay for it
    from rich.style import Style  # noqa: PLC0415

    styles = {role: Style.parse(style) for role, style in _STYLES.items()}
    return lambda text, role: styles[role].render(text, color_system=ColorSystem.STANDARD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    width: int = WIDTH
    height: int | None = None
    """Rows of the screen; None where it is written on none."""
    paint: Paint = plain
    verbose: bool = False

    def rows(self, lines: Iterable[str]) -> int:
        """Count the rows of the screen that these lines take, those that are wider than it included."""
        each = (line for text in lines for line in _COLOURS.sub("", text).split("\n"))
        return sum(max(1, -(-columns(line) // self.width)) for line in each)

    def wrapped(self, text: str, indent: int = 0) -> list[str]:
        """Wrap one paragraph to the width of the paper; words are never cut, so that everything can be copied."""
        text = visible(text)
        margin = " " * indent
        if columns(text) + indent <= self.width:
            return [margin + text]
        return textwrap.wrap(
            text, max(self.width, indent + 20), initial_indent=margin, subsequent_indent=margin,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip

    def paragraphs(self, text: str, indent: int = 0) -> list[str]:
        """Wrap each line on its own; indented lines stay indented."""
        lines: list[str] = []
        for line in text.splitlines():
            body = line.lstrip(" ")
            lines += self.wrapped(body, indent + len(line) - len(body))
        return lines

    def with_right(self, left: str, right: str) -> str:
        """Put `left` and, at the right edge, `right` on one line; both are unpainted."""
        if not right:
            return left
        gap = max(2, self.width - columns(left) - columns(right))
        return f"{left}{' ' * gap}{right}"

    def heading_lines(self, left: str, right: str) -> list[str]:
        """Return a heading with `right`, quiet, at the right edge; two lines where both do not fit on one."""
        if right and columns(left) + columns(right) + 2 > self.width:
            return [self.paint(left, "head"), self.paint(f"  {right}", "quiet")]
        line = self.with_right(left, right)
        return [self.paint(left, "head") + self.paint(line[len(left) :], "quiet")]
