"""Too much at once: apply refuses to delete or replace more than a kind's bound, and refuses every deletion if nothing
is declared.

Usually the path, the branch or the account is wrong. Only an entry of `guards:` in the file allows that many in one
run. No option does, and `--only` merely takes fewer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

from reconciler.changes.change import Action, Change
from reconciler.changes.consent import unused_fix
from reconciler.changes.kind import Bound, Kind, Registry
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Address, is_over
from reconciler.model.topology import Guarded

DESTROYING = (Action.DELETE, Action.REPLACE)
NONE = Bound(floor=0, percent=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How much of one kind the plan deletes or replaces, and how much it may."""

    kind: str
    going: tuple[Change, ...]
    owned: int
    usual: int
    guard: Guarded | None = None
    """The entry that allows most; an entry that has ended allows nothing."""
    declares: bool = True
    """The files declare something, of any kind."""

    @property
    def is_too_much(self) -> bool:
        """The plan destroys more than is usual for the kind, and more than the file's guard allows."""
        return len(self.going) > max(self.usual, self.guard.upto if self.guard else 0)


def tally_kinds(view: View, registry: Registry, hidden: Collection[Address], today: date) -> list[Tally]:
    """One for each kind, even if none of it is destroyed. Changes at `hidden` addresses do not count."""
    owned = Counter(address.kind for address, record in view.ledger.items() if record.topology == view.topology)
    going = [
        change for address, change in view.changes.items()
        if change.action in DESTROYING and address not in hidden and _destroys_alone(change, registry, view)
    ]  # fmt: skip
    return [_tally_kind(kind, view, owned[kind.name], going, today) for kind in registry.kinds]


def _tally_kind(kind: Kind, view: View, owned: int, going: Sequence[Change], today: date) -> Tally:
    bound = kind.bound if view.desired else NONE
    counting = [guarded for guarded in view.guards if guarded.kind == kind.name and not is_over(guarded, today)]
    return Tally(
        kind=kind.name,
        going=tuple(change for change in going if change.address.kind == kind.name),
        owned=owned,
        usual=max(bound.floor, owned * bound.percent // 100),
        guard=max(counting, key=lambda guarded: guarded.upto, default=None),
        declares=bool(view.desired),
    )


def _destroys_alone(change: Change, registry: Registry, view: View) -> bool:
    """Does this plan, not an interrupted one, destroy something live on its own, not with its parent?"""
    if change.live is None or change.intent is not None:
        return False
    parent = registry.parent_of(change.address)
    above = view.changes.get(parent) if parent else None
    return above is None or above.action is not Action.DELETE


def refusals_of_mass_changes(counts: list[Tally]) -> Iterator[tuple[Address, Verdict]]:
    """One for everything that would be destroyed of a kind with too much; what would be deleted with it waits."""
    for tally in counts:
        if tally.is_too_much:
            yield from ((change.address, _refusal_of_mass_change(change, tally)) for change in tally.going)


def refusals_of_unowned_losses(
    view: View, verdicts: Mapping[Address, Sequence[Verdict]]
) -> Iterator[tuple[Address, Verdict]]:
    """Refusals for lossy changes of what this topology does not own. Consent in a file covers only what the topology
    owns: a change that deletes messages or loses a position is no way to adopt something. The user hears that before
    giving any consent. If nobody can read who owns what, this holds for everything."""
    for address, judged in verdicts.items():
        change = view.changes[address]
        if change.owned or change.live is None or change.action is not Action.UPDATE:
            continue
        lossy = next((verdict for verdict in judged if verdict.needs_consent_for_loss), None)
        if lossy:
            yield address, _refusal_of_unowned(change, lossy, ledger_known=view.ledger_known)


UNREADABLE = "its owner could not be read (no access to bucket reconciler)"
READ_FIRST = "plan and apply as a user who may use bucket reconciler"


def _refusal_of_unowned(change: Change, lossy: Verdict, *, ledger_known: bool) -> Verdict:
    why, fix = "this topology does not own it", "declare it as it is and apply once to adopt it; then change it"
    if not ledger_known:
        why, fix = UNREADABLE, READ_FIRST
    return Verdict(
        code="XX104", name="removal-of-unowned", outcome=Outcome.REFUSED, address=str(change.address), path=lossy.path,
        span=lossy.span, fix=fix,
        message=f"{why}, and apply deletes no messages or positions of what a topology does not own ({lossy.code})",
    )  # fmt: skip


def _refusal_of_mass_change(change: Change, tally: Tally) -> Verdict:
    number, upto = len(tally.going), tally.guard.upto if tally.guard else tally.usual
    many = f"this would delete or replace {number:_} of {tally.owned:_} owned resources of kind {tally.kind} at once"
    wrong = "check the path, the branch and the account"
    entry = f"  guards: [{{kind: {tally.kind}, upto: {number}, reason: …}}]"
    if tally.declares:
        code, name, why = "XX108", "mass-change", f"{many}, and {upto:_} {'is' if upto == 1 else 'are'} allowed"
        first = f"{wrong}, or take fewer in each run with --only"
    else:
        code, name = "XX109", "nothing-declared"
        why = f"the files declare nothing any more, and files that declare nothing may delete nothing: {many}"
        first = wrong
    return Verdict(
        code=code, name=name, outcome=Outcome.REFUSED, message=why, address=str(change.address), span=change.where(""),
        fix=f"{first}; if it is meant, write into the file\n{entry}", quantities={"going": number, "owned": tally.owned},
    )  # fmt: skip


def unneeded_guards(counts: list[Tally], view: View, today: date) -> Iterator[Diagnostic]:
    """Warnings about guards that have ended, and about guards without an end that nothing here needs."""
    needed = {tally.kind for tally in counts if len(tally.going) > tally.usual}
    for guard in view.guards:
        if is_over(guard, today):
            message = f"the guard of kind {guard.kind} ended on {guard.until}"
            yield _warning_about_guard(guard, "XX301", "consent-expired", message, unused_fix(is_shared=False))
        elif guard.kind not in needed and guard.until is None:
            message = f"the guard of kind {guard.kind} allows {guard.upto:_} at once, and this plan destroys no more than usual"
            fix = unused_fix(is_shared=view.is_shared(guard.where("")))
            yield _warning_about_guard(guard, "XX302", "consent-unused", message, fix)


def _warning_about_guard(guard: Guarded, code: str, name: str, message: str, fix: str) -> Diagnostic:
    return Diagnostic(severity=Severity.WARNING, code=code, name=name, message=message, span=guard.where(""), fix=fix)
