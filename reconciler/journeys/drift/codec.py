"""Drift as JSON, a contract for tools (`schemas/drift.schema.json`): values are raw, and an absent value is a missing
key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reconciler.changes.diff import FieldClass
from reconciler.changes.verdict import Verdict
from reconciler.journeys.drift.drift import Coverage, Drift, FieldDrift, Item, Standing
from reconciler.model.records import Owned
from reconciler.report.codec.json import diagnostic_data, info_data, json_text, present, some, span_data, target_data
from reconciler.report.codec.plan_schema import one_account, places
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    COUNT,
    FLAG,
    INFO,
    TEXT,
    UNIT,
    VALUE,
    Schema,
    fixed,
    list_of,
    one_of,
    published,
    ref,
    schema_text,
)
from reconciler.server.wire.attribution import Attribution

FORMAT = 1
CODES: Schema = {"type": "array", "items": TEXT}


def drift_json(drift: Drift) -> str:
    """Return the report that `drift --format json` prints."""
    return json_text(drift_data(drift))


def drift_data(drift: Drift) -> dict[str, Any]:
    """Return the report as plain data, to which callers may add keys; items are in the order of their addresses."""
    return {
        "format": FORMAT,
        "topology": drift.topology,
        "target": target_data(drift.target),
        "exit_code": drift.exit_code,
        "summary": {**drift.counts, "drifted_fields": sum(f.counts for item in drift.items for f in item.fields)},
        "coverage": _coverage(drift.coverage),
        "diagnostics": [diagnostic_data(one) for one in drift.diagnostics],
        "items": [item_data(one) for one in sorted(drift.items, key=lambda item: item.address)],
        "read": dict(drift.read),
        "ledger_known": drift.ledger_known,
    }


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "percent": coverage.percent,
        "here": coverage.here,
        "elsewhere": coverage.elsewhere,
        "extras": list(coverage.extras),
    }


def item_data(item: Item) -> dict[str, Any]:
    """Return one object with its fields; empty parts are left out."""
    return {
        "address": item.address,
        "standing": item.standing.value,
        "drift": item.is_drift,
        "fields": [field_data(one) for one in item.fields],
        **some(reason=item.reason, ignored=item.ignored, codes=_codes(item.verdicts)),
        **present(span=span_data(item.span), applied_by=_owner(item.owned), by=_by(item.by)),
    }


def field_data(one: FieldDrift) -> dict[str, Any]:
    """Return one field as it was applied, as it is live and as the file says, with the class of its change."""
    change = one.change
    return {
        "path": one.path,
        **present(applied=one.applied, live=change.live, desired=change.desired),
        "class": change.field_class.value,
        "drift": one.counts,
        **info_data(change.info),
        **present(by=_by(one.by)),
        **some(ignored=one.ignored, codes=_codes(one.verdicts)),
    }


def _codes(verdicts: Sequence[Verdict]) -> list[str]:
    """The codes of the rules that judge setting the field to the file's value."""
    return list(dict.fromkeys(verdict.code for verdict in verdicts))


def _owner(owned: Owned | None) -> dict[str, Any] | None:
    """Who applied the object last."""
    if owned is None:
        return None
    return {"topology": owned.topology, **present(source=owned.source, git_revision=owned.git_revision)}


def _by(by: Attribution | None) -> dict[str, Any] | None:
    """`{"unknown": why}` or the author; nothing where nobody was looked up."""
    if by is None:
        return None
    if by.actor is None:
        return {"unknown": by.unknown}
    one = by.actor
    said = some(client=one.client, user=one.user, account=one.account, host=one.host)
    return {"at": one.at, "request": one.request, **said}


def drift_schema() -> str:
    """Return the JSON schema of what `drift --format json` prints, as text."""
    return schema_text(_schema())


def _schema() -> Schema:
    counts = (*map(str, Standing), "ignored", "in_sync", "drifted_fields")
    said = {
        "exit_code": {"enum": [0, 1, 3]}, "summary": fixed(dict.fromkeys(counts, COUNT)), "coverage": ref("coverage"),
        "items": list_of("item"),
    }  # fmt: skip
    return published(
        "reconciler drift",
        (
            "Fields and objects that differ from what was last applied, who changed them, and how much of the "
            "account is declared."
        ),
        fixed({**one_account(FORMAT), **said}, accepted=list_of("accepted")),
        {**places(), **_parts()},
    )


def _parts() -> dict[str, Schema]:
    return {
        "coverage": fixed(
            {"percent": {"type": "integer", "minimum": 0, "maximum": 100}, "here": COUNT, "elsewhere": COUNT,
             "extras": {"type": "array", "items": ADDRESS}}
        ),
        "item": fixed(
            {"address": ADDRESS, "standing": one_of(Standing), "drift": FLAG, "fields": list_of("field")},
            reason=TEXT, ignored=TEXT, span=ref("span"), by=ref("by"), codes=CODES,
            applied_by=fixed({"topology": TEXT}, source=TEXT, git_revision=TEXT),
        ),
        "field": fixed(
            {"path": TEXT, "class": one_of(FieldClass), "drift": FLAG, "unit": UNIT},
            applied=VALUE, live=VALUE, desired=VALUE, ignored=TEXT, by=ref("by"), codes=CODES, **INFO,
        ),
        "accepted": fixed({"address": ADDRESS, "field": ref("field")}, span=ref("span")),
        "by": {
            "oneOf": [
                fixed({"at": TEXT, "request": TEXT}, client=TEXT, user=TEXT, account=TEXT, host=TEXT),
                fixed({"unknown": TEXT}),
            ]
        },
    }  # fmt: skip
