"""Verdicts for readers: what they mean for a change and how to consent; and the effects of a plan on messages and clients,
in quantities."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from reconciler.changes import consent
from reconciler.changes.change import Action, Consequence
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.model.fields import FieldInfo
from reconciler.model.policy import is_policy
from reconciler.model.selection import common_pattern
from reconciler.report.document.entries import ChangeEntry
from reconciler.report.document.pieces import ConsentToCopy, Judgement, Statement, Tone
from reconciler.report.words.values import counted, kind_noun, show_value, show_volume
from reconciler.report.words.visible import visible
from reconciler.report.words.ways_out import sentence

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


def is_worth_knowing(verdict: Verdict) -> bool:
    """Is it a warning that counts nothing?"""
    return verdict.outcome is Outcome.WARNS and not verdict.quantities


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
_TONES: Mapping[Outcome, Tone] = {Outcome.WARNS: "info", Outcome.REFUSED: "bad"}


def verdicts_to_show(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return every verdict worth showing."""
    shown = (verdict for verdict in verdicts if verdict.outcome is not Outcome.ALLOWED)
    return sorted(shown, key=lambda verdict: (not verdict.blocks, -verdict.outcome.rank))


def status_word(verdict: Verdict) -> str:
    """Say what a verdict means for the change: `refused`, `needs consent`, `consented` …"""
    if is_policy(verdict.code):
        return "waived" if verdict.consented is not None else _OF_POLICIES[verdict.outcome]
    return "consented" if verdict.consented is not None else _WORDS[verdict.outcome]


def judgement(
    verdict: Verdict, statement: Statement | None = None, way_out: str = "", consent: ConsentToCopy | None = None
) -> Judgement:
    """Return the verdict as a piece of a report. The way out matters until somebody consents."""
    is_consented = verdict.consented is not None
    tone: Tone = "good" if is_consented else _TONES.get(verdict.outcome, "warn")
    return Judgement(
        code=verdict.code, name=verdict.name, status=status_word(verdict), tone=tone, statement=statement,
        reason=verdict.consented or "", way_out="" if is_consented else way_out, consent=consent,
    )  # fmt: skip


CONSENT = ("allow: [", "--allow ", "moved: [")


def lacks_consent(verdict: Verdict) -> bool:
    """Could consent allow it, and does the way out not say how to give it?"""
    return verdict.blocks and verdict.consentable and not any(words in (verdict.fix or "") for words in CONSENT)


def is_declared(change: PlannedChange) -> bool:
    """Does the object have a place in the files where `allow` can stand? An object to be removed has none."""
    return change.action is not Action.DELETE


def consent_to_copy(verdict: Verdict, change: PlannedChange, where: str) -> ConsentToCopy | None:
    """Return the consent that would allow a change; None where there is none, or where the way out shows it. `where` says at
    which objects it is to stand."""
    if not lacks_consent(verdict):
        return None
    place = f"in the file at {where}" if is_declared(change) else "for this run"
    return ConsentToCopy(
        words=f"{'Or' if verdict.fix else 'To'} consent, {place}", entry=consent_entry(verdict, change),
        language="yaml" if is_declared(change) else "sh",
    )  # fmt: skip


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
