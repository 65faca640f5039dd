"""Pieces of HTML and SVG that no text can break out of: every text is escaped unless it is such a piece already."""

from __future__ import annotations

import html

from reconciler.model.code_pages import rule_url
from reconciler.model.policy import is_policy
from reconciler.report.markdown.gfm import shortened
from reconciler.report.words.visible import visible

MOST = 2_000
"""The most characters of one text; the rest of a description is in the file."""
_BLOCKS = frozenset(
    {"head", "body", "meta", "title", "style", "script", "header", "main", "section", "figure", "figcaption", "nav", "h1",
     "h2", "p", "ul", "ol", "li", "table", "thead", "tbody", "tr", "details", "summary", "div", "dl", "svg", "g", "footer"}
)  # fmt: skip
_VOID = frozenset({"meta", "input", "br"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, /, *children: str | None, **attributes: str | int | bool | None) -> Markup:
    """Build an element. `class_` is `class`, `data_text` is `data-text`; None and False are left out, and True has no
    value."""
    attributes_text = "".join(map(_attribute, attributes.items()))
    end = "\n" if name in _BLOCKS else ""
    if name in _VOID:
        return Markup(f"<{name}{attributes_text}>{end}")
    inside = "".join(escaped(child) for child in children if child is not None)
    return Markup(f"<{name}{attributes_text}>{inside}</{name}>{end}")


def escaped(text: str) -> Markup:
    """Escape a text, including `##[`, which a GitHub runner obeys where a page is printed."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(shortened(visible(text), MOST)).replace("##[", "##&#91;"))


def prose(text: str) -> Markup:
    """Render a sentence; text between backticks becomes code."""
    pieces = shortened(text, MOST).split("`")
    if len(pieces) % 2 == 0:  # a backtick without its partner stays as it is
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return together(*(element("code", piece) if number % 2 else piece for number, piece in enumerate(pieces)))


def page_link(code: str) -> Markup:
    """Return a code as a link to its page, which the browser loads only when a reader follows it. Policies have none."""
    if is_policy(code):
        return element("code", code)
    return element("a", code, href=rule_url(code), rel="noopener")


def together(*pieces: str | None) -> Markup:
    """Join the pieces as one piece of markup: plain text is escaped, and None is left out."""
    return Markup("".join(escaped(piece) for piece in pieces if piece is not None))


def _attribute(item: tuple[str, str | int | bool | None]) -> str:
    name, value = item[0].rstrip("_").replace("_", "-"), item[1]
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'
