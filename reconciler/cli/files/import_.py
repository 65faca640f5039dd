"""`reconciler import`: turns files of other tools into a topology. Asks no server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import emit, paper, tell
from reconciler.cli.shared.writing import Overwrite, write
from reconciler.journeys.export.importing import Imported, import_files
from reconciler.report.words.diagnostics import report
from reconciler.report.words.values import counted

app = common.new_app()


@app.command(name="import")
def import_(
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCES...", help="Files and folders of other tools.", show_default=False)
    ],
    topology: Annotated[str, typer.Option("--topology", metavar="NAME", help="Name of the topology.")] = "imported",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write into this new file, not to stdout.")
    ] = None,
    overwrite: Overwrite = False,
) -> int:
    """Write a topology from files of the `nats` CLI, of Terraform's JetStream provider, or of NACK.

    It reads the output of `nats stream info --json` and `nats consumer info --json`, backups (backup.json), a
    terraform.tfstate of version 4, and manifests of jetstream.nats.io/v1beta2. It names what it cannot carry over, with
    the place. Where it can read nothing, it writes nothing.
    """
    common.refuse_if_any(
        (overwrite and output is None, "--overwrite is about a file; name it with --output, or leave it out."),
    )
    topology_file = import_files(sources, topology)
    has_errors = any(problem.is_error for problem in topology_file.problems)
    if topology_file.count or not has_errors:
        _write_or_print(topology_file, output, overwrite=overwrite)
    tell(report(topology_file.problems, paper(sys.stderr)))
    return exits.FAILED if has_errors else exits.FINE


def _write_or_print(topology_file: Imported, output: Path | None, *, overwrite: bool) -> None:
    if output is None:
        emit(topology_file.text)
        return
    write({output: topology_file.text}, overwrite=overwrite)
    tell(f"Wrote {counted(topology_file.count, 'resource')} to {output}. Next: reconciler validate {output}\n")
