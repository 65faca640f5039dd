"""A plan as one page that needs nothing else: no network, no server, no script to be read, and a policy that forbids them.

Sums, what stops it, a drawing of the topology, and every change with its diff. The script adds a filter and nothing more.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from reconciler.core.diagnostic import Severity
from reconciler.core.plan import PlannedChange
from reconciler.report.blocks import MARKS
from reconciler.report.document import Document, findings
from reconciler.report.drawing import drawn
from reconciler.report.effects import effects
from reconciler.report.entries import Entry, Section, entries
from reconciler.report.headline import heading, totals, what_next
from reconciler.report.html_parts import change, finding, name_of
from reconciler.report.judgements import standing, worst_first
from reconciler.report.markup import Markup, element, escaped, prose, together
from reconciler.report.picture import picture
from reconciler.report.visible import inert

WORDS: Mapping[Section, str] = {
    Section.REFUSED: "refused", Section.CONSENT: "needs consent", Section.UNKNOWN: "unknown",
    Section.WAITS: "waiting", Section.REPLACE: "replaced", Section.UPDATE: "changed", Section.CREATE: "created",
    Section.DELETE: "deleted", Section.KEEP: "noted", Section.ADOPT: "adopted", Section.ORPHAN: "orphaned",
    Section.FORGET: "forgotten", Section.ABSENT: "already gone",
}  # fmt: skip


def render(document: Document) -> str:
    shown = entries(document.changes)
    anchors = {one.address: f"c{number}" for number, entry in enumerate(shown) for one in _everyone(entry)}
    body = element(
        "body",
        element("a", "Skip to the changes", href="#changes", class_="skip"),
        _header(document),
        element(
            "main",
            _findings(document, "What is wrong", Severity.ERROR),
            _stops(shown, anchors),
            _outcome(document),
            _happening(shown, anchors),
            _findings(document, "Worth knowing", Severity.WARNING, Severity.NOTE),
            _drawing(document, anchors),
            _changes(document, shown, anchors),
        ),
        element("script", _asset("page.js")),
    )
    return "<!doctype html>\n" + element("html", _head(document), body, lang="en") + "\n"


def _everyone(entry: Entry) -> Sequence[PlannedChange]:
    return (*entry.changes, *entry.children)


@cache
def _asset(name: str) -> Markup:
    return Markup(files("reconciler.report").joinpath(name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _head(document: Document) -> Markup:
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
        element("title", f"{document.command} {document.topology}: {totals(document)}"),
        element("style", _asset("page.css")),
    )


def _header(document: Document) -> Markup:
    steps = [element("p", _command(line), class_="next") for line in what_next(document).splitlines()]
    return element(
        "header",
        element("p", f"reconciler {document.command}", class_="kicker"),
        element("h1", heading(document)),
        element("p", totals(document), class_="totals"),
        *steps,
    )


def _command(line: str) -> Markup:
    words, found, command = line.partition("reconciler ")
    return together(words, element("code", found + command) if found else None)


def _findings(document: Document, title: str, *severities: Severity) -> Markup | None:
    """What is about no change: wrong files, consents nobody needs, what the run itself met."""
    own = {one.address for one in document.changes}
    beside = (one for one in findings(document) if one.address not in own or one.standing in ("error", "note"))
    found = [finding(one) for one in beside if one.severity in severities]
    if not found:
        return None
    return element("section", element("h2", title), element("ul", *found, class_="findings"))


def _outcome(document: Document) -> Markup | None:
    if not document.outcome:
        return None
    lines = map(escaped, inert(document.outcome).splitlines()[-200:])
    return element("section", element("h2", "What was done"), element("pre", Markup("\n".join(lines))), id="outcome")


def _stops(shown: Sequence[Entry], anchors: Mapping[str, str]) -> Markup | None:
    """What keeps the plan from being applied, and where to read about it."""
    items = [
        element(
            "li", element("a", element("code", name_of(entry)), href=f"#{anchors[entry.first.address]}"), " ",
            element("b", f"{one.code} {one.name}"), f", {standing(one)}",
        )
        for entry in shown
        for one in worst_first(entry.first.verdicts)
        if one.blocks
    ]  # fmt: skip
    if not items:
        return None
    return element("section", element("h2", "What stops it"), element("ul", *items), id="stops")


def _happening(shown: Sequence[Entry], anchors: Mapping[str, str]) -> Markup | None:
    """What it does to messages and clients, before anybody opens anything."""
    items = [
        element("li", element("a", element("code", who), href=f"#{anchors[entry.first.address]}"), ": ", prose(what))
        for entry in shown
        for who, what in effects(entry)
    ]
    if not items:
        return None
    return element(
        "section", element("h2", "What it does to messages and clients"), element("ul", *items), id="effects"
    )


def _drawing(document: Document, anchors: Mapping[str, str]) -> Markup | None:
    found = picture(document)
    if not (found.layers or found.apart):
        return None
    left = f" {found.left_out:_} more are not drawn." if found.left_out else ""
    caption = f"Arrows lead from an origin to its copies. What changes is marked and leads to its details.{left}"
    scene = element(
        "div", drawn(found, anchors), class_="scene", tabindex=0, role="region", aria_label="Drawing of the topology"
    )
    return element(
        "section",
        element("h2", "Topology"),
        element("figure", scene, element("figcaption", caption)),
        id="topology",
    )


def _changes(document: Document, shown: Sequence[Entry], anchors: Mapping[str, str]) -> Markup:
    if not shown:
        nothing = "Nothing would change." if document.plan else "No plan was made."
        return element("section", element("h2", "Changes"), element("p", nothing), id="changes")
    listed = [change(entry, anchors[entry.first.address], WORDS[entry.section], document) for entry in shown]
    return element(
        "section",
        element("h2", "Changes"),
        _controls(shown),
        element("p", "Nothing here fits the filter.", id="none", class_="quiet", hidden=True),
        element("div", *listed, class_="changes"),
        id="changes",
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
        class_="controls", id="controls", hidden=True,
    )  # fmt: skip
