"""The published schema of what `rehearse --format json` prints: its plan and outcome are those of `plan` and
`apply`."""

from __future__ import annotations

import json

from reconciler.changes.effect import Side
from reconciler.changes.rehearsal import Foresight
from reconciler.journeys.rehearse.text import FORMAT
from reconciler.report.codec.outcome_schema import outcome_schema
from reconciler.report.codec.plan_schema import plan_schema
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    COUNT,
    DRAFT,
    FLAG,
    TEXT,
    VALUE,
    VERSION,
    Schema,
    fixed,
    one_of,
    schema_text,
)


def rehearsal_schema() -> str:
    """Return the JSON schema of what `rehearse --format json` prints, as text."""
    change = {"$ref": "plan.schema.json#/$defs/change"}
    restarted = {
        "version": VERSION, "gone": _all(ADDRESS), "left": _all(change),
        "rewritten": _all(fixed({"address": ADDRESS, "path": TEXT}, before=VALUE, after=VALUE)),
    }  # fmt: skip
    felt = fixed(
        {
            "address": ADDRESS, "operation": TEXT, "side": one_of(Side), "before": TEXT, "after": TEXT,
            "foresight": one_of(Foresight), "codes": _all(TEXT), "reason": TEXT,
        }
    )  # fmt: skip
    probe = {
        "foretold": FLAG, "operations": COUNT, "objects": _all(ADDRESS), "messages": COUNT, "consented": _all(ADDRESS), "felt": _all(felt),
        "unshown": _all(fixed({"address": ADDRESS, "code": TEXT, "message": TEXT})),
        "unplayed": _all(fixed({"what": TEXT, "why": TEXT})),
    }  # fmt: skip
    said = {
        "format": {"const": FORMAT}, "version": VERSION, "nodes": COUNT, "fine": FLAG,
        "plan": _own("plan", plan_schema()), "outcome": _own("apply", outcome_schema()),
        "left": _all(change), "missing": _all(fixed({"what": TEXT, "why": TEXT})),
        "refused": _all(ADDRESS), "lacking": _all(ADDRESS),
    }  # fmt: skip
    return schema_text(
        {
            "$schema": DRAFT,
            "$id": "rehearse.schema.json",
            "title": "reconciler rehearse",
            "description": "What happened when the plan was carried out on throw-away servers.",
            **fixed(said, restarted=fixed(restarted), probe=fixed(probe)),
        }
    )


def _all(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _own(name: str, text: str) -> Schema:
    """Include another published schema under its own name, so that its references stay its own."""
    return {**json.loads(text), "$id": f"{name}.schema.json"}
