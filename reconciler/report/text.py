"""A plan as text: what stops, what hurts, what changes, what is new, what goes; the sums; what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from reconciler.changes.plan import Plan
from reconciler.report.document.blocks import block
from reconciler.report.document.document import Document
from reconciler.report.document.entries import entries
from reconciler.report.document.headline import heading, headline, sums, what_next
from reconciler.report.words import diagnostics
from reconciler.report.words.names import named
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted
from reconciler.report.words.visible import inert, lines_visible, visible


def render(document: Document) -> str:
    """Render a plan, or findings in files."""
    if document.plan is None:
        return diagnostics.report(document.diagnostics, document.paper) + inert(lines_visible(document.summary))
    found = diagnostics.report(document.diagnostics, document.paper)
    done = "".join(f"{visible(line)}\n" for line in document.outcome.splitlines())
    return inert("\n".join(filter(None, (_plan(document, document.plan), found, done, _felt(document)))))


def _felt(document: Document) -> str:
    if document.probe is None:
        return ""
    from reconciler.report.document.probe import probe_lines  # noqa: PLC0415 - only a rehearsal plays clients

    return "".join(f"{line}\n" for line in probe_lines(document.probe, document.paper))


def joined(documents: Sequence[Document]) -> str:
    """Join all reports with an empty line between them; a report with its own form keeps it."""
    return "\n".join(document.told("text", render) for document in documents)


def plan_text(plan: Plan, paper: Paper | None = None, **said: Any) -> str:
    """Return the whole report of a plan, ending in a newline; other content of a document may be `said`."""
    return render(Document(plan=plan, topology=plan.topology, paper=paper or Paper(), **said))


def _plan(document: Document, plan: Plan) -> str:
    paper, then = document.paper, what_next(document)
    if not (plan.changes or plan.diagnostics or plan.hidden or paper.verbose):
        return f"{_nothing_to_do(document, plan)}\n"
    lines = [*headline(document), ""]
    if plan.diagnostics:
        lines += [*diagnostics.lines(plan.diagnostics, paper), ""]
    lines += _spaced(block(entry, paper) for entry in entries(plan.changes))
    return inert("\n".join([*lines, *_last_lines(plan, paper, then)]) + "\n")


def _nothing_to_do(document: Document, plan: Plan) -> str:
    unmanaged = f", {len(plan.unmanaged):_} not managed here" if plan.unmanaged else ""
    return f"{heading(document)}: nothing to do, {counted(plan.kept, 'resource')} as declared{unmanaged}"


def _spaced(blocks: Iterable[list[str]]) -> list[str]:
    """Keep one-liners together, and put an empty line after an entry with details."""
    lines: list[str] = []
    was_long = False
    for one in blocks:
        if was_long:
            lines.append("")
        lines += one
        was_long = len(one) > 1
    return [*lines, ""] if lines else []


def _last_lines(plan: Plan, paper: Paper, then: str) -> list[str]:
    lines: list[str] = []
    if paper.verbose and plan.unmanaged:
        lines += [*named("live, but neither declared nor owned here; never touched:", plan.unmanaged, paper, 0), ""]
    if plan.hidden:
        lines.append(f"{counted(plan.hidden, 'change')} hidden by the selection")
    return [*lines, sums(plan, paper), *([then] if then else [])]
