"""`reconciler schema`: the JSON Schemas that `schemas/` publishes."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import emit, tell
from reconciler.documents.schema.topology import topology_text
from reconciler.documents.write.atomic import write_whole
from reconciler.fleet.accounts.fleet_file import fleet_file_schema
from reconciler.fleet.report.json_schema import COMMANDS, fleet_plan_schema, fleet_schema
from reconciler.journeys.drift.codec import drift_schema
from reconciler.journeys.groups.json import groups_schema
from reconciler.journeys.rehearse.json import rehearsal_schema
from reconciler.journeys.saved.codec import plan_schema
from reconciler.kinds import REGISTRY
from reconciler.report.codec.json import findings_schema, reports_schema
from reconciler.report.codec.outcome_json import outcome_schema

app = common.app()
ALONE = "--plan, --apply, --drift, --findings, --reports, --groups, --rehearse, --fleet-file and --fleet"


@app.command()
def schema(
    plan: Annotated[bool, typer.Option("--plan", help="Print the schema of `plan --format json`.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Print the schema of `apply --format json`.")] = False,
    findings: Annotated[
        bool,
        typer.Option(
            "--findings",
            help="Print the schema of `validate --format json`, and of any command that cannot do its work.",
        ),
    ] = False,
    reports: Annotated[
        bool,
        typer.Option("--reports", help="Print the schema of `--format json` of commands about several topologies."),
    ] = False,
    groups: Annotated[bool, typer.Option("--groups", help="Print the schema of `groups … --format json`.")] = False,
    drift: Annotated[bool, typer.Option("--drift", help="Print the schema of `drift --format json`.")] = False,
    rehearse: Annotated[bool, typer.Option("--rehearse", help="Print the schema of `rehearse --format json`.")] = False,
    fleet_file: Annotated[bool, typer.Option("--fleet-file", help="Print the schema of fleet.yaml.")] = False,
    fleet: Annotated[
        str | None,
        typer.Option("--fleet", metavar="COMMAND", help="Print the schema of `fleet COMMAND --format json`."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FOLDER", help="Write all schemas into this folder.")
    ] = None,
) -> int:
    """Print the JSON Schema of topology files, for editors, or of what a command prints, for tools."""
    flags = {
        "plan": plan, "apply": apply, "drift": drift, "findings": findings, "reports": reports, "groups": groups, "rehearse": rehearse,
        "fleet": fleet_file,
    }  # fmt: skip
    names = [
        *(name for name, wanted in flags.items() if wanted),
        *([_fleet_schema_name(fleet)] if fleet is not None else []),
    ]
    common.refuse_if_any(
        (len(names) > 1, f"{ALONE} are schemas of their own; ask for one of them."),
        (names and write, f"--write writes all schemas; leave out {ALONE}, or --write."),
    )
    if write is None:
        emit(SCHEMAS[names[0] if names else "topology"]())
        return exits.FINE
    try:
        _write_schemas(write)
    except OSError as error:
        raise common.cannot_write(write, error) from None
    return exits.FINE


def _fleet_schema_name(command: str) -> str:
    name = f"fleet-{command}"
    if name not in SCHEMAS:
        raise common.Misused(f"--fleet {command}: write one of plan, {', '.join(COMMANDS)}.")
    return name


def _write_schemas(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{name}.schema.json": text().encode() for name, text in SCHEMAS.items()}
    write_whole(files)
    tell("".join(f"Wrote {path}\n" for path in files))


def fleet_file_text() -> str:
    """Return the JSON Schema of fleet.yaml."""
    return json.dumps(fleet_file_schema(), indent=2, ensure_ascii=False) + "\n"


SCHEMAS: dict[str, Callable[[], str]] = {
    "topology": partial(topology_text, REGISTRY),
    "plan": plan_schema,
    "apply": outcome_schema,
    "drift": drift_schema,
    "findings": findings_schema,
    "reports": reports_schema,
    "groups": groups_schema,
    "rehearse": rehearsal_schema,
    "fleet": fleet_file_text,
    "fleet-plan": fleet_plan_schema,
    **{f"fleet-{command}": partial(fleet_schema, command) for command in COMMANDS},
}
