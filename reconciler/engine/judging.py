"""Changes → verdicts: every rule that concerns a change judges it. If the change becomes a replacement, the rules for
that judge it too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Registry
from reconciler.changes.rule import Rule, verdicts_of
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import View
from reconciler.engine import replacement
from reconciler.model.resource import Address
from reconciler.model.wire.version import Version

EVERYTHING = frozenset({"spec", "live", "neighbours", "facts"})
VerdictsByAddress = Mapping[Address, Sequence[Verdict]]


def verdicts_of_all(
    view: View,
    registry: Registry,
    *,
    about: Collection[Address] | None = None,
    needing: frozenset[str] = EVERYTHING,
    judge: Callable[[Sequence[Rule], Change, View], list[Verdict]] = verdicts_of,
) -> dict[Address, list[Verdict]]:
    """Verdicts `about` these addresses (None: all), from the rules that need no more than `needing`."""
    by_address = {}
    rules = _rules_by_action(registry, view.target.version, needing)
    for address in view.changes if about is None else about:
        change = view.changes[address]
        alone = replacement.without_replacement(change)
        verdicts = judge(rules(address.kind, alone.action), alone, view)
        if change.action is Action.REPLACE or replacement.replaces(verdicts):
            further = [rule for rule in rules(address.kind, Action.REPLACE) if alone.action not in rule.on]
            verdicts += judge(further, replace(change, action=Action.REPLACE), view)
        if change.origin and change.live:  # under a name of its own it is also something new
            new = [rule for rule in rules(address.kind, Action.CREATE) if alone.action not in rule.on]
            verdicts += judge(new, replace(change, action=Action.CREATE, live=None, origin=None, owned=None), view)
        if view.policies:
            replaced = change.action is Action.REPLACE or replacement.replaces(verdicts)
            final = replace(change, action=Action.REPLACE) if replaced else change
            verdicts += view.policies.judge(final, view, needing)
        if verdicts:
            by_address[address] = verdicts
    return by_address


def _rules_by_action(
    registry: Registry, version: Version, needing: frozenset[str]
) -> Callable[[str, Action], Sequence[Rule]]:
    """The rules for a kind and an action; most kept resources have none."""

    @cache
    def rules(kind: str, action: Action) -> Sequence[Rule]:
        every = (*registry[kind].rules, *registry.across)
        return [rule for rule in every if rule.concerns(kind, action, version) and rule.needs <= needing]

    return rules
