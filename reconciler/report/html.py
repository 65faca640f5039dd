"""A plan as one page that needs nothing else: no network, no server, no script to be read, and a policy that forbids them.

Sums, what stops it, a drawing of the topology, and every change with its diff. The script adds a filter and nothing more.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from reconciler.report.blocks import MARKS
from reconciler.report.document import Document
from reconciler.report.entries import Entry, Section, entries
from reconciler.report.headline import totals
from reconciler.report.html_sections import WORDS, Shown, report
from reconciler.report.markup import Markup, element


def render(document: Document) -> str:
    return joined([document])


def joined(documents: Sequence[Document]) -> str:
    """One page; what has a name on it carries the number of its report."""
    shown = [
        Shown(document=document, entries=entries(document.changes), prefix=f"r{number}-" if number else "")
        for number, document in enumerate(documents)
    ]
    every = [entry for one in shown for entry in one.entries]
    controls = _controls(every) if every else None
    above, inside = (None, controls) if len(shown) == 1 else (element("div", controls, class_="above"), None)
    body = element(
        "body",
        element("a", "Skip to the changes", href="#changes", class_="skip") if shown[0].document.plan else None,
        above,
        *(report(one, inside) for one in shown),
        element("script", _asset("page.js")),
    )
    return "<!doctype html>\n" + element("html", _head(documents), body, lang="en") + "\n"


@cache
def _asset(name: str) -> Markup:
    return Markup(files("reconciler.report").joinpath(name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _head(documents: Sequence[Document]) -> Markup:
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(_asset('page.css'))}'",
            f"script-src '{_digest(_asset('page.js'))}'",
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
        element("title", "; ".join(f"{one.command} {one.topology}: {totals(one)}" for one in documents)),
        element("style", _asset("page.css")),
    )


def _controls(shown: Sequence[Entry]) -> Markup:
    """Shown by the script, which alone can serve them."""
    counts = Counter[Section]()
    for entry in shown:
        counts[entry.section] += len(entry.changes) + len(entry.children)
    buttons = [
        element(
            "button", f"{MARKS.get(section, '')} {WORDS[section]} ".lstrip(), element("b", f"{counts[section]:_}"),
            type="button", aria_pressed="false", data_section=section.name.lower(),
            class_=f"chip is-{section.name.lower()}",
        )
        for section in Section
        if counts[section]
    ]  # fmt: skip
    return element(
        "div",
        element(
            "label", "Filter ",
            element("input", type="search", id="filter", placeholder="name, field or code   ( / )", autocomplete="off"),
        ),
        element("span", *buttons, class_="chips", role="group", aria_label="Only these"),
        element("button", "open all", type="button", id="open", class_="chip"),
        element("output", id="count", for_="filter"),
        element("span", "Nothing here fits the filter.", id="none", class_="quiet", hidden=True),
        class_="controls", id="controls", hidden=True,
    )  # fmt: skip
