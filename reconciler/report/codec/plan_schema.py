"""The published schema of a plan's JSON, strict: JSON Schema 2020-12, hand-written because it is a contract."""

from __future__ import annotations

from reconciler.changes.diff import Action, FieldClass
from reconciler.changes.plan import FORMAT
from reconciler.changes.verdict import Outcome, Reaction
from reconciler.engine.bindings import Bind
from reconciler.model.diagnostic import Severity
from reconciler.model.wire.steps import Call
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    AMOUNTS,
    CODE,
    CONFIG,
    COUNT,
    COUNTS,
    FLAG,
    INFO,
    POSITION,
    TEXT,
    TEXTS,
    UNIT,
    VALUE,
    VERSION,
    Schema,
    fixed,
    list_of,
    one_of,
    one_of_texts,
    published,
    ref,
    schema_text,
)


def plan_schema() -> str:
    """Return the text of `plan.schema.json`, which also describes plans saved with `--out`."""
    return schema_text(_plan())


def _plan() -> Schema:
    counts = ("create", "update", "replace", "delete", "adopt", "keep", "orphan", "unknown", "refused")
    said = {
        "summary": fixed(dict.fromkeys(counts, COUNT), forget=COUNT, absent=COUNT),
        "changes": list_of("change"), "steps": list_of("step"), "unmanaged": {"type": "array", "items": ADDRESS},
        "hidden": COUNT,
    }  # fmt: skip
    fingerprint = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
    return published(
        "reconciler plan",
        "The changes to make in one account, how they were judged, and the steps that would run.",
        fixed({**one_account(FORMAT), **said}, saved=ref("saved"), fingerprint=fingerprint),
        {**places(), **changes(), "step": _step(), "saved": _saved()},
    )


def findings_schema() -> str:
    """Return the schema of reports without a plan, drift or outcome: a check of files, or a command that could not
    work."""
    whole = published(
        "reconciler findings",
        "What `validate` found, or why another command could not work; the exit code is then 1, 64 or 130.",
        fixed({"format": {"const": FORMAT}, "command": TEXT, "diagnostics": list_of("diagnostic")}, topology=TEXT),
        {name: places()[name] for name in ("diagnostic", "span")},
    )
    return schema_text(whole)


def reports_schema() -> str:
    """Return the schema of reports about several topologies: one report for each."""
    each = [{"$ref": f"{name}.schema.json"} for name in ("plan", "drift", "apply", "findings")]
    whole = published(
        "reconciler reports",
        "The report of a command about several topologies: a document for each, by the contract that it has alone.",
        fixed({"format": {"const": FORMAT}, "reports": {"type": "array", "minItems": 1, "items": {"anyOf": each}}}),
        {},
    )
    return schema_text(whole)


def one_account(format_: int) -> Schema:
    """What every report about an account and the files of a topology contains."""
    return {
        "format": {"const": format_}, "topology": TEXT, "target": ref("target"), "diagnostics": list_of("diagnostic"),
        "read": COUNTS, "ledger_known": FLAG,
    }  # fmt: skip


def places() -> dict[str, Schema]:
    """Where a plan was made, and what was found there."""
    return {
        "target": fixed(
            {"version": VERSION, "level": COUNT, "limits": CONFIG, "usage": CONFIG},
            account=TEXT, user=TEXT, domain=TEXT, cluster=TEXT, peers=POSITION,
        ),
        "span": fixed(
            {"file": TEXT, "line": POSITION, "column": POSITION, "end_line": POSITION, "end_column": POSITION}
        ),
        "diagnostic": fixed(
            {"severity": one_of(Severity), "code": CODE, "name": TEXT, "message": TEXT},
            address=TEXT, span=ref("span"), fix=TEXT,
        ),
    }  # fmt: skip


def changes() -> dict[str, Schema]:
    """The change of one resource."""
    return {
        "change": fixed(
            {"address": ADDRESS, "action": one_of(Action), "fields": list_of("field"), "verdicts": list_of("verdict"),
             "consequences": list_of("consequence")},
            span=ref("span"), reason=TEXT, adopts=FLAG, blocked_by=ADDRESS, record=ref("record"),
        ),
        "field": fixed(
            {"path": TEXT, "class": one_of(FieldClass), "unit": UNIT},
            live=VALUE, desired=VALUE, ordered=FLAG, nested_unordered=TEXTS, filled=TEXT, **INFO,
        ),
        "verdict": fixed(
            {"code": CODE, "name": TEXT, "outcome": one_of(Outcome), "message": TEXT, "address": ADDRESS,
             "reaction": one_of_texts(*(one.name.lower() for one in Reaction))},
            path=TEXT, span=ref("span"), fix=TEXT, to=VALUE, consentable=FLAG, consented=TEXT, quantities=COUNTS, bounds=AMOUNTS,
            others={"type": "array", "items": fixed({"address": ADDRESS}, owner=TEXT)},
        ),
        "consequence": fixed({"message": TEXT}, code=TEXT, quantities=COUNTS, bounds=AMOUNTS, detail=CONFIG),
        "record": fixed(
            {"topology": TEXT, "fields": CONFIG, "revision": COUNT},
            source=TEXT, git_revision=TEXT, filled=CONFIG, expected=CONFIG, left=TEXTS, protected=FLAG, knows=TEXT,
            start=CONFIG, seen=CONFIG,
        ),
    }  # fmt: skip


def _step() -> Schema:
    return fixed(
        {"id": TEXT, "call": one_of(Call), "on": TEXTS, "address": ADDRESS},
        body=CONFIG, set=CONFIG, unset=TEXTS, value=TEXT, revision=COUNT, before=CONFIG, level=COUNT,
        bind=one_of(Bind), uses={"type": "object", "additionalProperties": TEXT}, after=TEXTS, undoes=TEXT, effect=TEXT,
    )  # fmt: skip


def _saved() -> Schema:
    """What a saved plan holds beside the plan itself: both or neither of `saved` and `fingerprint`."""
    terms = fixed(
        {"only": TEXTS, "exclude": TEXTS, "allow": {"type": "array", "items": TEXTS}, "paths": TEXTS}, take_over=TEXTS
    )
    declared = fixed(
        {
            "expect": CONFIG,
            "resources": {"type": "array", "items": fixed({"address": ADDRESS, "spec": CONFIG})},
            "removed": {"type": "array", "items": fixed({"address": ADDRESS, "reason": TEXT}, until=TEXT)},
            "forget": {"type": "array", "items": ADDRESS},
        },
        moved={"type": "array", "items": fixed({"from": TEXT, "to": TEXT}, reason=TEXT, until=TEXT)},
        guards={"type": "array", "items": fixed({"kind": TEXT, "upto": COUNT, "reason": TEXT}, until=TEXT)},
        allow={
            "type": "array",
            "items": fixed({"code": TEXT, "on": TEXT, "reason": TEXT}, to=VALUE, until=TEXT, upto=CONFIG),
        },
        ignore_drift={"type": "array", "items": fixed({"address": TEXT, "reason": TEXT}, path=TEXT, until=TEXT)},
    )
    return fixed(
        {
            "made_by": TEXT, "empty": FLAG, "blocked": COUNT, "exit_code": COUNT, "terms": terms, "declared": declared,
            "place": fixed({}, account=TEXT, domain=TEXT, cluster=TEXT, id=TEXT, server=TEXT, at=TEXT, bucket=TEXT,
                           reached={"type": "integer"}, streams=CONFIG),
            "seen": {"type": "object", "additionalProperties": CONFIG}, "state": TEXT,
        },
        source=TEXT, git_revision=TEXT,
    )  # fmt: skip
