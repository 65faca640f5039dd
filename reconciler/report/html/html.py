"""A plan as one page that needs nothing else: no network, no server, no script for reading, and a policy that forbids
them.

It shows the sums, what stops the plan, a drawing of the topology, and every change with its diff. The script only adds
a filter.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from reconciler.report.document.document import Document
from reconciler.report.document.entries import entries
from reconciler.report.document.headline import totals_line
from reconciler.report.html.controls import controls
from reconciler.report.html.markup import Markup, element, together
from reconciler.report.html.pieces import fold_chips
from reconciler.report.html.sections import HtmlReport, page_parts, report


def render_all(documents: Sequence[Document]) -> str:
    """Join several reports on one page; named elements carry the number of their report."""
    shown = [_html_report(document, f"r{number}-" if number else "") for number, document in enumerate(documents)]
    chips = fold_chips([part for item in shown for part in item.parts])
    filter_ = controls(chips) if chips else None
    above, inside = (None, filter_) if len(shown) == 1 else (element("div", filter_, class_="above"), None)
    title = "; ".join(f"{document.command} {document.name}: {totals_line(document)}" for document in documents)
    inside_page = together(_skip_link(documents[0]), above, *(report(item, inside) for item in shown))
    return _page(title, inside_page)


def _html_report(document: Document, prefix: str) -> HtmlReport:
    every = entries(document.changes)
    return HtmlReport(document=document, entries=every, parts=page_parts(document, every), prefix=prefix)


def _skip_link(document: Document) -> Markup | None:
    if document.plan:
        return element("a", "Skip to the changes", href=f"#part-{len(document.parts)}", class_="skip")
    return element("a", "Skip to the first part", href="#part-0", class_="skip") if document.parts else None


def _page(title: str, inside: Markup) -> str:
    """Return a document with the style and the script that its policy allows, and nothing else."""
    style, script = together(_asset("page.css"), _asset("pieces.css")), _asset("page.js")
    body = element("body", inside, element("script", script))
    return "<!doctype html>\n" + element("html", _head(title, style, script), body, lang="en") + "\n"


@cache
def _asset(name: str) -> Markup:
    return Markup(files("reconciler.report.html").joinpath(name).read_text(encoding="utf-8"))


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
