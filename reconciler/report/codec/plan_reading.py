"""Reads a plan back from JSON: the same plan, or the reason why the text is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic_core import from_json

from reconciler.changes.amount import Amount
from reconciler.changes.diff import Action, Consequence, FieldChange, FieldClass
from reconciler.changes.plan import FORMAT, Plan, PlannedChange
from reconciler.changes.verdict import Other, Outcome, Reaction, Verdict
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity, SourceSpan
from reconciler.model.fields import FieldInfo, of_units
from reconciler.model.records import Owned
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.steps import Call, Step
from reconciler.model.wire.version import Version

Data = Mapping[str, Any]
T = TypeVar("T")


def plan_from_json(text: str) -> Plan:
    """Read the plan that was written. Raises CannotContinue for anything else, with the reason."""
    data = parsed(text)
    try:
        return plan_of(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise not_a_plan(f"this plan is damaged at {error}") from None


def parsed(text: str) -> Data:
    """Parse the data of a plan in this format."""
    try:
        data = from_json(text)  # nested deeper than any plan
    except ValueError as error:
        raise not_a_plan(f"this is not JSON: {error}") from None
    if not isinstance(data, dict) or "format" not in data:
        raise not_a_plan("this JSON is not a plan", "`reconciler plan --out plan.json` writes one")
    if data["format"] != FORMAT:
        raise not_a_plan(f"this plan has format {data['format']}, this reconciler reads format {FORMAT}")
    return data


def not_a_plan(why: str, fix: str = "plan again") -> CannotContinue:
    """Return the error XX901 for a text that is no usable plan; the caller raises it."""
    return CannotContinue(Diagnostic(severity=Severity.ERROR, code="XX901", name="not-a-plan", message=why, fix=fix))


def plan_of(data: Data) -> Plan:
    """Return the plan in this data. Damaged data raises KeyError, TypeError, ValueError or AttributeError."""
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
        consequences=_each(data["consequences"], lambda one: Consequence(**{**one, "bounds": _bounds_of(one)})),
        span=_span_of(data.get("span")), reason=data.get("reason", ""), adopts=data.get("adopts", False),
        blocked_by=data.get("blocked_by"),
        record=Owned(**{**record, "left": tuple(record.get("left", ()))}) if record else None,
    )  # fmt: skip


def _field_of(data: Data) -> FieldChange:
    info = FieldInfo(
        unit=data["unit"], default=data.get("default"), ordered=data.get("ordered", True),
        nested_unordered=tuple(data.get("nested_unordered", ())), left_out=data.get("left_out", ""),
        nested=of_units(data.get("units", {})),
    )  # fmt: skip
    return FieldChange(
        path=data["path"],
        live=data.get("live"),
        desired=data.get("desired"),
        field_class=FieldClass(data["class"]),
        info=info,
        filled=data.get("filled", ""),
    )


def _verdict_of(data: Data) -> Verdict:
    reaction = Reaction[data.get("reaction", "does").upper()]
    return Verdict(
        **{**data, "outcome": Outcome(data["outcome"]), "reaction": reaction, "span": _span_of(data.get("span")),
           "bounds": _bounds_of(data), "others": tuple(_other_of(one) for one in data.get("others", ()))}
    )  # fmt: skip


def _other_of(data: Data) -> Other:
    return Other(data["address"], data.get("owner"))


def _bounds_of(data: Data) -> dict[str, Amount]:
    return {name: Amount(**one) for name, one in data.get("bounds", {}).items()}


def _step_of(data: Data) -> Step:
    tuples = {key: tuple(data[key]) for key in ("on", "unset", "after") if key in data}
    return Step(**{**data, **tuples, "call": Call(data["call"])})
