"""The published schemas of reports that hold no plan of their own: findings alone, and the reports of several topologies."""

from __future__ import annotations

from reconciler.changes.plan import FORMAT
from reconciler.report.codec.plan_schema import places
from reconciler.report.codec.schema_parts import TEXT, fixed, format_of, list_of, published, says, schema_text


def findings_schema() -> str:
    """Return the schema of reports without a plan, drift or outcome: a check of files, or a command that could not
    work."""
    whole = published(
        "reconciler findings",
        "What `validate` found, or why another command could not work; the exit code is then 1, 64 or 130.",
        fixed(
            {
                "format": format_of(FORMAT),
                "command": TEXT | says("The command that made this document, such as `plan` or `groups list`."),
                "diagnostics": list_of("diagnostic") | says("What was found, in reading order."),
            },
            topology=TEXT | says("The topology in question, where the files could be read that far."),
        ),
        {name: places()[name] for name in ("diagnostic", "span")},
    )
    return schema_text(whole)


def reports_schema() -> str:
    """Return the schema of reports about several topologies: one report for each."""
    each = [{"$ref": f"{name}.schema.json"} for name in ("plan", "drift", "apply", "findings")]
    reports = {"type": "array", "minItems": 1, "items": {"anyOf": each}}
    whole = published(
        "reconciler reports",
        "The report of a command about several topologies: a document for each, by the contract that it has alone.",
        fixed({
            "format": format_of(FORMAT),
            "reports": reports | says("One document for each topology, in the order in which they were worked on."),
        }),
        {},
    )  # fmt: skip
    return schema_text(whole)
