"""Workflow commands that GitHub shows beside the lines they name: `::error file=…,line=…,col=…,title=…::…`.

A runner obeys every line that begins with `::`, so no text from others may ever begin one.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.model.diagnostic import Severity, SourceSpan
from reconciler.report.document.document import Document, ReportedFinding, findings
from reconciler.report.document.headline import heading, totals_line
from reconciler.report.words.visible import inert, visible
from reconciler.report.words.ways_out import sentence, way_out_lines

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
MOST = 4_000
"""The most characters of one message; GitHub cuts messages longer than about 4 KiB, and nobody reads them."""


def render(document: Document) -> str:
    """Render the worst findings first, because GitHub shows only the first ten of each severity of a step."""
    return render_all([document])


def render_all(documents: Sequence[Document]) -> str:
    """Join the annotations of all reports, one report after another. What holds in several environments is one
    annotation: no other loses its place among the ten."""
    lines = list[str]()
    for document in documents:
        said = {*lines}
        lines += [line for line in map(_annotation, findings(document)) if line not in said]
        lines.append(inert(f"{heading(document)}: {totals_line(document)}"))
    return "".join(f"{line}\n" for line in lines)


def _annotation(finding: ReportedFinding) -> str:
    properties = {**_place_properties(finding.place), "title": _title(finding)}
    text = ",".join(f"{key}={_escaped_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {text}::{_escaped_data(_message(finding))}"


def _place_properties(span: SourceSpan | None) -> dict[str, str]:
    if span is None:
        return {}
    place = {"file": span.file, "line": str(span.line), "col": str(span.column)}
    if span.end_line > span.line:
        return {**place, "endLine": str(span.end_line)}
    return {**place, "endLine": str(span.end_line), "endColumn": str(span.end_column)}


def _title(finding: ReportedFinding) -> str:
    return " ".join(filter(None, (finding.code, finding.name, finding.address)))


def _message(finding: ReportedFinding) -> str:
    lines = [sentence(finding.message, finding.path)]
    if finding.consented is not None:
        lines.append(f"Consented: {finding.consented}")
    else:
        lines += way_out_lines(finding.fix)
    return "\n".join(visible(line) for line in lines)[:MOST]


def _escaped_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped_data(visible(text)).replace(":", "%3A").replace(",", "%2C")
