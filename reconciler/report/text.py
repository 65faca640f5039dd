"""A plan as text: what stops, what hurts, what changes, what is new, what goes; the sums; what to do next.

A plan that is longer than the screen: what its last screen says once more, and what need not be said before a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from reconciler.changes.plan import Plan
from reconciler.model.dataclass import dataclass
from reconciler.report.document.document import Document
from reconciler.report.document.entries import ChangeEntry, Section, entries, is_bare
from reconciler.report.document.entry_lines import entry_lines, title_and_place, title_line
from reconciler.report.document.headline import (
    count_texts,
    heading,
    headline,
    moment_note,
    split_command,
    sums_line,
    totals_line,
    what_next,
)
from reconciler.report.document.judgements import judgement, verdicts_to_show
from reconciler.report.document.piece_lines import part_lines
from reconciler.report.words import diagnostics
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted, name_lines
from reconciler.report.words.visible import inert, lines_visible, visible

QUESTION = 3
"""Rows that a question takes, with the empty one above it and the answer."""


def render(document: Document) -> str:
    """Render a plan, the parts of another report, or findings in files."""
    if document.plan is None:
        return inert(_report_of_parts(document) if document.parts else _report_of_findings(document))
    diagnostics_text = diagnostics.report(document.diagnostics, document.paper)
    done = "".join(f"{visible(line)}\n" for line in document.outcome.splitlines())
    parts = ("".join(f"{line}\n" for line in part_lines(part, document.paper)) for part in document.parts)
    return inert("\n".join(filter(None, (_plan_report(document, document.plan), diagnostics_text, done, *parts))))


def _report_of_findings(document: Document) -> str:
    """Show the findings, and below them one line of sums."""
    about = heading(document) if document.topology else ""
    named = ": ".join(filter(None, (about, document.summary)) if document.summary else ())
    below = [*lines_visible(named).splitlines(), *_next_lines(document)]
    return diagnostics.report(document.diagnostics, document.paper) + "".join(f"{line}\n" for line in below)


def _report_of_parts(document: Document) -> str:
    paper = document.paper
    shown = [
        paper.heading_lines(heading(document), visible(document.about)),
        diagnostics.lines(document.diagnostics, paper),
        *(part_lines(part, paper) for part in document.parts),
        [*paper.wrapped(totals_line(document)), *_next_lines(document)],
    ]
    return "\n\n".join("\n".join(lines) for lines in shown if lines) + "\n"


def _next_lines(document: Document) -> list[str]:
    """Wrap what is not to be typed."""
    said = what_next(document).splitlines()
    return [line for text in said for line in ([text] if split_command(text)[1] else document.paper.wrapped(text))]


def render_all(documents: Sequence[Document]) -> str:
    """Join all reports with an empty line between them."""
    texts = [*map(render, documents)]
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


STOPS = (Section.REFUSED, Section.CONSENT, Section.UNKNOWN)
DESTROYS = (Section.REPLACE, Section.DELETE)
FEWEST = 3
"""So many entries are said once more on however small a screen."""
LAST = 3
"""Rows for what says that there are more: an empty one on either side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """What is shown of a plan before a question."""

    shown: list[ChangeEntry]
    rest: list[str]
    """How many more there are; empty where all are shown."""


def shortened_entries(every: Sequence[ChangeEntry], paper: Paper, room: int) -> Shortened:
    """Choose everything that stops, destroys or has something said about it, and of the rest what fits into `room` rows."""
    rows = [paper.rows(lines) + (len(lines) > 1) for lines in (entry_lines(entry, paper) for entry in every)]
    left = room - LAST - sum(height for height, entry in zip(rows, every, strict=True) if not _needs_no_reading(entry))
    shown: list[ChangeEntry] = []
    more: list[ChangeEntry] = []
    for height, entry in zip(rows, every, strict=True):
        is_plain = _needs_no_reading(entry)
        left -= height if is_plain else 0
        (more if is_plain and left < 0 else shown).append(entry)
    return Shortened(shown=shown, rest=[*paper.wrapped(_rest_line(more)), ""] if more else [])


def _needs_no_reading(entry: ChangeEntry) -> bool:
    """Does nothing about it need to be read before the question?"""
    return entry.section not in (*STOPS, *DESTROYS, Section.WAITS) and all(map(is_bare, entry.changes))


def _rest_line(more: Sequence[ChangeEntry]) -> str:
    counts = Counter(entry.section for entry in more for _ in (*entry.changes, *entry.children))
    number = sum(counts.values())
    return f"… {number:_} more without consequences: {', '.join(count_texts(counts))}; -v shows them"


def reminder_lines(plan: Plan, every: Sequence[ChangeEntry], paper: Paper, *, goes_on: bool) -> list[str]:
    """Return what stops the plan, or else what it destroys, each in a line, so that the last screen tells it by itself."""
    stops = [entry for entry in every if entry.section in STOPS]
    hurts = [entry for entry in every if goes_on and entry.section not in STOPS and _is_destructive(entry)]
    wrong = [_error_line(*error) for error in _plan_errors(plan)]
    titles = [_reminder_line(entry, paper) for entry in stops]
    return [
        *_reminder_block("What stops this, once more:", [*wrong, *titles], paper),
        *_reminder_block(
            "What this deletes, replaces or has consent to, once more:",
            [_reminder_line(entry, paper) for entry in hurts],
            paper,
        ),
    ]


def _is_destructive(entry: ChangeEntry) -> bool:
    return entry.section in DESTROYS or any(
        verdict.consented for change in entry.changes for verdict in change.verdicts
    )


def _reminder_block(head: str, lines: Sequence[str], paper: Paper) -> list[str]:
    """Return at most half a screen of reminders under their head."""
    most = max(FEWEST, (paper.height or 0) // 2 - 2)
    more = [f"  and {len(lines) - most:_} more, above"] if len(lines) > most else []
    return [head, *lines[:most], *more, ""] if lines else []


def _reminder_line(entry: ChangeEntry, paper: Paper) -> str:
    title, place = title_and_place(entry)
    words = [
        judgement(verdict).head.rstrip(".")
        for verdict in verdicts_to_show(entry.first.verdicts)
        if verdict.blocks or entry.section not in STOPS
    ]
    return title_line(entry, "  ".join((title, "; ".join(dict.fromkeys(words)))).rstrip(), place, paper)


def _plan_errors(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for diagnostic in plan.diagnostics:
        if diagnostic.is_error:
            yield str(diagnostic.span or ""), diagnostic.code, diagnostic.address or diagnostic.name


def _error_line(place: str, code: str, subject: str) -> str:
    return visible(" ".join(filter(None, (place, "error", code, subject))))
