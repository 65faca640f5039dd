"""`reconciler export`: what is live, as YAML whose plan is empty at once."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli import common, exits
from reconciler.cli.connecting import Connection, connection
from reconciler.cli.screen import paper, say, tell
from reconciler.cli.sharing import takes
from reconciler.core.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.report.diagnostics import report
from reconciler.server.options import ConnectOptions
from reconciler.workflow.export import Exported, exported
from reconciler.workflow.session import session

app = common.app()


@app.command(name="export")
@takes(connection)
def export_(
    connection: Connection,
    topology: Annotated[
        str | None,
        typer.Option("--topology", metavar="NAME", help="Name of the topology in the file; left out: its only owner."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="A new file, instead of stdout.")
    ] = None,
    only: common.Only = None,
    exclude: common.Exclude = None,
) -> int:
    """Write what is live as YAML: only what differs from the server's defaults, in units people read."""
    if output is not None and output.exists():
        raise _cannot_write(output, "it exists, and what it says might be lost")
    found = asyncio.run(_exported(connection.options(), topology, tuple(only or ()), tuple(exclude or ())))
    if output is None:
        say(found.text)
    else:
        _write(output, found.text)
        tell(f"Wrote {output}. Next: reconciler plan {connection.arguments(str(output))}\n")
    tell(report(found.left_out, paper(sys.stderr)) if found.left_out else "")
    return exits.FAILED if any(one.is_error for one in found.left_out) else exits.FINE


def _write(output: Path, text: str) -> None:
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _cannot_write(output, (error.strerror or str(error)).lower()) from None


async def _exported(
    options: ConnectOptions, topology: str | None, only: tuple[str, ...], exclude: tuple[str, ...]
) -> Exported:
    async with session(options) as js:
        return await exported(js, topology=topology, only=only, exclude=exclude)


def _cannot_write(path: Path, why: str) -> CannotContinue:
    return CannotContinue(
        Diagnostic(
            severity=Severity.ERROR, code="XX902", name="cannot-write", message=f"Cannot write {path}: {why}.",
            fix="Name a new file, in a folder that you may write to.",
        )
    )  # fmt: skip
