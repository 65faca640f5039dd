"""The published shape of what `rehearse --format json` prints: its plan and its outcome are those of `plan` and `apply`."""

from __future__ import annotations

import json

from reconciler.report.outcome_schema import outcome_schema
from reconciler.report.plan_schema import plan_schema
from reconciler.report.rehearsal import FORMAT
from reconciler.report.schema_parts import (
    ADDRESS,
    COUNT,
    DRAFT,
    FLAG,
    TEXT,
    VALUE,
    VERSION,
    Schema,
    fixed,
    schema_text,
)


def rehearsal_schema() -> str:
    change = {"$ref": "plan.schema.json#/$defs/change"}
    restarted = {
        "version": VERSION, "gone": _all(ADDRESS), "left": _all(change),
        "rewritten": _all(fixed({"address": ADDRESS, "path": TEXT}, before=VALUE, after=VALUE)),
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
            "description": "What carrying a plan out on throw-away servers showed.",
            **fixed(said, restarted=fixed(restarted)),
        }
    )


def _all(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _own(name: str, text: str) -> Schema:
    """Another schema as it is published, under its own name, so that what it refers to stays its own."""
    return {**json.loads(text), "$id": f"{name}.schema.json"}
