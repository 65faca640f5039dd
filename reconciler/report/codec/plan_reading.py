"""Reads a plan back from JSON: the same plan, or the reason why the text is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from reconciler.changes.plan import FORMAT, Plan
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.report.codec.reading import Damaged, read_as

Data = Mapping[str, Any]


def plan_from_json(text: str) -> Plan:
    """Read the plan that was written. Raises CannotContinue for anything else, with the reason."""
    data = parsed(text)
    try:
        return counted(read_as(Plan, data), data)
    except Damaged as damage:
        raise not_a_plan(f"this plan is damaged at {damage}") from None


def counted(plan: Plan, data: Data) -> Plan:
    """Return the plan with what it keeps, which stands only in the counts of its data. Raises Damaged where they are none."""
    try:
        return replace(plan, kept=data["summary"]["keep"] - plan.summary["keep"])
    except (KeyError, TypeError):
        raise Damaged("a number expected", "summary.keep") from None


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
