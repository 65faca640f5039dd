"""Judges the cases that stand beside policies: does each forbid what its author says, and nothing else?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from pydantic import ValidationError

from reconciler.changes.change import Action, Change
from reconciler.changes.diff import differences
from reconciler.changes.kind import Kind
from reconciler.changes.view import View
from reconciler.documents.find.policies import read_policies
from reconciler.engine.compare import compare
from reconciler.engine.judging import EVERYTHING
from reconciler.journeys.plan.validate import imagined_target
from reconciler.kinds import REGISTRY
from reconciler.memory.remembered import Memory
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.ledger.records import Owned
from reconciler.model.policy import PlacedPolicy, PolicyCase
from reconciler.model.resource import Address, Declared, Json
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import SUPPORTED
from reconciler.policies.policies import CANNOT_TELL, Policies, is_about
from reconciler.policies.variables import variables

EXAMPLE = "EXAMPLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """What became of the cases."""

    policies: int
    cases: tuple[tuple[str, SourceSpan | None], ...]
    """The name of each, which its finding begins with, and its place."""
    diagnostics: tuple[Diagnostic, ...]


def judge_cases(paths: Sequence[Path]) -> Tested:
    """Judge every case in these files."""
    placed, wrong = read_policies(paths, REGISTRY)
    if not wrong:
        wrong = [diagnostic for policy in placed for diagnostic in _diagnostics_of_policy(policy)]
    return Tested(
        policies=len(placed), diagnostics=tuple(wrong),
        cases=tuple(
            (_case_name(policy, index), policy.where(f"cases[{index}]"))
            for policy in placed
            for index in range(len(policy.policy.cases))
        ),
    )  # fmt: skip


def _case_name(placed: PlacedPolicy, index: int) -> str:
    return f"case {index + 1} of {placed.policy.code}"


class _CaseError(Exception):
    """The case describes no resource."""


def _diagnostics_of_policy(placed: PlacedPolicy) -> Iterator[Diagnostic]:
    policy = placed.policy
    answers = {case.forbidden for case in policy.cases}
    lacking = [
        words for answer, words in ((True, "that it forbids"), (False, "that it lets pass")) if answer not in answers
    ]
    if lacking:
        message = (
            f"policy {policy.code} has no case {lacking[0]}; write one"
            if policy.cases
            else f"policy {policy.code} has no cases; write one that it forbids, and one that it lets pass"
        )
        yield Diagnostic(
            severity=Severity.WARNING, code="XX529", name="policy-case", message=message, span=placed.where("code")
        )
    for index, case in enumerate(policy.cases):
        try:
            problem = _wrong_answer_text(placed, case)
        except _CaseError as why:
            problem = str(why)
        if problem:
            yield Diagnostic(
                severity=Severity.ERROR, code="XX529", name="policy-case", message=f"{_case_name(placed, index)} {problem}",
                span=placed.where(f"cases[{index}]"),
            )  # fmt: skip


def _wrong_answer_text(placed: PlacedPolicy, case: PolicyCase) -> str:
    """How the policy answers otherwise than the case says; empty if it does not."""
    kind = _kind(placed, case)
    change, view = _change(kind, case)
    verdicts = Policies([placed], REGISTRY).judge(change, view, EVERYTHING)
    if verdicts and verdicts[0].message.startswith(CANNOT_TELL):
        return f"is not answered: {verdicts[0].message}"
    if verdicts and not case.forbidden:
        return f"is forbidden, and was to pass: {verdicts[0].message}"
    return "passes, and was to be forbidden" if case.forbidden and not verdicts else ""


def _kind(placed: PlacedPolicy, case: PolicyCase) -> Kind:
    name = case.kind or next(iter(placed.policy.kinds), REGISTRY.kinds[0].name)
    if name not in REGISTRY.by_name or not is_about(placed.policy, REGISTRY[name]):
        raise _CaseError(f"is about kind `{name}`, which the policy does not judge")
    return REGISTRY[name]


def _change(kind: Kind, case: PolicyCase) -> tuple[Change, View]:
    """The change that a case describes, with what surrounds it."""
    within = kind.place.within
    stream = Address.of(within or "stream", str(case.stream.get("name", EXAMPLE)))
    names = (stream.name, case.name or EXAMPLE) if within else (case.name or EXAMPLE,)
    address = Address.of(kind.name, *names)
    above = [_declared_resource(REGISTRY[within], stream, _without_name(case.stream), "stream")] if within else []
    now = _view_of_case([*above, _declared_resource(kind, address, case.resource, "resource")], case)
    was = case.resource if case.before is None and case.action not in (None, "create") else case.before
    live = (
        None
        if was is None
        else _view_of_case([*above, _declared_resource(kind, address, was, "before")], case).desired[address]
    )
    desired = now.desired[address]
    action = Action(case.action or ("update" if live else "create"))
    ends = action in (Action.DELETE, Action.FORGET)
    owned = Owned(topology="", labels=desired.terms.labels) if ends else None
    change = Change(
        address=address, action=action, desired=None if ends else desired, live=live, owned=owned,
        fields=() if ends or not live else differences(desired.config, live.config, None, kind.fields),
    )  # fmt: skip
    return change, replace(now, changes={**now.changes, address: change})


def _view_of_case(resources: Sequence[Declared], case: PolicyCase) -> View:
    topology = Topology(name="example", resources=tuple(resources), environment=case.environment)
    snapshot = Snapshot(target=imagined_target(topology, SUPPORTED[-1]))
    return replace(compare(topology, snapshot, Memory(), REGISTRY), today=_day(case.today))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text) if text else datetime.now(UTC).date()
    except ValueError:
        raise _CaseError(f"is on `{text}`, which is no day; write 2026-12-31") from None


def _without_name(values: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if name != "name"}


def _declared_resource(kind: Kind, address: Address, stated: Mapping[str, Json], key: str) -> Declared:
    """The resource that a case describes, read as a file's."""
    tag = kind.place.tag
    values = {name: value for name, value in stated.items() if not (tag and name == tag[0])}
    try:
        return Declared(address=address, spec=kind.spec.model_validate(values))
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join((key, *map(str, first["loc"])))
        why = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"]
        raise _CaseError(f"has a wrong `{path}`: {why}") from None


def names(kind: str) -> dict[str, str]:
    """What a condition about this kind may mention, each with its type. Raises KeyError where there is no such kind."""
    return {name: variable.type for name, variable in variables(REGISTRY[kind], REGISTRY).items()}
