"""A plan that is longer than the screen: what its last screen says once more, and what need not be said before a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reconciler.changes.plan import Plan
from reconciler.model.dataclass import dataclass
from reconciler.report.document.blocks import block, headed, title_line
from reconciler.report.document.entries import ChangeEntry, Section, is_bare
from reconciler.report.document.headline import tallied
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


def shortened(found: Sequence[ChangeEntry], paper: Paper, room: int) -> Shortened:
    """Everything that stops, destroys or has something said about it; of the rest what fits into `room` rows."""
    rows = [paper.rows(lines) + (len(lines) > 1) for lines in (block(one, paper) for one in found)]
    left = room - LAST - sum(taken for taken, one in zip(rows, found, strict=True) if not _is_plain(one))
    shown: list[ChangeEntry] = []
    more: list[ChangeEntry] = []
    for taken, one in zip(rows, found, strict=True):
        is_plain = _is_plain(one)
        left -= taken if is_plain else 0
        (more if is_plain and left < 0 else shown).append(one)
    return Shortened(shown=shown, rest=[*paper.wrapped(_rest(more)), ""] if more else [])


def _is_plain(one: ChangeEntry) -> bool:
    """Nothing about it needs to be read by who is asked."""
    return one.section not in (*STOPS, *DESTROYS, Section.WAITS) and all(map(is_bare, one.changes))


def _rest(more: Sequence[ChangeEntry]) -> str:
    counts = Counter(one.section for one in more for _ in (*one.changes, *one.children))
    number = sum(counts.values())
    return f"… {number:_} more without consequences: {', '.join(tallied(counts))}; -v shows them"


def once_more(plan: Plan, found: Sequence[ChangeEntry], paper: Paper, *, goes_on: bool) -> list[str]:
    """What stops the plan, or else what it destroys, each in a line: the last screen tells it by itself."""
    stops = [one for one in found if one.section in STOPS]
    hurts = [one for one in found if goes_on and one.section not in STOPS and _hurts(one)]
    wrong = [_error(*said) for said in _errors(plan)]
    titles = [_line(one, paper) for one in stops]
    return [
        *_block("What stops this, once more:", [*wrong, *titles], paper),
        *_block(
            "What this deletes, replaces or has consent to, once more:", [_line(one, paper) for one in hurts], paper
        ),
    ]


def _hurts(one: ChangeEntry) -> bool:
    return one.section in DESTROYS or any(verdict.consented for change in one.changes for verdict in change.verdicts)


def _block(head: str, lines: Sequence[str], paper: Paper) -> list[str]:
    """At most half a screen."""
    most = max(FEWEST, (paper.height or 0) // 2 - 2)
    more = [f"  and {len(lines) - most:_} more, above"] if len(lines) > most else []
    return [head, *lines[:most], *more, ""] if lines else []


def _line(one: ChangeEntry, paper: Paper) -> str:
    title, place = headed(one)
    words = [
        verdict_head(verdict).rstrip(".") for verdict in worst_first(one.first.verdicts) if _counts(one, verdict.blocks)
    ]
    return title_line(one, "  ".join((title, "; ".join(dict.fromkeys(words)))).rstrip(), place, paper)


def _counts(one: ChangeEntry, blocks: bool) -> bool:
    return blocks or one.section not in STOPS


def _errors(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for one in plan.diagnostics:
        if one.is_error:
            yield str(one.span or ""), one.code, one.address or one.name


def _error(place: str, code: str, what: str) -> str:
    return visible(" ".join(filter(None, (place, "error", code, what))))
