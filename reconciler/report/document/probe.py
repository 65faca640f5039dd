"""What clients feel of a change, as rows that look alike in every format: object, operation, before, after, foretold
by."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reconciler.changes.rehearsal import Experience, Foresight, Probe
from reconciler.model.dataclass import dataclass
from reconciler.report.words.paper import Paper, table
from reconciler.report.words.values import counted, name_lines
from reconciler.report.words.visible import columns, visible

HEAD = ("object", "operation", "before", "after", "foretold by")
NOT_FORETOLD = "NOT FORETOLD"
MOST = 20
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


def operations_played_text(probe: Probe) -> str:
    """Return `216 operations on 8 objects`."""
    return f"{counted(probe.operations, 'operation')} on {counted(len(probe.objects), 'object')}"


def probe_verdict_sentence(probe: Probe) -> str:
    """Return the last sentence."""
    if not probe.objects:
        return f"No clients ran: {'the reasons are above' if probe.unplayed else 'nothing changes'}."
    if not probe.differences:
        return f"Nothing changes for clients: {operations_played_text(probe)}."
    if probe.unforetold_differences:
        many = len(probe.unforetold_differences)
        return (
            f"The probe failed: {counted(many, 'difference')} that the plan does not foretell. Judge "
            f"{'it' if many == 1 else 'them'} before you apply."
        )
    return "The plan foretells every difference that takes something from a client."


def probe_sums_line(probe: Probe) -> str:
    """Return `19 differences among 216 operations on 8 objects; 8 more only follow from these`."""
    many, following = len(probe.differences), len(probe.felt) - len(probe.differences)
    follows = f"; {following:_} more only {'follows' if following == 1 else 'follow'} from these" if following else ""
    return f"{counted(many, 'difference')} among {operations_played_text(probe)}{follows}"


def unaffected_objects(probe: Probe) -> list[str]:
    """Return the objects on which nothing differs."""
    felt = {experience.address for experience in probe.felt}
    return [name for name in probe.objects if name not in felt]


def unshown_and_unplayed(probe: Probe) -> Iterator[tuple[str, int, Sequence[tuple[str, str]]]]:
    """Yield what was foretold but did not show, and what was not tried: a title, how many, and the first ones with
    reasons."""
    unshown = [(f"{entry.code} {entry.address}", entry.message) for entry in probe.unshown]
    unplayed = [(entry.what, entry.why) for entry in probe.unplayed]
    for title, pairs in (("Foretold, but not shown by so short a run", unshown), ("Not tried", unplayed)):
        if pairs:
            yield title, len(pairs), _first_pairs(pairs)


def consent_note(probe: Probe) -> str:
    """Name the changes that were made as if somebody had consented; callers first check that there are any."""
    return f"These changes were made as if you had consented: {', '.join(probe.consented)}."


def _first_pairs(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    more = len(pairs) - MOST
    return [*pairs[:MOST], *([(f"and {more:_} more", "")] if more > 0 else [])]


def caveat(probe: Probe) -> str:
    """Say what so short a run cannot show."""
    return (
        f"Each stream held {probe.messages} invented messages, some of them in flight; the codes are those of a "
        "plan for this state. Effects that need more messages, or more than a second, do not show."
    )


def probe_lines(probe: Probe, paper: Paper) -> Iterator[str]:
    """Return the result of a probe for people at a terminal."""
    differing = probe_rows(probe)
    if differing:
        yield from paper.wrapped(f"{TITLE}: {probe_sums_line(probe)}.")
        yield from _difference_lines(differing, paper)
        if quiet := unaffected_objects(probe):
            yield from name_lines("Nothing differs on", quiet, paper, 0)
    if probe.consented:
        yield from paper.wrapped(consent_note(probe))
    for title, _, pairs in unshown_and_unplayed(probe):
        yield f"{title}:"
        yield from _pair_lines(pairs, paper)
    if probe.objects:
        yield from paper.wrapped(caveat(probe))
    yield from paper.wrapped(probe_verdict_sentence(probe))


def _difference_lines(differing: Sequence[ProbeRow], paper: Paper) -> list[str]:
    """Use columns where they fit, otherwise an object and an operation above what differs."""
    cells = [[row.address, row.operation, row.before, row.after, row.foretold] for row in differing]
    lines = table([list(HEAD), *cells], indent=2)
    if max(map(columns, lines)) <= paper.width:
        return lines
    lines, address = [], ""
    for row in differing:
        if row.address != address:
            address = row.address
            lines.append(f"  {visible(address)}")
        lines.append(f"    {visible(row.operation)}  [{visible(row.foretold)}]")
        lines += [f"      before  {visible(row.before)}", f"      after   {visible(row.after)}"]
    return lines


def _pair_lines(pairs: Sequence[tuple[str, str]], paper: Paper) -> list[str]:
    lines = table([list(pair) for pair in pairs], indent=2)
    if max(map(columns, lines)) <= paper.width:
        return lines
    return [line for name, why in pairs for line in paper.wrapped(f"{name}: {why}" if why else name, 2)]
