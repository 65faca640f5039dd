"""Reads plans back from the JSON that `plan --format json` prints."""

from __future__ import annotations

from reconciler.changes.plan import Plan
from reconciler.journeys.saved.codec import not_a_plan, parse_plan, with_kept_count
from reconciler.report.codec.reading import Damaged, read_as


def plan_from_json(text: str) -> Plan:
    """Read the plan that was written. Raises CannotContinue for anything else, with the reason."""
    data = parse_plan(text)
    try:
        return with_kept_count(read_as(Plan, data), data)
    except Damaged as damage:
        raise not_a_plan(f"this plan is damaged at {damage}") from None
