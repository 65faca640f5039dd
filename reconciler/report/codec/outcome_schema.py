"""The published schema of what `apply --format json` prints, strict: every step under exactly one heading."""

from __future__ import annotations

from reconciler.model.wire.steps import Call
from reconciler.report.codec.outcome_json import FORMAT
from reconciler.report.codec.plan_schema import places
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    COUNT,
    FLAG,
    TEXT,
    TEXTS,
    VALUE,
    Schema,
    fixed,
    list_of,
    one_of,
    published,
    ref,
    schema_text,
)


def outcome_schema() -> str:
    """Return the text of `apply.schema.json`."""
    lists = {"done": "step", "failed": "failed", "in_doubt": "in_doubt", "skipped": "skipped", "not_started": "step"}
    said = {"format": {"const": FORMAT}, "topology": TEXT, "exit_code": COUNT,
            "as_wanted": {"type": "array", "items": ADDRESS},
            **{name: list_of(of) for name, of in lists.items()}, "warnings": list_of("diagnostic")}  # fmt: skip
    whole = published(
        "reconciler apply",
        "What one apply did, what it could not do and why, and what it did not begin.",
        fixed(said, stopped=TEXT),
        {**_steps(), **{name: places()[name] for name in ("diagnostic", "span")}},
    )
    return schema_text(whole)


def _steps() -> dict[str, Schema]:
    step = {"id": TEXT, "address": ADDRESS, "call": one_of(Call), "on": TEXTS}
    reason = {"reason": ref("diagnostic")}
    return {
        "step": fixed(step),
        "failed": fixed({**step, **reason, "nothing_done": FLAG}, strayed=list_of("strayed")),
        "in_doubt": fixed({**step, **reason}),
        "skipped": fixed({**step, "because": TEXT}),
        "strayed": fixed({"path": TEXT}, planned=VALUE, now=VALUE, wanted=VALUE),
    }
