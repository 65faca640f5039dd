"""The published schema of what `apply --format json` prints, strict: every step under exactly one heading."""

from __future__ import annotations

from reconciler.model.wire.steps import Call
from reconciler.report.codec.outcome_json import FORMAT
from reconciler.report.codec.plan_schema import places
from reconciler.report.codec.schema_parts import (
    ADDRESS,
    COUNT,
    FLAG,
    RAW,
    TEXT,
    TEXTS,
    VALUE,
    Schema,
    fixed,
    format_of,
    list_of,
    one_of,
    published,
    ref,
    says,
    schema_text,
)


def outcome_schema() -> str:
    """Return the text of `apply.schema.json`."""
    said = {
        "format": format_of(FORMAT),
        "topology": TEXT | says("Name of the topology."),
        "exit_code": COUNT | says("The exit code of the command."),
        "as_wanted": {"type": "array", "items": ADDRESS}
        | says("Addresses for which a saved plan had nothing left to do."),
        "done": list_of("step") | says("Steps that were carried out and verified."),
        "failed": list_of("failed") | says("Steps that were not carried out, or had another result than predicted."),
        "in_doubt": list_of("in_doubt") | says("Steps that were sent, but it is unknown whether they happened."),
        "skipped": list_of("skipped") | says("Steps that were not begun, because one before them did not succeed."),
        "not_started": list_of("step") | says("Steps that were not due yet when the run was stopped."),
        "warnings": list_of("diagnostic") | says("Problems that are about no step."),
    }
    stopped = TEXT | says("Why the run ended early. A missing key: it ran to its end.")
    whole = published(
        "reconciler apply",
        "What one apply did, what it could not do and why, and what it did not begin.",
        fixed(said, stopped=stopped),
        {**_steps(), **{name: places()[name] for name in ("diagnostic", "span")}},
    )
    return schema_text(whole)


def _steps() -> dict[str, Schema]:
    step = {
        "id": TEXT | says("The step's id in the plan."),
        "address": ADDRESS | says("The resource that it serves."),
        "call": one_of(Call) | says("The request; a `gate` only looks and waits."),
        "on": TEXTS | says("What it is done to: a stream, a stream and a consumer, or a bucket and a key."),
    }
    reason = {"reason": ref("diagnostic") | says("What happened, and what to do.")}
    untouched = FLAG | says("True: the server changed nothing.")
    strayed = list_of("strayed") | says("What somebody else changed after the plan was made.")
    return {
        "step": fixed(step),
        "failed": fixed({**step, **reason, "nothing_done": untouched}, strayed=strayed),
        "in_doubt": fixed({**step, **reason}),
        "skipped": fixed({**step, "because": TEXT | says("Why, in words.")}),
        "strayed": fixed(
            {"path": TEXT | says("The field.")},
            planned=VALUE | says(f"What the plan was made from. {RAW}"),
            now=VALUE | says(f"What is live now. {RAW}"),
            wanted=VALUE | says(f"What the plan wanted. {RAW}"),
        ),
    }
