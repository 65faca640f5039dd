"""The published shape of a plan's JSON, strict: JSON Schema 2020-12, hand-written because it is a contract."""

from __future__ import annotations

import json
from typing import Any

from reconciler.core.binds import Bind
from reconciler.core.diagnostic import Severity
from reconciler.core.diff import Action, FieldClass
from reconciler.core.plan import FORMAT
from reconciler.core.rule import Outcome
from reconciler.core.wire import Call

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
POSITION: Schema = {"type": "integer", "minimum": 1}
TEXTS: Schema = {"type": "array", "items": TEXT}
COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
CONFIG: Schema = {"type": "object"}
CODE: Schema = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}
VERSION: Schema = {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"}
ADDRESS: Schema = {"type": "string", "pattern": "^[a-z_]+(/[^/]+)+$"}
VALUE: Schema = {"not": {"type": "null"}}
"""Raw: durations in nanoseconds, sizes in bytes; absence is a missing key."""


def plan_schema() -> str:
    return json.dumps(_plan(), indent=2, ensure_ascii=False) + "\n"


def _object(required: Schema, **optional: Schema) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": sorted(required),
        "additionalProperties": False,
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _list(name: str) -> Schema:
    return {"type": "array", "items": _ref(name)}


def _one_of(closed: type[Any]) -> Schema:
    return {"enum": [member.value for member in closed]}


def _plan() -> Schema:
    counts = ("create", "update", "replace", "delete", "adopt", "keep", "orphan", "unknown", "refused")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "reconciler plan",
        "description": "What would be done to one account, what was judged about it, and the steps that would run.",
        **_object(
            {
                "format": {"const": FORMAT},
                "topology": TEXT,
                "target": _ref("target"),
                "summary": _object(dict.fromkeys(counts, COUNT), forget=COUNT, absent=COUNT),
                "diagnostics": _list("diagnostic"),
                "changes": _list("change"),
                "steps": _list("step"),
                "unmanaged": {"type": "array", "items": ADDRESS},
                "read": COUNTS,
                "hidden": COUNT,
                "ledger_known": FLAG,
            },
            saved=_ref("saved"),
            fingerprint={"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"},
        ),
        "$defs": {**_places(), **_changes(), "step": _step(), "saved": _saved()},
    }


def _places() -> dict[str, Schema]:
    return {
        "target": _object(
            {"version": VERSION, "level": COUNT, "limits": CONFIG, "usage": CONFIG},
            account=TEXT, user=TEXT, domain=TEXT, cluster=TEXT, peers=POSITION,
        ),
        "span": _object(
            {"file": TEXT, "line": POSITION, "column": POSITION, "end_line": POSITION, "end_column": POSITION}
        ),
        "diagnostic": _object(
            {"severity": _one_of(Severity), "code": CODE, "name": TEXT, "message": TEXT},
            address=TEXT, span=_ref("span"), fix=TEXT,
        ),
    }  # fmt: skip


def _changes() -> dict[str, Schema]:
    return {
        "change": _object(
            {"address": ADDRESS, "action": _one_of(Action), "fields": _list("field"), "verdicts": _list("verdict"),
             "consequences": _list("consequence")},
            span=_ref("span"), reason=TEXT, adopts=FLAG, blocked_by=ADDRESS, record=_ref("record"),
        ),
        "field": _object(
            {"path": TEXT, "class": _one_of(FieldClass),
             "unit": {"enum": ["duration", "durations", "bytes", "count", "text", "flag", "list", "mapping", "time"]}},
            live=VALUE, desired=VALUE, default=VALUE, ordered=FLAG, nested_unordered=TEXTS,
        ),
        "verdict": _object(
            {"code": CODE, "name": TEXT, "outcome": _one_of(Outcome), "message": TEXT, "address": ADDRESS},
            path=TEXT, span=_ref("span"), fix=TEXT, to=VALUE, consentable=FLAG, consented=TEXT, quantities=COUNTS,
        ),
        "consequence": _object({"message": TEXT}, quantities=COUNTS, detail=CONFIG),
        "record": _object(
            {"topology": TEXT, "fields": CONFIG, "revision": COUNT},
            source=TEXT, git_revision=TEXT, left=TEXTS, protected=FLAG, knows=TEXT, start=CONFIG,
        ),
    }  # fmt: skip


def _step() -> Schema:
    return _object(
        {"id": TEXT, "call": _one_of(Call), "on": TEXTS, "address": ADDRESS},
        body=CONFIG, set=CONFIG, unset=TEXTS, value=TEXT, revision=COUNT, before=CONFIG, level=COUNT,
        bind=_one_of(Bind), uses={"type": "object", "additionalProperties": TEXT}, after=TEXTS, undoes=TEXT, effect=TEXT,
    )  # fmt: skip


def _saved() -> Schema:
    """What a plan kept for later has beside the plan itself: both or neither of `saved` and `fingerprint`."""
    terms = _object({"only": TEXTS, "exclude": TEXTS, "allow": {"type": "array", "items": TEXTS}, "paths": TEXTS})
    declared = _object(
        {
            "expect": CONFIG,
            "resources": {"type": "array", "items": _object({"address": ADDRESS, "spec": CONFIG})},
            "removed": {"type": "array", "items": _object({"address": ADDRESS, "reason": TEXT}, until=TEXT)},
            "forget": {"type": "array", "items": ADDRESS},
        }
    )
    return _object(
        {
            "made_by": TEXT, "empty": FLAG, "blocked": COUNT, "exit_code": COUNT, "terms": terms, "declared": declared,
            "place": _object({}, account=TEXT, domain=TEXT, cluster=TEXT, id=TEXT),
            "seen": {"type": "object", "additionalProperties": CONFIG}, "state": TEXT,
        },
        source=TEXT, git_revision=TEXT,
    )  # fmt: skip
