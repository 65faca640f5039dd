"""One report on a page: its header, what stops it, its effects, the drawing, and the list of its changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Severity
from reconciler.report.document.change_details import entry_fold
from reconciler.report.document.document import Document, ReportedFinding, findings_apart
from reconciler.report.document.entries import ChangeEntry, Section
from reconciler.report.document.headline import heading, moment_note, split_command, totals_line, what_next
from reconciler.report.document.judgements import effects, entry_name, status_word, verdicts_to_show
from reconciler.report.document.picture import picture
from reconciler.report.document.pieces import Fold, Folds, Piece, Prose, ReportPart, Statement
from reconciler.report.html.drawing import topology_drawing
from reconciler.report.html.markup import Markup, element, escaped, page_link, prose, together
from reconciler.report.html.pieces import anchors_of_folds, contents, part_sections, way_out_blocks
from reconciler.report.words.visible import inert
from reconciler.report.words.ways_out import sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlReport:
    document: Document
    entries: Sequence[ChangeEntry]
    parts: Sequence[ReportPart]
    """As `page_parts` returns them."""
    prefix: str = ""
    """Stands before every name on the page."""

    @property
    def anchors(self) -> dict[str, str]:
        """Map each address to the place on the page that describes it: its change, a fold, or a finding about it."""
        by_address = {
            finding.address: f"{self.prefix}f{number}" for number, finding in reversed([*enumerate(self.beside)])
        }
        return by_address | anchors_of_folds(self.parts, self.prefix)

    @property
    def beside(self) -> list[ReportedFinding]:
        """Return findings that no change shows: wrong files, unused consents, problems of the run itself."""
        return findings_apart(self.document)


def page_parts(document: Document, entries: Sequence[ChangeEntry]) -> tuple[ReportPart, ...]:
    """Return the parts of the document and, of a plan, the one with its changes; places are as viewers look for them."""
    if not document.plan:
        return document.placed(document.parts)
    folds = Folds(folds=tuple(map(_change_fold, entries)))
    piece: Piece = folds if entries else Prose(lines=("Nothing would change.",))
    return document.placed((*document.parts, ReportPart(title="Changes", pieces=(piece,))))


def report(shown: HtmlReport, controls: Markup | None) -> Markup:
    """Render a report, with the filter of its changes or folds where they are the only ones on the page."""
    document, anchors = shown.document, shown.anchors
    sections = [*part_sections(shown.parts, shown.prefix, controls)]
    first, changes = sections[: len(document.parts)], sections[len(document.parts) :]
    main = element(
        "main",
        _findings_section(shown, "Errors", Severity.ERROR),
        _stops_section(shown.entries, anchors),
        _outcome_section(document),
        *first,
        _effects_section(shown.entries, anchors),
        _findings_section(shown, "Worth knowing", Severity.WARNING, Severity.NOTE),
        _drawing_section(document, anchors),
        *changes,
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
        contents(shown.parts, shown.prefix),
    )


def _next_step_line(line: str) -> Markup:
    words, command = split_command(line)
    return together(prose(words), element("code", command) if command else None)


def _findings_section(shown: HtmlReport, title: str, *severities: Severity) -> Markup | None:
    numbered = enumerate(shown.beside)
    items = [
        _finding_item(reported, f"{shown.prefix}f{number}")
        for number, reported in numbered
        if reported.severity in severities
    ]
    if not items:
        return None
    return element("section", element("h2", title), element("ul", *items, class_="findings"))


def _finding_item(reported: ReportedFinding, anchor: str) -> Markup:
    """Render a finding as an item of a list, with its place and its way out; `anchor` is the id that links lead to."""
    place = element("span", str(reported.place), class_="place") if reported.place else None
    address = together(" ", element("code", reported.address)) if reported.address else None
    title = element("b", page_link(reported.code), f" {reported.name}")
    head = element("p", title, " ", element("span", reported.status, class_="word"), address, place)
    return element(
        "li",
        head,
        element("p", prose(sentence(reported.message))),
        *way_out_blocks(reported.fix),
        class_=f"verdict {_style_of_finding(reported)}",
        id=anchor,
    )


def _style_of_finding(reported: ReportedFinding) -> str:
    return {"error": "blocks", "warning": "warns"}.get(reported.severity.value, "consented")


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


def _change_fold(entry: ChangeEntry) -> Fold:
    fold = entry_fold(entry)
    if fold.pieces or entry.section is not Section.CREATE:
        return fold
    those = "this name" if len(entry.changes) == 1 else "one of these names"
    new = Statement(text=f"New, as the file declares it. No live object has {those}.", tone="quiet")
    return replace(fold, pieces=(new,))
