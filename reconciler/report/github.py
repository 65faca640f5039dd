"""Workflow commands that GitHub shows beside the lines they name: `::error file=…,line=…,col=…,title=…::…`.

A runner obeys every line that begins with `::`, so no text from others may ever begin one.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.model.diagnostic import Severity, SourceSpan
from reconciler.report.document.document import Document, ReportedFinding, findings
from reconciler.report.document.headline import heading, totals
from reconciler.report.document.judgements import instead, sentence
from reconciler.report.words.visible import inert, visible

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
MOST = 4_000
"""The most characters of one message; GitHub cuts messages longer than about 4 KiB, and nobody reads them."""


def render(document: Document) -> str:
    """Render the worst findings first, because GitHub shows only the first ten of each severity of a step."""
    return "\n".join([*map(_annotation, findings(document)), inert(f"{heading(document)}: {totals(document)}")]) + "\n"


def joined(documents: Sequence[Document]) -> str:
    """Join the annotations of all reports, one report after another."""
    return "".join(map(render, documents))


def _annotation(one: ReportedFinding) -> str:
    properties = {**_place(one.place), "title": _title(one)}
    said = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[one.severity]} {said}::{_data(_message(one))}"


def _place(span: SourceSpan | None) -> dict[str, str]:
    if span is None:
        return {}
    place = {"file": span.file, "line": str(span.line), "col": str(span.column)}
    if span.end_line > span.line:
        return {**place, "endLine": str(span.end_line)}
    return {**place, "endLine": str(span.end_line), "endColumn": str(span.end_column)}


def _title(one: ReportedFinding) -> str:
    return " ".join(filter(None, (one.code, one.name, one.address)))


def _message(one: ReportedFinding) -> str:
    lines = [sentence(one.message, one.path)]
    if one.consented is not None:
        lines.append(f"Consented: {one.consented}")
    else:
        lines += instead(one.fix)
    return "\n".join(visible(line) for line in lines)[:MOST]


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")
