"""What another server version would make of an account, worst first, as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from reconciler.journeys.upgrade.outcomes import Fate, UpgradeFinding
from reconciler.model.wire.version import Version
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import counted, show_volume
from reconciler.report.words.visible import inert, visible
from reconciler.report.words.ways_out import sentence

TITLES = {
    Fate.LOST: "gone when nats-server {version} starts",
    Fate.OFFLINE: "kept on disk, but not served by nats-server {version}",
    Fate.EMPTIED: "loses messages, or a position, when servers restart for nats-server {version}, or later",
    Fate.REFUSED: "cannot be changed there before this is repaired",
    Fate.CAPPED: "cannot grow there",
    Fate.REWRITTEN: "silently rewritten there",
}
OF_FILES = "refused by nats-server {version}"
_ROLES: dict[Fate, Role] = {
    Fate.LOST: "refused", Fate.OFFLINE: "refused", Fate.EMPTIED: "refused", Fate.REFUSED: "consent",
}  # fmt: skip
NOUNS = {"messages": "message", "consumer_count": "consumer", "pending": "pending message"}
MANY = 5
"""How many objects with the same trouble are named; -v names all."""


def upgrade_text(
    head: str, findings: Sequence[UpgradeFinding], news: Sequence[str], after: Version, paper: Paper, *, of_files: bool,
    unknown: Mapping[str, str],
) -> str:  # fmt: skip
    """Return sections by what happens, with one entry for equal messages, then what is new there, and what could not be
    read."""
    lines = [*paper.wrapped(head), ""]
    for fate, members in groupby(findings, key=lambda finding: finding.fate):
        title = OF_FILES if of_files and fate is Fate.REFUSED else TITLES[fate]
        lines += [paper.paint(_title(title.format(version=after.short)), _ROLES.get(fate, "head"))]
        lines += [
            line for entry in _groups_of_equal_findings(members) for line in _entry(entry, paper, of_files=of_files)
        ]
        lines.append("")
    if news:
        lines += ["Also worth knowing:"]
        lines += [line for item in news for line in _item_lines(item, paper)] + [""]
    lines += paper.wrapped(_sum_line(findings, after, of_files=of_files))
    for scope, why in unknown.items():
        lines += paper.wrapped(f"{scope} could not be read, so it was not judged: {why}")
    return inert("\n".join(lines) + "\n")


def _title(title: str) -> str:
    return f"{title[0].upper()}{title[1:]}:"


def _groups_of_equal_findings(findings: Iterator[UpgradeFinding]) -> list[list[UpgradeFinding]]:
    """Group equal messages, in the order in which the first of each came."""
    groups: dict[tuple[str, str, bool], list[UpgradeFinding]] = {}
    for finding in _joined_findings(findings):
        groups.setdefault((finding.code, finding.message, finding.already), []).append(finding)
    return list(groups.values())


def _joined_findings(findings: Iterator[UpgradeFinding]) -> Iterator[UpgradeFinding]:
    """Join rewritten fields of one object into one sentence."""
    for (fate, _), same in groupby(findings, key=lambda finding: (finding.fate, finding.address)):
        members = list(same)
        if fate is Fate.REWRITTEN:
            yield replace(members[0], message=", ".join(finding.message for finding in members))
        else:
            yield from members


def _entry(alike: Sequence[UpgradeFinding], paper: Paper, *, of_files: bool) -> list[str]:
    first = alike[0]
    shown = alike if paper.verbose else alike[:MANY]
    names = ", ".join(visible(finding.address) + _at_stake_text(finding.quantities) for finding in shown)
    names += f" and {len(alike) - len(shown):_} more (-v names all)" if len(shown) < len(alike) else ""
    code = f"{first.code} {first.name}. " if first.code else ""
    already = f" {_already_sentence(first.fate, of_files=of_files)}" if first.already else ""
    location = f"  {visible(str(first.span))}" if first.span else ""
    lines = [
        *paper.wrapped(names + location, 2),
        *paper.wrapped(f"{code}{sentence(first.message, first.path)}{already}", 6),
    ]
    return [*lines, *(paper.paragraphs(f"Instead: {first.fix}", 6) if first.fix else [])]


def _already_sentence(fate: Fate, *, of_files: bool) -> str:
    """Who else does it; a refusal needs no restart."""
    if of_files:
        return "So does the oldest version that these files are for (min_server)."
    return f"The running server does the same{'' if fate is Fate.REFUSED else ' at its next start'}."


def _at_stake_text(quantities: Mapping[str, int]) -> str:
    """` (1_200 messages, 3MiB, 2 consumers)`"""
    parts = [counted(quantities[name], noun) for name, noun in NOUNS.items() if name in quantities]
    if "bytes" in quantities:
        parts.insert(1, show_volume(quantities["bytes"]))
    return f" ({', '.join(parts)})" if parts else ""


def _item_lines(text: str, paper: Paper) -> list[str]:
    first, *rest = paper.wrapped(text, 4)
    return [f"  * {first[4:]}", *rest]


def _sum_line(findings: Sequence[UpgradeFinding], after: Version, *, of_files: bool) -> str:
    numbers = {fate: len({finding.address for finding in findings if finding.fate is fate}) for fate in Fate}
    by_fate = " · ".join(f"{number:_} {fate}" for fate, number in numbers.items() if number)
    if by_fate:
        return f"{by_fate} on nats-server {after.short}"
    nothing = "Nothing in these files is refused" if of_files else "Nothing is lost, refused or rewritten"
    return f"{nothing} on nats-server {after.short}."


def head_line(before: Version, after: Version, read: Mapping[str, int], place: str) -> str:
    """Return `account: 12 streams, 40 consumers judged for nats-server 2.14 (from 2.12)`."""
    counts = ", ".join(counted(number, what.removesuffix("s")) for what, number in read.items())
    return f"{place}: {counts} judged for nats-server {after.short} (from {before.short})"
