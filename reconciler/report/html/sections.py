"""One report on a page: its header, what stops it, its effects, the drawing, and the list of its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Severity
from reconciler.report.document.document import Document, ReportedFinding, findings_apart
from reconciler.report.document.entries import ChangeEntry, Section
from reconciler.report.document.headline import heading, moment_note, split_command, totals_line, what_next
from reconciler.report.document.judgements import effects, entry_name, status_word, verdicts_to_show
from reconciler.report.document.picture import picture
from reconciler.report.html.drawing import topology_drawing
from reconciler.report.html.markup import Markup, element, escaped, page_link, prose, together
from reconciler.report.html.parts import change, clients_section, finding_item
from reconciler.report.html.pieces import anchors_of_folds, contents, part_sections
from reconciler.report.words.visible import inert

WORDS: Mapping[Section, str] = {
    Section.REFUSED: "refused", Section.CONSENT: "needs consent", Section.UNKNOWN: "unknown",
    Section.WAITS: "waiting", Section.REPLACE: "replaced", Section.UPDATE: "changed", Section.CREATE: "created",
    Section.DELETE: "deleted", Section.KEEP: "noted", Section.ADOPT: "adopted", Section.RECORD: "recorded", Section.ORPHAN: "orphaned",
    Section.FORGET: "forgotten", Section.ABSENT: "already gone",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    document: Document
    entries: Sequence[ChangeEntry]
    prefix: str = ""
    """Stands before every name on the page."""

    @property
    def anchors(self) -> dict[str, str]:
        """Map each address to the place on the page that describes it: its change, a fold, or a finding about it."""
        by_address = {
            finding.address: f"{self.prefix}f{number}" for number, finding in reversed([*enumerate(self.beside)])
        } | anchors_of_folds(self.document.parts, self.prefix)
        for number, entry in enumerate(self.entries):
            by_address |= {change.address: f"{self.prefix}c{number}" for change in (*entry.changes, *entry.children)}
        return by_address

    @property
    def beside(self) -> list[ReportedFinding]:
        """Return findings that no change shows: wrong files, unused consents, problems of the run itself."""
        return findings_apart(self.document)


def report(shown: HtmlReport, controls: Markup | None) -> Markup:
    """Render a report, with the filter of its changes or folds where they are the only ones on the page."""
    document, anchors = shown.document, shown.anchors
    main = element(
        "main",
        _findings_section(shown, "Errors", Severity.ERROR),
        _stops_section(shown.entries, anchors),
        *part_sections(document.parts_from_root, shown.prefix, controls),
        _outcome_section(document),
        clients_section(document.probe) if document.probe else None,
        _effects_section(shown.entries, anchors),
        _findings_section(shown, "Worth knowing", Severity.WARNING, Severity.NOTE),
        _drawing_section(document, anchors),
        _changes_section(shown, anchors, controls) if document.plan else None,
    )
    return together(_header(shown), main)


def _header(shown: HtmlReport) -> Markup:
    document = shown.document
    steps = [element("p", _next_step_line(line), class_="next") for line in what_next(document).splitlines()]
    return element(
        "header",
        element("p", f"reconciler {document.command}", class_="kicker"),
        element("h1", heading(document)),
        element("p", totals_line(document), class_="totals"),
        *(
            element("p", line, class_="quiet")
            for line in (*filter(None, [document.about]), *moment_note(document.plan))
        ),
        *steps,
        contents(document.parts, shown.prefix),
    )


def _next_step_line(line: str) -> Markup:
    words, command = split_command(line)
    return together(prose(words), element("code", command) if command else None)


def _findings_section(shown: HtmlReport, title: str, *severities: Severity) -> Markup | None:
    numbered = enumerate(shown.beside)
    items = [
        finding_item(reported, f"{shown.prefix}f{number}")
        for number, reported in numbered
        if reported.severity in severities
    ]
    if not items:
        return None
    return element("section", element("h2", title), element("ul", *items, class_="findings"))


def _outcome_section(document: Document) -> Markup | None:
    if not document.outcome:
        return None
    lines = map(escaped, inert(document.outcome).splitlines()[-200:])
    return element("section", element("h2", "What was done"), element("pre", Markup("\n".join(lines))))


def _stops_section(all_entries: Sequence[ChangeEntry], anchors: Mapping[str, str]) -> Markup | None:
    """Show what prevents the plan from being applied, with links to the details."""
    items = [
        element(
            "li", element("a", element("code", entry_name(entry)), href=f"#{anchors[entry.first.address]}"), " ",
            element("b", page_link(verdict.code), f" {verdict.name}"), f", {status_word(verdict)}",
        )
        for entry in all_entries
        for verdict in verdicts_to_show(entry.first.verdicts)
        if verdict.blocks
    ]  # fmt: skip
    items += [
        element(
            "li", element("a", element("code", entry_name(entry)), href=f"#{anchors[entry.first.address]}"), " ",
            element("b", "unknown"), f": {entry.first.reason}",
        )
        for entry in all_entries
        if entry.section is Section.UNKNOWN
    ]  # fmt: skip
    if not items:
        return None
    return element("section", element("h2", "What stops the plan"), element("ul", *items))


def _effects_section(all_entries: Sequence[ChangeEntry], anchors: Mapping[str, str]) -> Markup | None:
    """Show what the plan does to messages and clients, before anybody opens a change."""
    items = [
        element(
            "li", element("a", element("code", name), href=f"#{anchors[entry.first.address]}"), ": ", prose(effect_text)
        )
        for entry in all_entries
        for name, effect_text in effects(entry)
    ]
    if not items:
        return None
    return element("section", element("h2", "Effects on messages and clients"), element("ul", *items))


def _drawing_section(document: Document, anchors: Mapping[str, str]) -> Markup | None:
    scheme = picture(document)
    if not (scheme.layers or scheme.apart):
        return None
    left = f" {scheme.left_out:_} more are not drawn." if scheme.left_out else ""
    caption = f"Arrows lead from an origin to its copies. Changed objects are marked, and link to their details.{left}"
    scene = element(
        "div",
        topology_drawing(scheme, anchors),
        class_="scene",
        tabindex=0,
        role="region",
        aria_label="Drawing of the topology",
    )
    return element(
        "section",
        element("h2", "Topology"),
        element("figure", scene, element("figcaption", caption)),
    )


def _changes_section(shown: HtmlReport, anchors: Mapping[str, str], controls: Markup | None) -> Markup:
    listed = [
        change(entry, anchors[entry.first.address], WORDS[entry.section], shown.document) for entry in shown.entries
    ]
    nothing = element("p", "Nothing would change.") if not listed else None
    return element(
        "section", element("h2", "Changes"), nothing, controls, element("div", *listed, class_="changes"),
        id=f"{shown.prefix}changes",
    )  # fmt: skip
