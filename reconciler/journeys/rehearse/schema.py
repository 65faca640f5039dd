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
    RAW,
    TEXT,
    VALUE,
    VERSION,
    Schema,
    fixed,
    format_of,
    one_of,
    says,
    schema_text,
)


def rehearsal_schema() -> str:
    """Return the JSON schema of what `rehearse --format json` prints, as text."""
    missing = fixed({"what": TEXT | says("What could not be recreated."), "why": TEXT | says("Why.")})
    said = {
        "format": format_of(FORMAT),
        "version": VERSION | says("The nats-server version of the rehearsal."),
        "nodes": COUNT | says("How many servers there were."),
        "fine": FLAG | says("True: everything that was tried did what the plan foretold."),
        "plan": _own("plan", plan_schema()) | says("The plan, as it was made on the throw-away servers."),
        "outcome": _own("apply", outcome_schema()) | says("The outcome of carrying it out."),
        "left": _all(CHANGE) | says("What a second plan would still change."),
        "missing": _all(missing) | says("What could not be recreated on the throw-away servers."),
        "refused": _all(ADDRESS) | says("Changes that were not tried, because they are refused."),
        "lacking": _all(ADDRESS)
        | says("Changes whose rehearsal shows nothing, because something they need was missing."),
    }
    return schema_text(
        {
            "$schema": DRAFT,
            "$id": "rehearse.schema.json",
            "title": "reconciler rehearse",
            "description": "What happened when the plan was carried out on throw-away servers.",
            **fixed(
                said,
                restarted=_restarted() | says("What another version made of the same stores (`--server-version`)."),
                probe=_probe() | says("What clients felt (`--probe`)."),
            ),
        }
    )


CHANGE = {"$ref": "plan.schema.json#/$defs/change"}


def _restarted() -> Schema:
    rewritten = fixed(
        {"address": ADDRESS | says("The object."), "path": TEXT | says("The field.")},
        before=VALUE | says(f"The value before. {RAW}"),
        after=VALUE | says(f"The value after. {RAW}"),
    )
    return fixed(
        {
            "version": VERSION | says("The nats-server that was started on the stores."),
            "gone": _all(ADDRESS) | says("Objects that were lost."),
            "left": _all(CHANGE) | says("What a plan wants to change there."),
            "rewritten": _all(rewritten) | says("Fields that this version changed."),
        }
    )


def _probe() -> Schema:
    felt = fixed(
        {
            "address": ADDRESS | says("The object."),
            "operation": TEXT | says("What clients did."),
            "side": one_of(Side) | says("Which clients experience it."),
            "before": TEXT | says("Their result without the changes."),
            "after": TEXT | says("Their result with the changes."),
            "foresight": one_of(Foresight) | says("Whether the plan foretells it."),
            "codes": _all(TEXT) | says("Rules that foretold it."),
            "reason": TEXT | says("Why it is harmless, where it is."),
        }
    )
    unshown = fixed(
        {
            "address": ADDRESS | says("The object."),
            "code": TEXT | says("The rule."),
            "message": TEXT | says("What it foretells."),
        }
    )
    unplayed = fixed({"what": TEXT | says("What was not tried."), "why": TEXT | says("Why.")})
    return fixed(
        {
            "foretold": FLAG | says("True: the plan foretells everything that takes something from clients."),
            "operations": COUNT | says("How many operations were tried, without and with the changes each."),
            "objects": _all(ADDRESS) | says("The objects that they were tried on."),
            "messages": COUNT | says("How many messages were invented for each stream."),
            "consented": _all(ADDRESS) | says("Changes that were carried out as if somebody had consented."),
            "felt": _all(felt) | says("Every operation that differs."),
            "unshown": _all(unshown) | says("What the plan foretells but so short a run does not show."),
            "unplayed": _all(unplayed) | says("What was not tried."),
        }
    )


def _all(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _own(name: str, text: str) -> Schema:
    """Include another published schema under its own name, so that its references stay its own."""
    return {**json.loads(text), "$id": f"{name}.schema.json"}
