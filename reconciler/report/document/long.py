"""A plan that is longer than the screen: what its last screen says once more, and what need not be said before a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reconciler.changes.plan import Plan
from reconciler.model.dataclass import dataclass
from reconciler.report.document.blocks import entry_lines, title_and_place, title_line
from reconciler.report.document.entries import ChangeEntry, Section, is_bare
from reconciler.report.document.headline import count_texts
from reconciler.report.document.judgements import verdict_head, worst_first
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import visible

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
    hurts = [entry for entry in every if goes_on and entry.section not in STOPS and _destroys(entry)]
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


def _destroys(entry: ChangeEntry) -> bool:
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
        verdict_head(verdict).rstrip(".")
        for verdict in worst_first(entry.first.verdicts)
        if _is_named(entry, verdict.blocks)
    ]
    return title_line(entry, "  ".join((title, "; ".join(dict.fromkeys(words)))).rstrip(), place, paper)


def _is_named(entry: ChangeEntry, blocks: bool) -> bool:
    return blocks or entry.section not in STOPS


def _plan_errors(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for diagnostic in plan.diagnostics:
        if diagnostic.is_error:
            yield str(diagnostic.span or ""), diagnostic.code, diagnostic.address or diagnostic.name


def _error_line(place: str, code: str, subject: str) -> str:
    return visible(" ".join(filter(None, (place, "error", code, subject))))
