"""`reconciler export`: writes an account as YAML whose plan is empty at once."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import emit, paper, tell
from reconciler.cli.shared.writing import Overwrite, write
from reconciler.documents.write.atomic import other_yaml_files
from reconciler.journeys.export.export import Exported, ExportedFolder, Layout, exported_file, exported_folder
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.report.words.diagnostics import report
from reconciler.report.words.values import counted

app = common.new_app()


@app.command(name="export")
@takes(connection)
def export_(
    connection: Connection,
    topology: Annotated[
        str | None,
        typer.Option("--topology", metavar="NAME", help="Name of the topology in the file. [the only owner]"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write into this new file, not to stdout.")
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="DIR", help="Write into this folder, a file for each owner or stream."),
    ] = None,
    layout: Annotated[
        Layout | None, typer.Option("--layout", help="With --into, what there is a file for. [owner]")
    ] = None,
    overwrite: Overwrite = False,
    only: common.Only = None,
    exclude: common.Exclude = None,
) -> int:
    """Write what is live as YAML: what differs from the server's defaults, in units that people read.

    The same account gives the same bytes. The owners are those that bucket `reconciler` remembers. A single file holds
    everything, whoever owns it. In a folder, what nobody owns goes to the topology that --topology names, or to `exported`.
    """
    common.refuse_if_any(
        (output is not None and into is not None, "--output names one file and --into a folder; give one of them."),
        (layout and into is None, "--layout is about a folder; name one with --into, or leave it out."),
        (overwrite and into is None and output is None,
         "--overwrite is about files; name one with --output or a folder with --into, or leave it out."),
    )  # fmt: skip
    folder_layout, only, exclude = layout or Layout.OWNER, only or [], exclude or []
    if into is not None:
        folder = connection.ask(
            lambda js: exported_folder(js, folder_layout, topology=topology, only=only, exclude=exclude)
        )
        _write_folder(folder, into, connection, overwrite=overwrite)
        return _report_left_out(folder.left_out)
    file = connection.ask(lambda js: exported_file(js, topology=topology, only=only, exclude=exclude))
    if output is None:
        emit(file.text)
    else:
        write({output: file.text}, overwrite=overwrite)
        tell(f"Wrote {output}. Next: reconciler plan {connection.arguments(str(output))}{_take_over_options(file)}\n")
    return _report_left_out((*_several_owners_warnings(file), *file.left_out))


def _write_folder(exported: ExportedFolder, folder: Path, connection: Connection, *, overwrite: bool) -> None:
    files = {folder / path: text for path, text in exported.files.items()}
    write(files, overwrite=overwrite)
    tell(f"Wrote {counted(len(files), 'file')} into {folder}.\n")
    tell("".join(f"Next: reconciler plan {connection.arguments(str(folder / plan))}\n" for plan in exported.plans))
    tell(report(_leftover_files(folder, files), paper(sys.stderr)))


def _leftover_files(folder: Path, files: Mapping[Path, str]) -> list[Diagnostic]:
    return [
        Diagnostic(
            severity=Severity.WARNING, code="XX909", name="leftover-file",
            message=f"{path} is in the folder, but this export did not write it; it may describe objects that are "
            "no longer live",
            fix="remove it, or export into a new folder",
        )
        for path in other_yaml_files(folder, files)
    ]  # fmt: skip


def _several_owners_warnings(file: Exported) -> Iterator[Diagnostic]:
    if file.others:
        yield Diagnostic(
            severity=Severity.WARNING, code="XX910", name="several-owners",
            message=f"this file is of topology `{file.topology}`, but {', '.join(file.others)} owns part of what "
                    "it declares, so its plan in this account is refused for that part",
            fix=f"write a file for each owner: --into DIR; or plan it with{_take_over_options(file)}, which makes "
            "the topology own all of it",
        )  # fmt: skip


def _take_over_options(file: Exported) -> str:
    return "".join(f" --take-over {shlex.quote(owner)}" for owner in file.others)


def _report_left_out(problems: tuple[Diagnostic, ...]) -> int:
    """Report what could not be exported, and return the exit code."""
    tell(report(problems, paper(sys.stderr)))
    return exits.FAILED if any(problem.is_error for problem in problems) else exits.FINE
