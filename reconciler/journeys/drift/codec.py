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
    RAW,
    TEXT,
    UNIT,
    UNITS,
    VALUE,
    Schema,
    fixed,
    list_of,
    one_of,
    published,
    ref,
    says,
    schema_text,
)
from reconciler.server.wire.attribution import Attribution

FORMAT = 1
CODES: Schema = {"type": "array", "items": TEXT} | says("Rules that object to setting it to the file's value.")


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
        **some(reason=item.reason, ignored=item.ignored, codes=_codes(item.verdicts), lost="; ".join(item.lost)),
        **present(
            span=span_data(item.span), applied_by=_owner(item.owned), by=_by(item.by), deleted_by=_by(item.deleted_by)
        ),
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
    said = {
        "exit_code": {"enum": [0, 1, 3]} | says("The exit code of the command."),
        "summary": fixed(_counts()) | says("The number of objects in each state."),
        "coverage": ref("coverage") | says("How many live objects are declared."),
        "items": list_of("item") | says("Every object that differs from its declaration, by address."),
    }
    accepted = list_of("accepted") | says("What `--accept` wrote into the files.")
    return published(
        "reconciler drift",
        (
            "Fields and objects that differ from what was last applied, who changed them, and how much of the "
            "account is declared."
        ),
        fixed({**one_account(FORMAT), **said}, accepted=accepted),
        {**places(), **_parts()},
    )


STANDINGS: dict[Standing, str] = {
    Standing.UNKNOWN: "Their live state could not be read.",
    Standing.FOREIGN: "Another topology or repository applied them last.",
    Standing.MISSING: "Declared and applied, but no longer live.",
    Standing.RECREATED: "Deleted and recreated by somebody else.",
    Standing.CHANGED: "Changed by somebody else.",
    Standing.PENDING: "Changed only by the file: an apply would make this change.",
    Standing.ORPHANED: "Recorded and live, but no longer declared.",
}


def _counts() -> dict[str, Schema]:
    others = {
        "ignored": "Drift that an `ignore_drift` entry covers.",
        "in_sync": "Live as declared and as applied.",
        "drifted_fields": "Fields that drifted, of all objects.",
    }
    by_standing = {str(one): STANDINGS[one] for one in Standing}
    return {name: COUNT | says(text) for name, text in {**by_standing, **others}.items()}


def _parts() -> dict[str, Schema]:
    percent = {"type": "integer", "minimum": 0, "maximum": 100}
    span, by = (
        ref("span") | says("Where the file declares it."),
        ref("by") | says("Who did it, as far as audit events show."),
    )
    applied_by = fixed(
        {"topology": TEXT | says("The owner.")},
        source=TEXT | says("The repository."),
        git_revision=TEXT | says("The git revision."),
    )
    return {
        "coverage": fixed(
            {
                "percent": percent | says("The percentage of live objects that are declared, rounded down."),
                "here": COUNT | says("Objects that this topology declares."),
                "elsewhere": COUNT | says("Objects that other topologies applied."),
                "extras": {"type": "array", "items": ADDRESS} | says("Objects that no topology declares."),
            }
        ),
        "item": fixed(
            {
                "address": ADDRESS | says("The object."),
                "standing": one_of(Standing) | says("The state of the object, worst first."),
                "drift": FLAG | says("True: it counts as drift."),
                "fields": list_of("field") | says("Fields that differ."),
            },
            reason=TEXT | says("Why, where the standing alone does not say it."),
            lost=TEXT | says("What was lost with the object that somebody deleted and recreated."),
            ignored=TEXT | says("The reason of the `ignore_drift` entry that covers it."),
            span=span,
            by=by,
            deleted_by=ref("by") | says("Who deleted the one before, where another is in its place."),
            codes=CODES,
            applied_by=applied_by | says("Who applied it last."),
        ),
        "field": _field(by),
        "accepted": fixed(
            {
                "address": ADDRESS | says("The object."),
                "field": ref("field") | says("The field that the file now has."),
            },
            span=ref("span") | says("The place in the file."),
        ),
        "by": {"oneOf": [_actor(), fixed({"unknown": TEXT | says("Why the author is unknown.")})]},
    }


def _field(by: Schema) -> Schema:
    return fixed(
        {
            "path": TEXT | says("The field, with dots and indexes."),
            "class": one_of(FieldClass)
            | says(
                "Who changed it since it was last applied: the file (`config`), somebody outside "
                "(`drifted`), or `both`."
            ),
            "drift": FLAG | says("True: it counts as drift."),
            "unit": UNIT | says(UNITS),
        },
        applied=VALUE | says(f"The value that was last applied. {RAW}"),
        live=VALUE | says(f"The value that is live. {RAW}"),
        desired=VALUE | says(f"The value that the file says. {RAW}"),
        ignored=TEXT | says("The reason of the `ignore_drift` entry that covers it."),
        by=by,
        codes=CODES,
        **INFO,
    )


def _actor() -> Schema:
    return fixed(
        {
            "at": TEXT | says("When, by the server's clock."),
            "request": TEXT | says("The API subject of the request."),
        },
        client=TEXT | says("The name that the client gave itself, otherwise its language and version."),
        user=TEXT | says("Name of the user."),
        account=TEXT | says("The account of the user."),
        host=TEXT | says("The address that it came from."),
    )
