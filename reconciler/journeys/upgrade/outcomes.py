"""What becomes of what is there when a server of another version starts on it: judged by the very rules of plans.

A server checks every configuration it finds as if it were created anew, and every update checks all of it. So what it
refuses both as a creation and as an update that changes nothing is lost, and so is what it takes as an update to its
doom; what is refused as an update alone is kept and can only not be changed any more. What only a creation is refused (a
sealed stream, one too many) is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from reconciler.changes.diff import Action, Change
from reconciler.changes.kind import Registry
from reconciler.changes.rule import Rule, judged
from reconciler.changes.verdict import Reaction, Verdict
from reconciler.changes.view import View
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.resource import Address, Resource


class Fate(StrEnum):
    """Worst first."""

    LOST = "lost"
    OFFLINE = "offline"
    """Kept on disk, and not served by that version."""
    REFUSED = "refused"
    """Kept, but no update is accepted before this is mended; or, of a file, refused there."""
    CAPPED = "capped"
    REWRITTEN = "rewritten"

    @property
    def hurts(self) -> bool:
        """Something is lost, not served, or shut to changes; the command then exits as for a refusal."""
        return self in (Fate.LOST, Fate.OFFLINE, Fate.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeFinding:
    """One thing that happens to one object there."""

    fate: Fate
    address: str
    path: str = ""
    message: str
    code: str = ""
    name: str = ""
    fix: str | None = None
    span: SourceSpan | None = None
    quantities: Mapping[str, int] = field(default_factory=dict)
    """What goes with it, or waits for it."""
    already: bool = False
    """It would happen on the version that runs now, at its next start."""


def verdicts(
    live: Mapping[Address, Resource], view: View, registry: Registry, of_room: frozenset[int]
) -> Iterator[UpgradeFinding]:
    """What such a server loses of what is live, and what it keeps but never lets change; `view` says which server. Rules
    with one of the err_codes `of_room` are not about configurations."""
    rules = {kind: _about_configurations(registry, kind, of_room) for kind in {address.kind for address in live}}
    made, changed = (_all(action, live, view) for action in (Action.CREATE, Action.UPDATE))
    for address in live:
        about = rules[address.kind]
        refused_new = {one.code for one in _judged(about, address, made) if one.reaction is Reaction.REFUSES}
        for one in _judged(about, address, changed):
            if one.code in refused_new:
                yield finding(one, Fate.LOST)
            elif one.reaction is Reaction.REFUSES:
                yield finding(one, Fate.REFUSED)


def finding(verdict: Verdict, fate: Fate) -> UpgradeFinding:
    """What a rule said, as a finding of this fate; how much is at stake is added later."""
    return UpgradeFinding(
        fate=fate, address=verdict.address, path=verdict.path, message=verdict.message, code=verdict.code,
        name=verdict.name, fix=verdict.fix, span=verdict.span,
    )  # fmt: skip


def _about_configurations(registry: Registry, kind: str, of_room: frozenset[int]) -> list[Rule]:
    return [one for one in (*registry[kind].rules, *registry.across) if not of_room & set(one.err_codes)]


def _all(action: Action, live: Mapping[Address, Resource], view: View) -> View:
    """Everything that is there, made anew, or written again as it is."""
    changes = {
        address: Change(
            address=address,
            action=action,
            desired=resource,
            live=None if action is Action.CREATE else resource,
            where=resource.where,
        )
        for address, resource in live.items()
    }
    return replace(view, desired=live, live={} if action is Action.CREATE else live, changes=changes)


def _judged(rules: Iterable[Rule], address: Address, view: View) -> list[Verdict]:
    """What such a server itself minds; where the objection is ours alone, it opens its store all the same."""
    change, version = view.changes[address], view.target.version
    found = judged((one for one in rules if one.concerns(address.kind, change.action, version)), change, view)
    return [one for one in found if one.reaction in (Reaction.REFUSES, Reaction.DOOMS)]


def worst_first(findings: Iterable[UpgradeFinding]) -> list[UpgradeFinding]:
    """By what happens, then by address; what one rule says twice about one field is said once."""
    order = list(Fate)
    once = {(one.fate, one.address, one.code, one.path): one for one in reversed(list(findings))}
    return sorted(once.values(), key=lambda one: (order.index(one.fate), one.address, one.path))


def marked(there: Iterable[UpgradeFinding], here: Iterable[UpgradeFinding]) -> list[UpgradeFinding]:
    """What would happen on the version that runs now as well, said as such."""
    known = {(one.fate, one.address, one.code, one.path) for one in here}
    return [replace(one, already=(one.fate, one.address, one.code, one.path) in known) for one in there]
