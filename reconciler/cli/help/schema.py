"""`reconciler schema`: the JSON Schemas that `schemas/` publishes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.cli.shared.screen import emit, tell
from reconciler.documents.write.atomic import write_whole
from reconciler.model.spelling import meant_choice

app = common.new_app()


@app.command()
def schema(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help=f"Name of the schema: {', '.join(SCHEMAS)}. [topology]")
    ] = None,
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FOLDER", help="Write all schemas into this folder.")
    ] = None,
) -> int:
    """Print the JSON Schema of topology files, for editors, or of what a command prints, for tools."""
    common.refuse_if_any((name and write, f"--write writes all schemas; leave out {name}, or --write."))
    if write is None:
        emit(_schema_text(name or "topology"))
        return exits.FINE
    try:
        _write_schemas(write)
    except OSError as error:
        raise common.write_error(write, error) from None
    return exits.FINE


def _schema_text(name: str) -> str:
    if name not in SCHEMAS:
        suggestion = f" Did you mean {likely}?" if (likely := meant_choice(name, SCHEMAS)) else ""
        raise common.Misused(f"There is no schema {name}.{suggestion} Write one of {', '.join(SCHEMAS)}.")
    return SCHEMAS[name]()


def _write_schemas(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = {folder / f"{name}.schema.json": text().encode() for name, text in SCHEMAS.items()}
    write_whole(files)
    tell("".join(f"Wrote {path}\n" for path in files))
