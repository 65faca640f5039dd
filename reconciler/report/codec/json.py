"""A plan as JSON, a contract for tools (`schemas/plan.schema.json`): values are raw, and an absent value is a missing
key."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from reconciler.changes.amount import Amounts
from reconciler.changes.diff import Consequence, FieldChange
from reconciler.changes.plan import FORMAT, Plan, PlannedChange
from reconciler.changes.verdict import Other, Verdict
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.fields import FieldInfo
from reconciler.model.records import Owned
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.steps import Step
from reconciler.report.document.document import Document

Data = Mapping[str, Any]
T = TypeVar("T")

# JSON allows these raw, but a terminal obeys or hides them, and a GitHub runner obeys `##[` anywhere in a line.
_ESCAPED = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]|(?<=##)\\["
)


def render(document: Document) -> str:
    """Render a plan by its contract, or findings in files, or the reason why a command could not work
    (`findings.schema.json`)."""
    if document.plan is not None:
        return plan_json(document.plan)
    found = [diagnostic_data(one) for one in document.diagnostics]
    said = present(format=FORMAT, command=document.command, topology=document.topology or None)
    return json_text({**said, "diagnostics": found})


def joined(documents: Sequence[Document]) -> str:
    """Join reports, each by its own contract, in a list."""
    return json_list([document.told("json", render) for document in documents])


def json_list(texts: Sequence[str]) -> str:
    """Join the reports of one command about several topologies (`reports.schema.json`)."""
    return json_text({"format": FORMAT, "reports": [json.loads(text) for text in texts]})


def plan_json(plan: Plan) -> str:
    """Return the plan as text; equal plans give equal bytes."""
    return json_text(plan_data(plan))


def json_text(data: Data) -> str:
    """Write raw values as text, without anything that a terminal or a runner would obey."""
    return _escaped(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def json_line(data: Data) -> str:
    """Write the same on one line, for streams of reports."""
    return _escaped(json.dumps(data, ensure_ascii=False, allow_nan=False)) + "\n"


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def plan_data(plan: Plan) -> dict[str, Any]:
    """Return the plan in the shape of `plan.schema.json`, with changes sorted by address and steps in the plan's
    order."""
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
    """Keep the items whose value is not None; an empty text, zero and False stay."""
    return {key: value for key, value in items.items() if value is not None}


def some(**items: Any) -> dict[str, Any]:
    """Keep only items that say something: no empty text, list or mapping, and no False."""
    return {key: value for key, value in items.items() if value}


def target_data(target: Target) -> dict[str, Any]:
    """Return the account and server that a plan was made for; what the server did not reveal is a missing key."""
    return present(
        version=str(target.version), level=target.level, account=target.account, user=target.user, domain=target.domain,
        cluster=target.cluster, peers=target.peers, limits=dict(target.limits), usage=dict(target.usage),
    )  # fmt: skip


def span_data(span: SourceSpan | None) -> dict[str, Any] | None:
    """Return a place in a file, with lines and columns counted from 1; None where there is none."""
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
    """Return a finding for tools; `address`, `span` and `fix` are missing keys where it has none."""
    return present(
        severity=one.severity.value, code=one.code, name=one.name, message=one.message,
        address=one.address, span=span_data(one.span), fix=one.fix,
    )  # fmt: skip


def change_data(change: PlannedChange) -> dict[str, Any]:
    """Return one change, in the shape that every document with changes uses."""
    return {
        "address": change.address,
        "action": change.action.value,
        "fields": [_field(one) for one in change.fields],
        "verdicts": [_verdict(one) for one in change.verdicts],
        "consequences": [_consequence(one) for one in change.consequences],
        **present(span=span_data(change.span), blocked_by=change.blocked_by, record=_owned(change.record)),
        **some(reason=change.reason, adopts=change.adopts),
    }


def info_data(info: FieldInfo) -> dict[str, Any]:
    """Return what a reader needs to write values of a field as a file holds them."""
    return {"unit": info.unit, **some(units=info.units, left_out=info.left_out), **present(default=info.default)}


def _field(field: FieldChange) -> dict[str, Any]:
    info = field.info
    return {
        "path": field.path,
        **present(live=field.live, desired=field.desired),
        "class": field.field_class.value,
        **info_data(info),
        **present(ordered=None if info.ordered else False),
        **some(nested_unordered=list(info.nested_unordered), filled=field.filled),
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
        **some(bounds=_bounds(verdict.bounds), others=[_other(one) for one in verdict.others]),
    }


def _other(one: Other) -> dict[str, Any]:
    return {"address": one.address, **present(owner=one.owner)}


def _consequence(consequence: Consequence) -> dict[str, Any]:
    return {"message": consequence.message,
            **some(code=consequence.code),
            **some(quantities=dict(consequence.quantities), bounds=_bounds(consequence.bounds)),
            **some(detail=dict(consequence.detail))}  # fmt: skip


def _bounds(amounts: Amounts) -> dict[str, dict[str, int]]:
    return {name: {"least": one.least, **present(about=one.about), "most": one.most} for name, one in amounts.items()}


def _owned(owned: Owned | None) -> dict[str, Any] | None:
    if owned is None:
        return None
    return {
        "topology": owned.topology,
        **present(source=owned.source, git_revision=owned.git_revision),
        "fields": dict(owned.fields),
        **some(
            filled=dict(owned.filled),
            expected=dict(owned.expected),
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
