"""A plan as JSON, a contract for tools (`schemas/plan.schema.json`): raw values, an absent value is a missing key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic_core import from_json

from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity, SourceSpan
from reconciler.core.diff import Action, Consequence, FieldChange, FieldClass
from reconciler.core.kind import FieldInfo
from reconciler.core.plan import FORMAT, Plan, PlannedChange
from reconciler.core.records import Owned
from reconciler.core.rule import Outcome, Reaction, Verdict
from reconciler.core.wire import Call, Step, Target, Version
from reconciler.report.document import Document

Data = Mapping[str, Any]
T = TypeVar("T")

# What JSON allows raw but a terminal would obey, or hide.
_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def render(document: Document) -> str:
    """A plan by its contract, or what was found in files."""
    if document.plan is not None:
        return plan_json(document.plan)
    found = [diagnostic_data(one) for one in document.diagnostics]
    return json_text(present(format=FORMAT, topology=document.topology or None, diagnostics=found))


def joined(documents: Sequence[Document]) -> str:
    """Each by its own contract, in a list."""
    return json_text({"format": FORMAT, "reports": [json.loads(render(document)) for document in documents]})


def plan_json(plan: Plan) -> str:
    """The contract's text; equal plans give equal bytes."""
    return json_text(plan_data(plan))


def json_text(data: Data) -> str:
    """Raw values, and nothing that a terminal would obey."""
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def plan_data(plan: Plan) -> dict[str, Any]:
    return present(
        format=plan.format,
        topology=plan.topology,
        target=target_data(plan.target),
        summary=plan.summary,
        diagnostics=[diagnostic_data(one) for one in plan.diagnostics],
        changes=[change_data(one) for one in sorted(plan.changes, key=lambda change: change.address)],
        steps=[_step(one) for one in plan.steps],
        unmanaged=list(plan.unmanaged),
        read=dict(plan.read),
        hidden=plan.hidden,
        ledger_known=plan.ledger_known,
    )


def present(**items: Any) -> dict[str, Any]:
    return {key: value for key, value in items.items() if value is not None}


def some(**items: Any) -> dict[str, Any]:
    """Only what says something: no empty text, list or mapping, no False."""
    return {key: value for key, value in items.items() if value}


def target_data(target: Target) -> dict[str, Any]:
    return present(
        version=str(target.version), level=target.level, account=target.account, user=target.user, domain=target.domain,
        cluster=target.cluster, peers=target.peers, limits=dict(target.limits), usage=dict(target.usage),
    )  # fmt: skip


def span_data(span: SourceSpan | None) -> dict[str, Any] | None:
    if span is None:
        return None
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def diagnostic_data(one: Diagnostic) -> dict[str, Any]:
    return present(
        severity=one.severity.value, code=one.code, name=one.name, message=one.message,
        address=one.address, span=span_data(one.span), fix=one.fix,
    )  # fmt: skip


def change_data(change: PlannedChange) -> dict[str, Any]:
    return {
        "address": change.address,
        "action": change.action.value,
        "fields": [_field(one) for one in change.fields],
        "verdicts": [_verdict(one) for one in change.verdicts],
        "consequences": [_consequence(one) for one in change.consequences],
        **present(span=span_data(change.span), blocked_by=change.blocked_by, record=_owned(change.record)),
        **some(reason=change.reason, adopts=change.adopts),
    }


def _field(field: FieldChange) -> dict[str, Any]:
    info = field.info
    return {
        "path": field.path,
        **present(live=field.live, desired=field.desired),
        "class": field.field_class.value,
        "unit": info.unit,
        **present(default=info.default, ordered=None if info.ordered else False),
        **some(nested_unordered=list(info.nested_unordered)),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {
        "code": verdict.code,
        "name": verdict.name,
        "outcome": verdict.outcome.value,
        "reaction": verdict.reaction.name.lower(),
        "message": verdict.message,
        "address": verdict.address,
        **present(span=span_data(verdict.span), fix=verdict.fix, to=verdict.to, consented=verdict.consented),
        **some(path=verdict.path, consentable=verdict.consentable, quantities=dict(verdict.quantities)),
    }


def _consequence(consequence: Consequence) -> dict[str, Any]:
    return {"message": consequence.message,
            **some(quantities=dict(consequence.quantities), detail=dict(consequence.detail))}  # fmt: skip


def _owned(owned: Owned | None) -> dict[str, Any] | None:
    if owned is None:
        return None
    return {
        "topology": owned.topology,
        **present(source=owned.source, git_revision=owned.git_revision),
        "fields": dict(owned.fields),
        **some(
            left=list(owned.left),
            protected=owned.protected,
            knows=owned.knows,
            start=dict(owned.start),
            seen=dict(owned.seen),
        ),
        "revision": owned.revision,
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "id": step.id,
        "call": step.call.value,
        "on": list(step.on),
        "address": step.address,
        **some(body=dict(step.body), set=dict(step.set), unset=list(step.unset)),
        **present(
            value=step.value,
            revision=step.revision,
            undoes=step.undoes,
            bind=step.bind,
            before=None if step.before is None else dict(step.before),
        ),
        **({"level": step.level} if step.level else {}),
        **some(uses=dict(step.uses), after=list(step.after), effect=step.effect),
    }


def plan_from_json(text: str) -> Plan:
    """The very plan that was written; what is not one is refused with the reason."""
    data = parsed(text)
    try:
        return plan_of(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise not_a_plan(f"this plan is damaged at {error}") from None


def parsed(text: str) -> Data:
    """The data of a plan of this format."""
    try:
        data = from_json(text)  # which ends at a depth that no plan has
    except ValueError as error:
        raise not_a_plan(f"this is not JSON: {error}") from None
    if not isinstance(data, dict) or "format" not in data:
        raise not_a_plan("this JSON is not a plan", "`reconciler plan --out plan.json` writes one")
    if data["format"] != FORMAT:
        raise not_a_plan(f"this plan has format {data['format']}, this reconciler reads format {FORMAT}")
    return data


def not_a_plan(why: str, fix: str = "plan again") -> CannotContinue:
    return CannotContinue(Diagnostic(severity=Severity.ERROR, code="XX901", name="not-a-plan", message=why, fix=fix))


def plan_of(data: Data) -> Plan:
    changes = _each(data["changes"], _change_of)
    listed = sum(change.action is Action.KEEP and not change.is_refused for change in changes)
    return Plan(
        topology=data["topology"],
        target=_target_of(data["target"]),
        changes=changes,
        steps=_each(data["steps"], _step_of),
        diagnostics=_each(data["diagnostics"], _diagnostic_of),
        kept=data["summary"]["keep"] - listed,
        unmanaged=tuple(data["unmanaged"]),
        read=data["read"],
        hidden=data["hidden"],
        ledger_known=data["ledger_known"],
    )


def _each(items: list[Data], of: Callable[[Data], T]) -> tuple[T, ...]:
    return tuple(of(item) for item in items)


def _target_of(data: Data) -> Target:
    return Target(**{**data, "version": Version.parse(data["version"])})


def _span_of(data: Data | None) -> SourceSpan | None:
    return SourceSpan(**data) if data else None


def _diagnostic_of(data: Data) -> Diagnostic:
    return Diagnostic(**{**data, "severity": Severity(data["severity"]), "span": _span_of(data.get("span"))})


def _change_of(data: Data) -> PlannedChange:
    record = data.get("record")
    return PlannedChange(
        address=data["address"], action=Action(data["action"]), fields=_each(data["fields"], _field_of),
        verdicts=_each(data["verdicts"], _verdict_of),
        consequences=_each(data["consequences"], lambda consequence: Consequence(**consequence)),
        span=_span_of(data.get("span")), reason=data.get("reason", ""), adopts=data.get("adopts", False),
        blocked_by=data.get("blocked_by"),
        record=Owned(**{**record, "left": tuple(record.get("left", ()))}) if record else None,
    )  # fmt: skip


def _field_of(data: Data) -> FieldChange:
    info = FieldInfo(
        unit=data["unit"], default=data.get("default"), ordered=data.get("ordered", True),
        nested_unordered=tuple(data.get("nested_unordered", ())),
    )  # fmt: skip
    return FieldChange(
        path=data["path"],
        live=data.get("live"),
        desired=data.get("desired"),
        field_class=FieldClass(data["class"]),
        info=info,
    )


def _verdict_of(data: Data) -> Verdict:
    reaction = Reaction[data.get("reaction", "does").upper()]
    return Verdict(
        **{**data, "outcome": Outcome(data["outcome"]), "reaction": reaction, "span": _span_of(data.get("span"))}
    )


def _step_of(data: Data) -> Step:
    tuples = {key: tuple(data[key]) for key in ("on", "unset", "after") if key in data}
    return Step(**{**data, **tuples, "call": Call(data["call"])})
