"""Decides what becomes of existing objects when a server of another version starts on their stores, by the rules of
plans.

A server checks every configuration it finds as if it had to create it, and every update checks the whole configuration.
So a configuration is lost if the server refuses it both as a creation and as an update that changes nothing, or if it
accepts the update but cannot start with it. A configuration that is refused as an update alone is kept, but can no
longer be changed. One that only a creation would refuse (a sealed stream, one too many) opens normally.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Registry
from reconciler.changes.rule import Rule, verdicts_of
from reconciler.changes.verdict import Reaction, Verdict
from reconciler.changes.view import View
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.resource import Address, Resource
from reconciler.model.shape import AddressText, Code, Count


class Fate(StrEnum):
    """What happens to an object, worst first."""

    LOST = "lost"
    OFFLINE = "offline"
    """Kept on disk, but not served by that version."""
    EMPTIED = "emptied"
    """Kept, but a restart deletes messages that its consumers have yet to process, or all that only memory keeps."""
    REFUSED = "refused"
    """Kept, but no update is accepted before this is repaired; for a file, refused there."""
    CAPPED = "capped"
    REWRITTEN = "rewritten"

    @property
    def hurts(self) -> bool:
        """Is something lost, not served, emptied, or closed to changes? Then the command exits as for a refusal."""
        return self in (Fate.LOST, Fate.OFFLINE, Fate.EMPTIED, Fate.REFUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeFinding:
    """One thing that happens to one object there."""

    fate: Fate
    """What happens to the object."""
    address: AddressText
    """The object."""
    path: str = ""
    """The field that it is about, with dots and indexes: `sources[1].filter_subject`."""
    message: str
    """What happens, in a sentence."""
    code: Code = ""
    """The code, for `reconciler explain`."""
    name: str = ""
    """The code's name."""
    fix: str | None = None
    """What to do about it."""
    span: SourceSpan | None = None
    """The place in the files."""
    quantities: Mapping[str, Count] = field(default_factory=dict)
    """What goes with the object, or waits for it: messages, bytes, consumers and pending messages."""
    already: bool = False
    """True: it would also happen on the running version at its next start, or on the oldest version of the files."""


def refused_configurations(
    live: Mapping[Address, Resource], view: View, registry: Registry, of_room: frozenset[int]
) -> Iterator[UpgradeFinding]:
    """Judge what such a server loses of the live objects, and what it keeps but never lets change. `view` names the
    server. Rules with one of the err_codes in `of_room` are not about configurations."""
    rules = {kind: _about_configurations(registry, kind, of_room) for kind in {address.kind for address in live}}
    created, changed = (_view_of_all_changes(action, live, view) for action in (Action.CREATE, Action.UPDATE))
    for address in live:
        rules_of_kind = rules[address.kind]
        refused_new = {
            verdict.code
            for verdict in _server_objections(rules_of_kind, address, created)
            if verdict.reaction is Reaction.REFUSES
        }
        for verdict in _server_objections(rules_of_kind, address, changed):
            if verdict.code in refused_new:
                yield finding(verdict, Fate.LOST)
            elif verdict.reaction is Reaction.REFUSES:
                yield finding(verdict, Fate.REFUSED)


def finding(verdict: Verdict, fate: Fate) -> UpgradeFinding:
    """Turn a verdict into a finding of this fate; the quantities at stake are added later."""
    return UpgradeFinding(
        fate=fate, address=verdict.address, path=verdict.path, message=verdict.message, code=verdict.code,
        name=verdict.name, fix=verdict.fix, span=verdict.span,
    )  # fmt: skip


def _about_configurations(registry: Registry, kind: str, of_room: frozenset[int]) -> list[Rule]:
    return [rule for rule in (*registry[kind].rules, *registry.across) if not of_room & set(rule.err_codes)]


def _view_of_all_changes(action: Action, live: Mapping[Address, Resource], view: View) -> View:
    """Every object, as a creation or as an update that changes nothing."""
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


def _server_objections(rules: Iterable[Rule], address: Address, view: View) -> list[Verdict]:
    """Keep what such a server objects to itself; where only a rule of this tool objects, the server opens its store."""
    change, version = view.changes[address], view.target.version
    verdicts = verdicts_of(
        (rule for rule in rules if rule.concerns(address.kind, change.action, version)), change, view
    )
    return [verdict for verdict in verdicts if verdict.reaction in (Reaction.REFUSES, Reaction.DOOMS)]


def worst_first(findings: Iterable[UpgradeFinding]) -> list[UpgradeFinding]:
    """Sort findings by what happens, then by address, and drop a rule's second finding about the same field."""
    order = list(Fate)
    once = {(item.fate, item.address, item.code, item.path): item for item in reversed(list(findings))}
    return sorted(once.values(), key=lambda item: (order.index(item.fate), item.address, item.path))


def marked_findings(findings: Iterable[UpgradeFinding], already_here: Iterable[UpgradeFinding]) -> list[UpgradeFinding]:
    """Mark the findings that would also happen on the running version."""
    keys = {(item.fate, item.address, item.code, item.path) for item in already_here}
    return [replace(item, already=(item.fate, item.address, item.code, item.path) in keys) for item in findings]
