"""`reconciler export`: writes an account as YAML whose plan is empty at once."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import doing, emit, paper, tell
from reconciler.cli.shared.writing import Overwrite, write
from reconciler.documents.write.new_files import other_yaml_files
from reconciler.journeys.export.export import Exported, ExportedFolder, Layout, exported, exported_folder
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.report.words.diagnostics import report
from reconciler.report.words.values import counted
from reconciler.server.connect.connection import session
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.wire.api import JetStream

app = common.app()


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
    common.never(
        (output is not None and into is not None, "--output names one file and --into a folder; give one of them."),
        (layout and into is None, "--layout is about a folder; name one with --into, or leave it out."),
        (overwrite and into is None and output is None,
         "--overwrite is about files; name one with --output or a folder with --into, or leave it out."),
    )  # fmt: skip
    wanted = _Wanted(connection.options(), topology, tuple(only or ()), tuple(exclude or ()))
    if into is not None:
        with doing("reading the account …"):
            folder = asyncio.run(wanted.folder(layout or Layout.OWNER))
        _write_folder(folder, into, connection, overwrite=overwrite)
        return _ended(folder.left_out)
    with doing("reading the account …"):
        found = asyncio.run(wanted.file())
    if output is None:
        emit(found.text)
    else:
        write({output: found.text}, overwrite=overwrite)
        tell(f"Wrote {output}. Next: reconciler plan {connection.arguments(str(output))}{_taking_over(found)}\n")
    return _ended((*_several(found), *found.left_out))


class _Wanted:
    """What to export, and from where."""

    def __init__(
        self, options: ConnectOptions, topology: str | None, only: tuple[str, ...], exclude: tuple[str, ...]
    ) -> None:
        self._options, self._topology, self._only, self._exclude = options, topology, only, exclude

    async def file(self) -> Exported:
        async with session(self._options) as js:
            return await exported(js, topology=self._topology, only=self._only, exclude=self._exclude)

    async def folder(self, layout: Layout) -> ExportedFolder:
        async with session(self._options) as js:
            return await self._folder(js, layout)

    async def _folder(self, js: JetStream, layout: Layout) -> ExportedFolder:
        return await exported_folder(js, layout, topology=self._topology, only=self._only, exclude=self._exclude)


def _write_folder(found: ExportedFolder, into: Path, connection: Connection, *, overwrite: bool) -> None:
    files = {into / path: text for path, text in found.files.items()}
    write(files, overwrite=overwrite)
    tell(f"Wrote {counted(len(files), 'file')} into {into}.\n")
    tell("".join(f"Next: reconciler plan {connection.arguments(str(into / plan))}\n" for plan in found.plans))
    tell(report(_left_over(into, files), paper(sys.stderr)))


def _left_over(into: Path, files: Mapping[Path, str]) -> list[Diagnostic]:
    return [
        Diagnostic(
            severity=Severity.WARNING, code="XX909", name="leftover-file",
            message=f"{path} is in the folder, but this export did not write it; it may describe objects that are "
            "no longer live",
            fix="remove it, or export into a new folder",
        )
        for path in other_yaml_files(into, files)
    ]  # fmt: skip


def _several(found: Exported) -> Iterator[Diagnostic]:
    if found.others:
        yield Diagnostic(
            severity=Severity.WARNING, code="XX910", name="several-owners",
            message=f"this file is of topology `{found.topology}`, but {', '.join(found.others)} owns part of what "
                    "it declares, so its plan in this account is refused for that part",
            fix=f"write a file for each owner: --into DIR; or plan it with{_taking_over(found)}, which makes "
            "the topology own all of it",
        )  # fmt: skip


def _taking_over(found: Exported) -> str:
    return "".join(f" --take-over {shlex.quote(owner)}" for owner in found.others)


def _ended(problems: tuple[Diagnostic, ...]) -> int:
    tell(report(problems, paper(sys.stderr)))
    return exits.FAILED if any(one.is_error for one in problems) else exits.FINE
