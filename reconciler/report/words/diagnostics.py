"""Findings as lines that editors and CI logs understand: `file:line:column severity CODE address: message`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reconciler.model.diagnostic import Diagnostic, Severity, ordered
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import counted
from reconciler.report.words.visible import inert, visible

_ROLES: dict[Severity, Role] = {Severity.ERROR: "refused", Severity.WARNING: "consent", Severity.NOTE: "quiet"}


def report(diagnostics: Sequence[Diagnostic], paper: Paper | None = None) -> str:
    """Return all findings in reading order, and their count."""
    if not diagnostics:
        return ""
    paper = paper or Paper()
    counts = [] if all(map(_is_outside, diagnostics)) else [count_line(diagnostics)]
    return inert("\n".join([*lines(diagnostics, paper), *counts]) + "\n")


def lines(diagnostics: Iterable[Diagnostic], paper: Paper) -> list[str]:
    """Return each finding as one line however long, so that tools can match it; its way out follows, indented."""
    return [line for diagnostic in ordered(diagnostics) for line in _lines(diagnostic, paper)]


def _is_outside(diagnostic: Diagnostic) -> bool:
    """Is it about the world outside, not a file? Then the sentence alone says it."""
    return diagnostic.is_error and not diagnostic.span and not diagnostic.address


def _lines(diagnostic: Diagnostic, paper: Paper) -> list[str]:
    if _is_outside(diagnostic):
        return [*paper.wrapped(diagnostic.message), *paper.paragraphs(diagnostic.fix or "")]
    severity = paper.paint(diagnostic.severity.value, _ROLES[diagnostic.severity])
    place = f"{visible(str(diagnostic.span))} " if diagnostic.span else ""
    address = f" {visible(diagnostic.address)}" if diagnostic.address else ""
    line = f"{place}{severity} {diagnostic.code}{address}: {visible(diagnostic.message)}"
    return [line, *(paper.paragraphs(f"Instead: {diagnostic.fix}", 4) if diagnostic.fix else [])]


def count_line(diagnostics: Sequence[Diagnostic]) -> str:
    """Return `2 errors, 1 warning in 2 files`."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    files = {diagnostic.span.file for diagnostic in diagnostics if diagnostic.span}
    counts_text = ", ".join(counted(counts[severity], severity.value) for severity in Severity if counts[severity])
    return f"{counts_text} in {counted(len(files), 'file')}" if len(files) > 1 else counts_text
