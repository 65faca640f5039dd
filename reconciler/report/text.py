"""A plan as text: what stops, what hurts, what changes, what is new, what goes; the sums; what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reconciler.changes.plan import Plan
from reconciler.report.document.blocks import entry_lines
from reconciler.report.document.document import Document
from reconciler.report.document.entries import ChangeEntry, entries
from reconciler.report.document.headline import heading, headline, moment_note, sums_line, what_next
from reconciler.report.document.long import reminder_lines, shortened_entries
from reconciler.report.words import diagnostics
from reconciler.report.words.names import name_lines
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted
from reconciler.report.words.visible import inert, lines_visible, visible

QUESTION = 3
"""Rows that a question takes, with the empty one above it and the answer."""


def render(document: Document) -> str:
    """Render a plan, or findings in files."""
    if document.plan is None:
        return diagnostics.report(document.diagnostics, document.paper) + inert(lines_visible(document.summary))
    diagnostics_text = diagnostics.report(document.diagnostics, document.paper)
    done = "".join(f"{visible(line)}\n" for line in document.outcome.splitlines())
    return inert(
        "\n".join(
            filter(None, (_plan_report(document, document.plan), diagnostics_text, done, _probe_report(document)))
        )
    )


def _probe_report(document: Document) -> str:
    if document.probe is None:
        return ""
    from reconciler.report.document.probe import probe_lines  # noqa: PLC0415 - only a rehearsal plays clients

    return "".join(f"{line}\n" for line in probe_lines(document.probe, document.paper))


def render_all(documents: Sequence[Document]) -> str:
    """Join all reports with an empty line between them; a report with its own form keeps it."""
    texts = [document.render_as("text", render) for document in documents]
    paper = documents[-1].paper if documents else Paper()
    is_long = len(texts) > 1 and paper.height and paper.rows(texts) >= paper.height
    return "\n".join([*texts, *(_reminders_of_previous_reports(documents[:-1]) if is_long else ())])


def _reminders_of_previous_reports(documents: Sequence[Document]) -> Iterator[str]:
    """What to remember of each report above the last one, which alone is still on the screen."""
    for document in documents:
        if document.plan and (
            lines := reminder_lines(document.plan, entries(document.plan.changes), document.paper, goes_on=False)
        ):
            yield inert("\n".join([heading(document), *lines]))


def _plan_report(document: Document, plan: Plan) -> str:
    paper, then = document.paper, what_next(document)
    if not (plan.changes or plan.diagnostics or plan.hidden or paper.verbose):
        return f"{_nothing_to_do_line(document, plan)}\n"
    head, last, every = [*headline(document), ""], _closing_lines(plan, paper, then), entries(plan.changes)
    if plan.diagnostics:
        head += [*diagnostics.lines(plan.diagnostics, paper), ""]
    lines = [*head, *_lines_with_gaps(entry_lines(entry, paper) for entry in every)]
    if paper.height and paper.rows([*lines, *last]) >= paper.height:
        lines = [*head, *_entry_lines_on_screen(document, plan, every, paper.height - paper.rows([*head, *last]))]
    return inert("\n".join([*lines, *last]) + "\n")


def _entry_lines_on_screen(document: Document, plan: Plan, every: list[ChangeEntry], room: int) -> list[str]:
    """Show the entries of a plan that is longer than the screen, which has `room` rows for them."""
    paper, rest = document.paper, list[str]()
    if document.is_asked_about and not paper.verbose:
        room -= QUESTION
        part = shortened_entries(every, paper, room)
        every, rest = part.shown, part.rest
    lines = [*_lines_with_gaps(entry_lines(entry, paper) for entry in every), *rest]
    again = reminder_lines(plan, every, paper, goes_on=document.goes_on) if paper.rows(lines) > room else []
    return [*lines, *again]


def _nothing_to_do_line(document: Document, plan: Plan) -> str:
    unmanaged = f", {len(plan.unmanaged):_} not managed here" if plan.unmanaged else ""
    return f"{heading(document)}: nothing to do, {counted(plan.kept, 'resource')} as declared{unmanaged}"


def _lines_with_gaps(blocks: Iterable[list[str]]) -> list[str]:
    """Keep one-liners together, and put an empty line after an entry with details."""
    lines: list[str] = []
    was_long = False
    for lines_of_one in blocks:
        if was_long:
            lines.append("")
        lines += lines_of_one
        was_long = len(lines_of_one) > 1
    return [*lines, ""] if lines else []


def _closing_lines(plan: Plan, paper: Paper, then: str) -> list[str]:
    lines: list[str] = []
    if paper.verbose and plan.unmanaged:
        lines += [
            *name_lines("live, but neither declared nor owned here; never touched:", plan.unmanaged, paper, 0),
            "",
        ]
    if plan.hidden:
        lines.append(f"{counted(plan.hidden, 'change')} left out of this run")
    return [
        *lines,
        *(line for note in moment_note(plan) for line in paper.wrapped(note)),
        sums_line(plan, paper),
        *([then] if then else []),
    ]
