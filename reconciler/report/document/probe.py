"""What clients feel of a change, as rows that look alike in every format: object, operation, before, after, foretold
by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from reconciler.changes.rehearsal import Experience, Foresight, Probe
from reconciler.model.dataclass import dataclass
from reconciler.report.document.pieces import Aside, Cell, Grid, Names, Piece, Prose, ReportPart, Statement, Tone
from reconciler.report.words.values import counted

HEAD = ("object", "operation", "before", "after", "foretold by")
NOT_FORETOLD = "NOT FORETOLD"
_MOST = 20
"""How many objects that were not tried or shown are named."""
TITLE = "What clients feel, before and after"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRow:
    """Operations on one object that differ in the same way."""

    address: str
    operations: tuple[str, ...]
    before: str
    after: str
    foresight: Foresight
    foretold: str
    """Codes, or the reason why no code has to foretell it."""
    codes: tuple[str, ...] = ()
    """Those codes, where one foretells it."""

    @property
    def operation(self) -> str:
        """Name one or two operations; of more, the first one and how many others: `fetch and 3 more`."""
        more = len(self.operations) - 1
        return f"{self.operations[0]} and {more:_} more" if more > 1 else " and ".join(self.operations)


def probe_rows(probe: Probe, *only: Foresight) -> list[ProbeRow]:
    """Return rows in the order of play, those that are not foretold first. Rows that only follow from others are left
    out, unless they are asked for."""
    wanted = only or (Foresight.UNFORETOLD, Foresight.FORETOLD, Foresight.HARMLESS)
    alike: dict[object, list[Experience]] = {}
    for experience in probe.felt:
        if experience.foresight in wanted:
            alike.setdefault(_similarity_key(experience), []).append(experience)
    all_rows = [_probe_row(similar) for similar in alike.values()]
    return sorted(all_rows, key=lambda row: row.foresight is not Foresight.UNFORETOLD)


def _similarity_key(experience: Experience) -> object:
    """The key of rows that are alike except for the numbers in them."""
    return (
        experience.address,
        re.sub(r"\d+", "", experience.before),
        re.sub(r"\d+", "", experience.after),
        experience.foresight,
        experience.codes,
    )


def _probe_row(many: Sequence[Experience]) -> ProbeRow:
    first = many[0]
    without_codes = {
        Foresight.UNFORETOLD: NOT_FORETOLD, Foresight.HARMLESS: f"harmless: {first.reason}", Foresight.FOLLOWS: "follows",
    }  # fmt: skip
    return ProbeRow(
        address=first.address, operations=tuple(experience.operation for experience in many), before=in_better_words(first.before),
        after=in_better_words(first.after), foresight=first.foresight, foretold=without_codes.get(first.foresight, " ".join(first.codes)),
        codes=() if first.foresight in without_codes else first.codes,
    )  # fmt: skip


def in_better_words(experience: str) -> str:
    """Rewrite a record of the battery in better words: `1 messages, 11` is `1 message (11)`."""
    text = re.sub(r"^(\d+) from (\d+) on: ", r"\1 messages from \2 on: ", experience)
    text = re.sub(r"^(\d+ messages), (\d+(?:[ -]\d+)*)(?=,|$)", r"\1 (\2)", text)
    for pattern, better in _BETTER:
        text = pattern.sub(better, text)
    return _MANY.sub(r"\1 … \2", text)


_BETTER = (
    (re.compile(r"(?<![\d_])1 messages"), "1 message"),
    (re.compile(r"headers only (?=\d)"), "headers only: "),
    (re.compile(r"(409 Exceeded \w+) of\b"), r"\1"),
)
"""Corrects the plural, and leaves out a number in the server's own words, so that repeated runs look alike."""


_MANY = re.compile(r"\b(\d+(?:-\d+)?)(?: \d+(?:-\d+)?){3,} (\d+(?:-\d+)?)\b")
"""Longer lists of message numbers are shortened."""


def _operations_played_text(probe: Probe) -> str:
    """Return `216 operations on 8 objects`."""
    return f"{counted(probe.operations, 'operation')} on {counted(len(probe.objects), 'object')}"


def _verdict_sentence(probe: Probe) -> str:
    """Return the last sentence."""
    if not probe.objects:
        return f"No clients ran: {'the reasons are above' if probe.unplayed else 'nothing changes'}."
    if not probe.differences:
        return f"Nothing changes for clients: {_operations_played_text(probe)}."
    if probe.unforetold_differences:
        many = len(probe.unforetold_differences)
        return (
            f"The probe failed: {counted(many, 'difference')} that the plan does not foretell. Judge "
            f"{'it' if many == 1 else 'them'} before you apply."
        )
    return "The plan foretells every difference that takes something from a client."


def _sums_line(probe: Probe) -> str:
    """Return `19 differences among 216 operations on 8 objects; 8 more only follow from these`."""
    many, following = len(probe.differences), len(probe.felt) - len(probe.differences)
    follows = f"; {following:_} more only {'follows' if following == 1 else 'follow'} from these" if following else ""
    return f"{counted(many, 'difference')} among {_operations_played_text(probe)}{follows}"


def _unaffected_objects(probe: Probe) -> list[str]:
    """Return the objects on which nothing differs."""
    felt = {experience.address for experience in probe.felt}
    return [name for name in probe.objects if name not in felt]


def _as_if_consented_sentence(probe: Probe) -> str:
    """Name the changes that were made as if somebody had consented; callers first check that there are any."""
    return f"These changes were made as if you had consented: {', '.join(probe.consented)}."


def _caveat(probe: Probe) -> str:
    """Say what so short a run cannot show."""
    return (
        f"Each stream held {probe.messages} invented messages, some of them in flight; the codes are those of a "
        "plan for this state. Effects that need more messages, or more than a second, do not show."
    )


def clients_part(probe: Probe) -> ReportPart:
    """Return the part about clients: what differs, what only follows from that, and what was not shown or tried."""
    return ReportPart(
        title=TITLE, pieces=tuple(_pieces(probe)), verdict=_verdict_sentence(probe),
        tone="bad" if probe.unforetold_differences else "",
    )  # fmt: skip


def _pieces(probe: Probe) -> Iterator[Piece]:
    if differing := probe_rows(probe):
        yield Prose(lines=(f"{_sums_line(probe)}.",))
        yield _grid(differing)
    if following := probe_rows(probe, Foresight.FOLLOWS):
        number = sum(len(row.operations) for row in following)
        title = f"Follows from these: {number:_}"
        yield Aside(title=title, pieces=(_grid(following),), is_shown_in_text=False)
    if differing and (quiet := _unaffected_objects(probe)):
        yield Names(word="Nothing differs on", names=tuple(quiet))
    if probe.consented:
        yield Statement(text=_as_if_consented_sentence(probe))
    unshown = [(f"{entry.code} {entry.address}", entry.message) for entry in probe.unshown]
    unplayed = [(entry.what, entry.why) for entry in probe.unplayed]
    yield from _reasons("Foretold, but not shown by so short a run", unshown)
    yield from _reasons("Not tried", unplayed)
    if probe.objects:
        yield Statement(text=_caveat(probe), tone="quiet")


def _grid(shown: Sequence[ProbeRow]) -> Grid:
    return Grid(head=HEAD, rows=tuple(map(_cells, shown)), is_stacked=True)


_TONES: Mapping[Foresight, Tone] = {Foresight.UNFORETOLD: "bad", Foresight.HARMLESS: "quiet"}


def _cells(row: ProbeRow) -> tuple[Cell, ...]:
    address, before, after = (Cell(text=text, is_code=True) for text in (row.address, row.before, row.after))
    operation = Cell(text=row.operation, alike=row.operations if len(row.operations) > 2 else ())
    foretold = Cell(text=row.foretold, codes=row.codes, tone=_TONES.get(row.foresight, ""))
    return address, operation, before, after, foretold


def _reasons(title: str, reasons: Sequence[tuple[str, str]]) -> Iterator[Aside]:
    if reasons:
        rows = tuple((Cell(text=what, is_code=True), Cell(text=why)) for what, why in reasons[:_MOST])
        grid = Grid(head=("what", "why"), rows=rows, left_out=max(0, len(reasons) - _MOST), is_stacked=True)
        yield Aside(title=f"{title}: {len(reasons):_}", pieces=(grid,))
