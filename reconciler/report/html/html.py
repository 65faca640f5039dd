"""A plan as one page that needs nothing else: no network, no server, no script for reading, and a policy that forbids
them.

It shows the sums, what stops the plan, a drawing of the topology, and every change with its diff. The script only adds
a filter.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from reconciler.model.dataclass import dataclass
from reconciler.report.document.blocks import MARKS
from reconciler.report.document.document import Document
from reconciler.report.document.entries import ChangeEntry, Section, entries
from reconciler.report.document.headline import totals_line
from reconciler.report.html.markup import Markup, element, together
from reconciler.report.html.sections import WORDS, Shown, report


def render_all(documents: Sequence[Document]) -> str:
    """Join several reports on one page; named elements carry the number of their report."""
    shown = [
        Shown(document=document, entries=entries(document.changes), prefix=f"r{number}-" if number else "")
        for number, document in enumerate(documents)
    ]
    every = [entry for item in shown for entry in item.entries]
    filter_ = controls(_chips(every)) if every else None
    above, inside = (None, filter_) if len(shown) == 1 else (element("div", filter_, class_="above"), None)
    skip = element("a", "Skip to the changes", href="#changes", class_="skip") if shown[0].document.plan else None
    title = "; ".join(f"{document.command} {document.name}: {totals_line(document)}" for document in documents)
    return page(title, together(skip, above, *(report(item, inside) for item in shown)))


def page(title: str, inside: Markup, *more: Markup) -> str:
    """Return a document with the style and the script that its policy allows, and nothing else."""
    style, script = together(_asset("page.css"), *more), _asset("page.js")
    body = element("body", inside, element("script", script))
    return "<!doctype html>\n" + element("html", _head(title, style, script), body, lang="en") + "\n"


def _asset(name: str) -> Markup:
    return asset("reconciler.report.html", name)


@cache
def asset(package: str, name: str) -> Markup:
    """Read a style or a script from the directory of a package."""
    return Markup(files(package).joinpath(name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _head(title: str, style: Markup, script: Markup) -> Markup:
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", style),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A button that shows only one section of entries."""

    key: str
    mark: str
    word: str
    count: int


def _chips(every: Sequence[ChangeEntry]) -> list[Chip]:
    counts = Counter[Section]()
    for entry in every:
        counts[entry.section] += len(entry.changes) + len(entry.children)
    return [
        Chip(key=section.name.lower(), mark=MARKS.get(section, ""), word=WORDS[section], count=counts[section])
        for section in Section
        if counts[section]
    ]


def controls(chips: Sequence[Chip]) -> Markup:
    """Return the controls, which stay hidden until the script shows them."""
    buttons = [
        element(
            "button", f"{chip.mark} {chip.word} ".lstrip(), element("b", f"{chip.count:_}"),
            type="button", aria_pressed="false", data_section=chip.key, class_=f"chip is-{chip.key}",
        )
        for chip in chips
    ]  # fmt: skip
    return element(
        "div",
        element(
            "label", "Filter ",
            element("input", type="search", id="filter", placeholder="name, field or code   ( / )", autocomplete="off"),
        ),
        element("span", *buttons, class_="chips", role="group", aria_label="Show only"),
        element("button", "open all", type="button", id="open", class_="chip"),
        element("output", id="count", for_="filter"),
        element("span", "Nothing matches the filter.", id="none", class_="quiet", hidden=True),
        class_="controls", id="controls", hidden=True,
    )  # fmt: skip
