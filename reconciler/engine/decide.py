"""Changes → verdicts → steps → plan: all decisions, in one pass over data and without any I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from reconciler.changes import consent, stages
from reconciler.changes.change import Action, Change
from reconciler.changes.kind import Kind, Registry
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.changes.view import View
from reconciler.engine import guards, order, replacement
from reconciler.engine.idle_patterns import idle_patterns
from reconciler.engine.judging import VerdictsByAddress, verdicts_of_all
from reconciler.engine.pairing.take_over import unused_take_overs
from reconciler.engine.pairing.unfinished import INTERRUPTED, RESUMED
from reconciler.model.code_pages import PLANNING
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.ledger.records import Owned, managed_fields
from reconciler.model.policy import is_policy
from reconciler.model.resource import Address, Config, Consent
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Allowed
from reconciler.model.wire.questions import Question
from reconciler.model.wire.steps import Step
from reconciler.model.wire.version import SUPPORTED

SILENT = frozenset({Action.KEEP, Action.ABSENT})
"""Not worth a line unless a rule judged something about them."""
Unjudged = Mapping[str, Collection[Address]]
"""Codes of rules that could not judge, and the addresses they could not judge, because no account was read."""
NOTHING: Unjudged = {}


def unanswered_questions(
    view: View, registry: Registry, addresses: Collection[Address] | None = None
) -> list[Question]:
    """Reads that depend on the changes (at these `addresses`; None: all) and are not answered yet. Their answers may lead to
    more questions."""
    changes = view.changes.values() if addresses is None else (view.changes[address] for address in addresses)
    changing = (change for change in changes if change.action.writes or change.made_anew)
    wanted = dict.fromkeys(q for change in changing for q in registry.of(change.address).questions(change, view))
    return [question for question in wanted if question not in view.facts]


def decide(
    view: View,
    registry: Registry,
    options: RunOptions,
    judged: VerdictsByAddress | None = None,
    unjudged: Unjudged = NOTHING,
) -> Plan:
    """Judge every change (unless that was done), blocks what must not be done, and makes the steps of the rest."""
    findings = verdicts_of_all(view, registry) if judged is None else judged
    view = _with_allowances(view, findings)
    verdicts = {
        address: tuple(
            _with_consent(verdict, view.changes[address], registry.of(address), options)
            for verdict in _without_repeated_warnings(each)
        )
        for address, each in findings.items()
    }
    manner = {a: replacement.with_final_action(change, verdicts.get(a, ())) for a, change in view.changes.items()}
    view = replace(view, changes=manner)
    hidden = _hidden_addresses(view, options)
    tallies = guards.tally_kinds(view, registry, hidden, options.day)
    for address, refusal in (
        *guards.refusals_of_mass_changes(tallies),
        *guards.refusals_of_unowned_losses(view, verdicts),
        *view.refusals,
    ):
        verdicts[address] = (*verdicts.get(address, ()), refusal)
    blocked = hidden | {a for a, findings in verdicts.items() if any(v.blocks for v in findings)}
    blocked |= {a for a, change in view.changes.items() if change.action is Action.UNKNOWN}
    edges = order.build_graph(view.changes, registry, view)
    waiting = order.find_blocked(edges, view.changes, blocked, registry)
    going = {a: c for a, c in view.changes.items() if c.action.writes and a not in blocked and a not in waiting}
    steps = dict(_steps_by_stage(going, edges, registry, view, verdicts, options))
    planned = [
        _planned_change(
            change, verdicts.get(address, ()), waiting.get(address), registry.of(address), view, options, edges
        )
        for address, change in view.changes.items()
        if address not in hidden and (change.action not in SILENT or verdicts.get(address))
    ]
    return Plan(
        topology=view.topology,
        environment=view.environment,
        target=view.target,
        changes=tuple(sorted(planned, key=lambda change: change.address)),
        steps=order.order_steps(edges, steps),
        diagnostics=(
            *view.diagnostics,
            *_consent_warnings(view, verdicts, registry, options, unjudged),
            *guards.unneeded_guards(tallies, view, options.day),
            *idle_patterns(view, options),
            *consent.unused_option_warnings(
                options.allow,
                [verdict for address, each in verdicts.items() if address not in hidden for verdict in each],
                {*(rule.code for rule in registry.rules()), *PLANNING},
            ),
            *unused_take_overs(options.take_over, view.ledger),
        ),
        kept=sum(change.action is Action.KEEP for change in view.changes.values())
        - sum(change.action is Action.KEEP for change in planned),
        unmanaged=tuple(str(address) for address in view.unmanaged),
        hidden=sum(view.changes[address].action.writes for address in hidden),
        ledger_known=view.ledger_known,
    )


def _without_repeated_warnings(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """Leave out a warning about other objects if a stronger verdict on the same field names all of them."""
    named = {
        (verdict.path, other)
        for verdict in verdicts
        if verdict.outcome is not Outcome.WARNS
        for other in verdict.others
    }
    if not named:
        return verdicts
    return [
        verdict
        for verdict in verdicts
        if verdict.outcome is not Outcome.WARNS
        or not verdict.others
        or any((verdict.path, o) not in named for o in verdict.others)
    ]


def _hidden_addresses(view: View, options: RunOptions) -> set[Address]:
    """Addresses that this run leaves out."""
    if options.is_about_all:
        return set()
    return {a for a, change in view.changes.items() if not options.selects(a, change.labels)}


def _with_allowances(view: View, findings: VerdictsByAddress) -> View:
    """The view with the consent that the files give to many at once, on every address that was judged."""
    if not view.allow:
        return view
    judged = (view.changes[address] for address, verdicts in findings.items() if verdicts)
    reached = {
        change.address: replace(
            change, allow=(*change.allow, *consent.bulk_consents(change.address, change.labels, view.allow))
        )
        for change in judged
    }
    return replace(view, changes={**view.changes, **reached})


def _with_consent(verdict: Verdict, change: Change, kind: Kind, options: RunOptions) -> Verdict:
    given = _consent_for(verdict, change, kind, options)
    return replace(verdict, consented=given.reason) if given else verdict


def _consent_for(verdict: Verdict, change: Change, kind: Kind, options: RunOptions) -> Consent | None:
    """The consent to this verdict: from the command line, from the file, or from the start of an unfinished
    replacement."""
    one_run = (
        Consent(code=code, to=verdict.to, reason="allowed for this run on the command line")
        for code, pattern in options.allow
        if code == verdict.code and fnmatchcase(verdict.address, pattern) and not is_policy(code)
    )
    begun_with = change.intent.allow if change.intent else ()
    return consent.first_covering(
        verdict, (*one_run, *change.terms.allow, *change.allow, *begun_with), options.day, kind.spec
    )


def _steps_by_stage(
    going: Mapping[Address, Change],
    edges: order.Graph,
    registry: Registry,
    view: View,
    verdicts: Mapping[Address, Sequence[Verdict]],
    options: RunOptions,
) -> Iterator[tuple[order.Node, tuple[Step, ...]]]:
    """The steps of every stage of every change."""
    for address, change in going.items():
        kind, rest = registry.of(address), change
        if first_stage := edges.first_stages.get(address):
            first, rest = stages.split_change(change, first_stage, kind.fields)
            yield (address, order.ChangeStage.FIRST), stages.first_stage_steps(kind.steps(first, view), first_stage)
        if _is_deleted_with_parent(rest, going, registry):
            steps: tuple[Step, ...] = ()
        else:
            steps = _steps_of_change(rest, kind, view, verdicts.get(address, ()), options)
        yield (address, order.ChangeStage.DONE), steps


def _steps_of_change(
    change: Change, kind: Kind, view: View, verdicts: Sequence[Verdict], options: RunOptions
) -> tuple[Step, ...]:
    record = record_after(change, view, options)
    if change.action is Action.REPLACE and replacement.replaces(verdicts) and record:
        given = [
            given_consent for verdict in verdicts if (given_consent := _consent_for(verdict, change, kind, options))
        ]
        intent = replacement.new_intent(change, verdicts, given, record, view)
        return replacement.replacement_steps(change, intent, kind, view, record)
    if change.intent:
        return replacement.finishing_steps(change, kind, view, record)
    return tuple(kind.steps(change, view))


def _is_deleted_with_parent(change: Change, going: Mapping[Address, Change], registry: Registry) -> bool:
    """A delete that its parent's delete includes needs no step of its own."""
    above = registry.parent_of(change.address)
    parent = going.get(above) if above else None
    return (
        change.action is Action.DELETE
        and parent is not None
        and parent.action is Action.DELETE
        and registry.of(change.address).primary(change.address).type == "consumer"
    )


def _planned_change(
    change: Change,
    verdicts: tuple[Verdict, ...],
    culprit: Address | None,
    kind: Kind,
    view: View,
    options: RunOptions,
    edges: order.Graph,
) -> PlannedChange:
    first_stage = edges.first_stages.get(change.address)
    is_refused = any(verdict.is_final for verdict in verdicts)
    return PlannedChange(
        address=str(change.address),
        action=change.action,
        fields=change.known_fields,
        verdicts=verdicts,
        consequences=()
        if is_refused
        else (*kind.consequences(change, view), *(first_stage.consequences if first_stage else ())),
        span=change.where(change.fields[0].path if change.fields else ""),
        reason="; ".join(filter(None, (_reason(change, is_refused), change.made_anew))),
        counterpart=str(change.counterpart) if change.counterpart else None,
        adopts=change.live is not None and change.owned is None and change.action in (Action.UPDATE, Action.ADOPT),
        blocked_by=str(culprit) if culprit else None,
        record=record_after(change, view, options),
    )


def _reason(change: Change, is_refused: bool) -> str:
    """Nothing continues what is refused."""
    return f"{INTERRUPTED}." if is_refused and change.reason == RESUMED else change.reason


def record_after(change: Change, view: View, options: RunOptions) -> Owned | None:
    """The record in the ledger once this change is applied."""
    if change.action is Action.ORPHAN and change.owned and change.owned.taken_from:
        return change.owned
    if change.desired is None or change.desired.external or change.action in (Action.DELETE, Action.FORGET):
        return None
    fields, filled = managed_fields(change.desired)
    return Owned(
        topology=view.topology,
        source=options.came_from.repository or _known_source(change.owned, view),
        git_revision=options.came_from.revision,
        fields=fields,
        filled=filled,
        expected=_values_without_limits(change.address, filled, view),
        left=tuple(sorted(change.desired.terms.unmanaged)),
        protected=change.desired.terms.protect,
        labels=change.desired.terms.labels,
        uses=change.desired.uses,
        knows=f"{SUPPORTED[-1].major}.{SUPPORTED[-1].minor}",
        revision=change.owned.revision if change.owned else 0,
        start=_recorded_start(change),
        earlier=_earlier_addresses(change),
    )


def _values_without_limits(address: Address, filled: Config, view: View) -> Config:
    """Values that are not the stock default, but need no limit of the server to explain them."""
    settled = view.desired[address].filled if address in view.desired else {}
    return {name: settled[name].value for name in filled.keys() & settled.keys() if settled[name].source != "default"}


def _recorded_start(change: Change) -> Config:
    if change.action in (Action.CREATE, Action.REPLACE):
        return {}
    return change.began or (change.owned.start if change.owned else {})


def _earlier_addresses(change: Change) -> tuple[str, ...]:
    known = (*(change.owned.earlier if change.owned else ()), *change.earlier)
    return tuple(dict.fromkeys(address for address in known if address != str(change.address)))


def _known_source(owned: Owned | None, view: View) -> str | None:
    """If a resource was applied once, its repository is still known when git tells nothing, as in a container."""
    return owned.source if owned and owned.topology == view.topology else None


def _consent_warnings(
    view: View,
    verdicts: Mapping[Address, Sequence[Verdict]],
    registry: Registry,
    options: RunOptions,
    unjudged: Unjudged,
) -> Iterable[Diagnostic]:
    for address, resource in view.desired.items():
        if not resource.terms.allow:
            continue
        left = {code for code, addresses in unjudged.items() if address in addresses}
        yield from consent.leftover_consents(resource, verdicts.get(address, ()), options.day, left, view.is_shared)
    for allowed in view.allow:
        yield from _allowance_warnings(
            allowed, view, verdicts, registry, options, unjudged.get(allowed.consent.code, ())
        )


def _allowance_warnings(
    allowed: Allowed,
    view: View,
    verdicts: Mapping[Address, Sequence[Verdict]],
    registry: Registry,
    options: RunOptions,
    unjudged: Collection[Address],
) -> Iterable[Diagnostic]:
    def is_selected(address: Address) -> bool:
        return allowed.selects(address, view.changes[address].labels)

    reached = [
        (verdict, registry.of(address).spec)
        for address in filter(is_selected, verdicts)
        for verdict in verdicts[address]
    ]
    is_judged = not any(map(is_selected, unjudged))
    yield from consent.leftover_allowances(allowed, reached, options.day, is_judged=is_judged, is_shared=view.is_shared)
