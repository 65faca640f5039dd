"""Renders verdicts and consequences in words: what was judged, why, and the way out; and the effects of a plan on messages
and clients, in quantities."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal, NamedTuple

from reconciler.changes import consent
from reconciler.changes.change import Action, Consequence
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.model.fields import FieldInfo
from reconciler.model.policy import is_policy
from reconciler.model.selection import common_pattern
from reconciler.report.document.entries import ChangeEntry
from reconciler.report.document.partitions import partition_lines
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import counted, kind_noun, show_value, show_volume
from reconciler.report.words.visible import visible

MOST = 20
"""How many of equal changes are named."""

Said = tuple[str, str, Verdict | Consequence]
"""An address, a sentence, and what holds the quantities in it."""


def effects(entry: ChangeEntry) -> Iterator[tuple[str, str]]:
    """Yield objects with what happens to them. Equal effects become one; of many different effects, the first few and
    the sum."""
    columns = [[of(change) for change in entry.changes] for of in _effects_in_order(entry)]
    for same in columns:
        if len(same) > 1 and len({text for _, text, _ in same}) == 1:
            yield count_and_kind(entry), sentence(same[0][1])
            continue
        yield from ((address, sentence(text)) for address, text, _ in same[:MOST])
        if len(same) > MOST:
            sums = total_sentence(source for _, _, source in same)
            yield f"and {len(same) - MOST:_} more", sums or "similar effects."


def count_and_kind(entry: ChangeEntry) -> str:
    """Return `12 streams`."""
    return f"{len(entry.changes):_} {kind_noun(entry.first.address.partition('/')[0], len(entry.changes))}"


def entry_name(entry: ChangeEntry) -> str:
    """Return the address of a single change, or `12 streams` for that many equal ones."""
    return count_and_kind(entry) if len(entry.changes) > 1 else entry.first.address


def _effects_in_order(entry: ChangeEntry) -> Sequence[Callable[[PlannedChange], Said]]:
    """The changes of an entry have equally many effects, in the same order."""
    return [
        *(_nth_consequence(number) for number in range(len(entry.first.consequences))),
        *(
            _nth_verdict(number)
            for number, verdict in enumerate(verdicts_to_show(entry.first.verdicts))
            if shows_quantities(verdict)
        ),
    ]


def shows_quantities(verdict: Verdict) -> bool:
    """Does the verdict have quantities to show here? A verdict that stops a change shows them where it stops it."""
    return bool(verdict.quantities) and not verdict.blocks


def _nth_consequence(number: int) -> Callable[[PlannedChange], Said]:
    def effect(change: PlannedChange) -> Said:
        consequence = change.consequences[number]
        return change.address, consequence.message, consequence

    return effect


def _nth_verdict(number: int) -> Callable[[PlannedChange], Said]:
    def effect(change: PlannedChange) -> Said:
        verdict = verdicts_to_show(change.verdicts)[number]
        return change.address, verdict.message, verdict

    return effect


_WORDS = {
    Outcome.WARNS: "warning", Outcome.NEEDS_CONSENT: "needs consent",
    Outcome.REPLACES: "replaces it, needs consent", Outcome.REFUSED: "refused",
}  # fmt: skip
_OF_POLICIES = _WORDS | {Outcome.NEEDS_CONSENT: "forbidden unless waived"}
_ROLES: dict[Outcome, Role] = {
    Outcome.WARNS: "update", Outcome.NEEDS_CONSENT: "consent", Outcome.REPLACES: "consent", Outcome.REFUSED: "refused",
}  # fmt: skip

_EACH = "each of them"
_ALLOW, _BELOW = re.compile(r"\s+allow: \["), "\n  allow: ["
"""Text to copy stands on a line of its own."""


def verdicts_to_show(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return every verdict worth showing."""
    shown = (verdict for verdict in verdicts if verdict.outcome is not Outcome.ALLOWED)
    return sorted(shown, key=lambda verdict: (not verdict.blocks, -verdict.outcome.rank))


def verdict_lines(verdict: Verdict, change: PlannedChange, paper: Paper, indent: int = 4, where: str = "") -> list[str]:
    """Return a verdict in wrapped lines, with the way out where it blocks the change or warns. `where` says where to
    consent."""
    lines = _headed_lines(verdict, visible(sentence(verdict.message, verdict.path)), paper, indent)
    if verdict.blocks or verdict.outcome is Outcome.WARNS:
        lines += verdict_way_out_lines(verdict, change, paper, indent, where or verdict.address)
    return lines


def sentence(message: str, path: str = "") -> str:
    """Return a message for use after a full stop: it gets a capital, unless it begins with a name, and its own full
    stop."""
    first = message.partition(" ")[0]
    if first.isalpha() and first != path:
        message = message[0].upper() + message[1:]
    return message if message[-1:] in (".", "!", "?", "…", "") else f"{message}."


def _headed_lines(verdict: Verdict, message: str, paper: Paper, indent: int) -> list[str]:
    head = verdict_head(verdict)
    first, *rest = paper.wrapped(f"{head} {message}".rstrip(), indent)
    if first.lstrip().startswith(head):
        first = " " * indent + paper.paint(head, _ROLES[verdict.outcome]) + first[indent + len(head) :]
    return [first, *rest]


def status_word(verdict: Verdict) -> str:
    """Say what a verdict means for the change: `refused`, `needs consent`, `consented` …"""
    if is_policy(verdict.code):
        return "waived" if verdict.consented is not None else _OF_POLICIES[verdict.outcome]
    return "consented" if verdict.consented is not None else _WORDS[verdict.outcome]


def verdict_head(verdict: Verdict) -> str:
    """Return `ST101 storage-change, refused.`, or `consented` and the reason that somebody gave."""
    if verdict.consented is not None:
        reason = visible(verdict.consented).rstrip(".")
        return f"{verdict.code} {verdict.name}, {status_word(verdict)} ({reason})."
    return f"{verdict.code} {verdict.name}, {status_word(verdict)}."


def way_out_lines(fix: str) -> list[str]:
    """Return the way out in lines, of which one may be copied whole."""
    return f"Instead: {_ALLOW.sub(_BELOW, fix)}".splitlines() if fix else []


class WayOutPart(NamedTuple):
    """One part of a way out."""

    form: Literal["words", "steps", "copy"]
    """Words, the steps of a numbered list without their numbers, or text to copy."""
    lines: tuple[str, ...]


_STEP = re.compile(r" *\d+\. (.*)")


def parts_of_way_out(fix: str) -> list[WayOutPart]:
    """Return the way out in parts, each of lines of one form."""
    lines = (_line_with_form(line) for line in _ALLOW.sub(_BELOW, f" {fix}").splitlines() if line.strip())
    return [
        WayOutPart(form, tuple(text for _, text in same)) for form, same in groupby(lines, key=lambda line: line[0])
    ]


def _line_with_form(line: str) -> tuple[Literal["words", "steps", "copy"], str]:
    if step := _STEP.fullmatch(line):
        return "steps", step[1]
    return "copy" if line.startswith("  ") else "words", line.strip()


def verdict_way_out_lines(verdict: Verdict, change: PlannedChange, paper: Paper, indent: int, where: str) -> list[str]:
    """Return what to do instead, and how to consent where that is possible."""
    lines: list[str] = []
    if verdict.fix:
        lines += paper.paragraphs(f"Instead: {_ALLOW.sub(_BELOW, verdict.fix)}", indent)
    if lacks_consent(verdict):
        place = f" at {where}" if is_declared(change) else ""
        lines += paper.wrapped(f"{how_to_consent(verdict, change)}{place}:", indent)
        lines.append(" " * (indent + 2) + consent_entry(verdict, change))
    return lines


CONSENT = ("allow: [", "--allow ", "moved: [")


def lacks_consent(verdict: Verdict) -> bool:
    """Could consent allow it, and does the way out not say how to give it?"""
    return verdict.blocks and verdict.consentable and not any(words in (verdict.fix or "") for words in CONSENT)


def is_declared(change: PlannedChange) -> bool:
    """Does the object have a place in the files where `allow` can stand? An object to be removed has none."""
    return change.action is not Action.DELETE


def how_to_consent(verdict: Verdict, change: PlannedChange) -> str:
    """Return the words before `consent_entry`, such as `Or consent, in the file`."""
    return f"{'Or' if verdict.fix else 'To'} consent, {'in the file' if is_declared(change) else 'for this run'}"


def consent_entry(verdict: Verdict, change: PlannedChange) -> str:
    """Return `allow: [{code: ST101, to: memory, reason: …}]`, ready to paste; where no file can hold it, the option."""
    if not is_declared(change):
        return f"--allow {shlex.quote(f'{verdict.code}={verdict.address}')}"
    return consent.allow_entry(verdict.code, _consent_value(verdict, change))


def _consent_value(verdict: Verdict, change: PlannedChange) -> str:
    """The value that a consent must name, as a file holds it."""
    return "" if verdict.to is None else show_value(verdict.to, _info_of(verdict.path, change))


def shared_consents(changes: Iterable[PlannedChange]) -> Iterator[tuple[str, str, str]]:
    """Return each code with the changes that lack consent to it, as `all 4 of them`, and the entry that gives it to
    them."""
    lacking: dict[tuple[str, str], dict[str, None]] = {}
    for change in changes:
        for verdict in change.verdicts:
            if verdict.blocks and verdict.consentable:
                lacking.setdefault((verdict.code, _consent_value(verdict, change)), {})[verdict.address] = None
    for (code, to), addresses in lacking.items():
        if len(addresses) > 1 and (on := common_pattern(addresses)):
            everywhere = {
                address
                for (other, _), lacking_addresses in lacking.items()
                if other == code
                for address in lacking_addresses
            }
            some_of = f"the {len(addresses):_} of {len(everywhere):_} {'with this value' if to else 'without a value'}"
            whom = some_of if len(addresses) < len(everywhere) else f"all {len(addresses):_} of them"
            yield code, whom, consent.allow_entry(code, to, on)


def _info_of(path: str, change: PlannedChange) -> FieldInfo:
    """The information about a path at, inside or around a changed field."""
    around = {field.path: field.info for field in change.fields}
    inside = (
        info.inside(path[len(above) + 1 :].split(".")) for above, info in around.items() if path.startswith(f"{above}.")
    )
    below = {field.removeprefix(f"{path}."): info for field, info in around.items() if field.startswith(f"{path}.")}
    return around.get(path) or next(inside, FieldInfo(nested=below))


def consequence_lines(consequence: Consequence, paper: Paper, indent: int = 4) -> list[str]:
    """Return a consequence in wrapped lines, below a map of the partitions that move, if it has one."""
    drawn = consequence.detail.get("partition_map")
    lines = partition_lines(drawn, paper, indent + 2) if drawn else []
    return [*lines, *paper.paragraphs(sentence(consequence.message), indent)]


def many_verdict_lines(changes: Sequence[PlannedChange], paper: Paper, indent: int = 4) -> list[str]:
    """Return the verdicts of equal changes: once where the words are the same, otherwise a few by name and the sum."""
    lines: list[str] = []
    for number in range(len(verdicts_to_show(changes[0].verdicts))):
        same = [verdicts_to_show(change.verdicts)[number] for change in changes]
        verdict = same[0]
        if len({other.fix for other in same}) > 1:
            verdict = replace(verdict, fix=f"{verdict.fix} (likewise for the others)")
        if len({other.message for other in same}) == 1:
            lines += verdict_lines(verdict, changes[0], paper, indent, _EACH)
            continue
        lines += _headed_lines(verdict, total_sentence(same), paper, indent)
        lines += _lines_by_address([(other.address, other.message) for other in same], paper, indent + 2)
        lines += verdict_way_out_lines(verdict, changes[0], paper, indent, _EACH)
    return lines


def many_consequence_lines(changes: Sequence[PlannedChange], paper: Paper, indent: int = 4) -> list[str]:
    """Return the consequences of equal changes: once where the words are the same, otherwise the sum and a few by
    name."""
    lines: list[str] = []
    for number, consequence in enumerate(changes[0].consequences):
        same = [(change.address, change.consequences[number]) for change in changes]
        if len({other.message for _, other in same}) == 1:
            lines += consequence_lines(consequence, paper, indent)
            continue
        lines += paper.wrapped(total_sentence([other for _, other in same]), indent)
        lines += _lines_by_address([(address, other.message) for address, other in same], paper, indent)
    return lines


def _lines_by_address(messages: Sequence[tuple[str, str]], paper: Paper, indent: int) -> list[str]:
    shown = messages if paper.verbose or len(messages) <= 4 else messages[:3]
    lines = [line for address, message in shown for line in paper.wrapped(f"{address}: {message}", indent)]
    if len(shown) < len(messages):
        lines.append(" " * indent + f"and {len(messages) - len(shown):_} more; -v shows all")
    return lines


def total_sentence(same: Iterable[Verdict | Consequence]) -> str:
    """Return `Together: up to 1_200_000 messages, 40GiB.`"""
    total: Counter[str] = Counter()
    inexact: set[str] = set()
    for source in same:
        total.update(source.quantities)
        inexact.update(source.bounds)
    amounts = (("up to " if of in inexact else "") + _amount_text(of, number) for of, number in total.items())
    return f"Together: {', '.join(amounts)}." if total else ""


def _amount_text(of: str, number: int) -> str:
    """Return `3 messages`, `1 message`, `2 redelivered`: the name of a quantity is a plural noun, or no noun."""
    words = visible(of).replace("_", " ")
    if of.startswith("bytes"):
        return f"{show_volume(number)}{words.removeprefix('bytes')}"
    return counted(number, words.removesuffix("s")) if words.endswith("s") else f"{number:_} {words}"
