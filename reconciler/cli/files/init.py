"""`reconciler init`: the first file of a topology, and what to do with it."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import Progress, paper, say, tell
from reconciler.cli.shared.writing import exists, write
from reconciler.documents.find.discover import discover
from reconciler.documents.read.files import DISK
from reconciler.documents.schema.topology import topology_text
from reconciler.documents.write.new_files import other_yaml_files
from reconciler.journeys.export.export import Layout
from reconciler.journeys.export.first import FirstFiles, Part, first_files, main_file, starter
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.words.diagnostics import report
from reconciler.report.words.names import kind_noun
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible
from reconciler.server.connect.connection import session
from reconciler.server.connect.options import ConnectOptions

app = common.app()

SCHEMA = "topology.schema.json"
MANY = 50
"""With so many objects in one file, the command says how to write several files."""


@app.command(name="init")
@takes(connection)
def init_(
    connection: Connection,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder to write into; it is made where it is missing.")
    ] = Path(),
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="NAME", help="Name of the topology. [that of the folder]")
    ] = None,
    is_starter: Annotated[
        bool, typer.Option("--starter", help="Write a small commented file, whatever server is selected.")
    ] = False,
    layout: Annotated[
        Layout | None, typer.Option("--layout", help="Write one file, or a file for each stream. [owner]")
    ] = None,
    only: common.Only = None,
    exclude: common.Exclude = None,
) -> int:
    """Write the first file of a topology: what an account holds and nobody owns, or a small commented one to begin with.

    The account is the one that is named or selected: by --context, --server or --dev, by NATS_URL, or in the nats CLI.
    Without any, or with --starter, no server is asked. The account is only read, and no file is overwritten.
    """
    common.never(
        (is_starter and (only or exclude or layout),
         "--starter takes nothing from an account; leave out --only, --exclude and --layout, or --starter."),
    )  # fmt: skip
    name = topology or folder.resolve().name
    if not name:
        raise common.Misused(f"{folder} has no name to call the topology by; say --topology NAME.")
    part = Part(topology=name, only=only or (), exclude=exclude or (), layout=layout or Layout.OWNER)
    _is_free(folder, name)
    is_taken = connection.is_chosen and not is_starter
    found = _taken(connection, part, folder) if is_taken else starter(name)
    return _written(found, folder, connection if is_taken else replace(connection, dev=True))


def _is_free(folder: Path, name: str) -> None:
    """Looked at before the account is read, which may take a while."""
    if (main := folder / main_file(name)).exists():
        raise exists(str(main), _ELSEWHERE)
    there = discover([folder], DISK, REGISTRY).files if folder.is_dir() else {}
    if files := [file for home, files in there.items() if home.name == name for file in files]:
        message = f"{files[0]} is of topology `{name}` already. Nothing was written."
        raise CannotContinue.because("XX902", "cannot-write", message, fix=_ELSEWHERE)


_ELSEWHERE = "Name another folder, or another topology with --topology NAME."


def _taken(connection: Connection, part: Part, folder: Path) -> FirstFiles:
    progress = Progress()
    try:
        options = connection.options()
        progress.show("reading the account …")
        return asyncio.run(_read(options, part))
    except CannotContinue as problem:
        begun = f"To begin without a server: reconciler init {shlex.quote(str(folder))} --starter"
        raise CannotContinue(*(
            replace(one, fix=f"{one.fix}\n{begun}") if one.code.startswith("NA") else one for one in problem.diagnostics
        )) from None  # fmt: skip
    finally:
        progress.clear()


async def _read(options: ConnectOptions, part: Part) -> FirstFiles:
    async with session(options) as js:
        return await first_files(js, part)


# -- what is written


def _written(found: FirstFiles, folder: Path, connection: Connection) -> int:
    plain = {folder / path: text for path, text in found.files.items()}
    is_alone, schema = not other_yaml_files(folder, plain), _schema(folder)
    files = {path: _headed(text, os.path.relpath(schema, path.parent)) for path, text in plain.items()}
    fresh = {} if schema.exists() else {schema: topology_text(REGISTRY)}
    write({**files, **fresh}, fix=_ELSEWHERE)
    named = str(folder if is_alone or len(plain) > 1 else next(iter(plain)))
    said = (*_made(found, list(plain)), *(f"Wrote {path}, from which editors complete." for path in fresh))
    say("".join(f"{line}\n" for line in (*said, *_next(found, named, connection))))
    tell(report(found.left_out, paper(sys.stderr)))
    return exits.FAILED if any(one.is_error for one in found.left_out) else exits.FINE


def _headed(text: str, schema: str) -> str:
    return f"# yaml-language-server: $schema={schema}\n{text}"


def _schema(folder: Path) -> Path:
    """The one that the repository has, in a folder above or its `schemas`; else it is written beside the files."""
    above = [folder.absolute(), *folder.absolute().parents]
    top = next((n for n, one in enumerate(above) if (one / ".git").exists()), 0)
    places = (one / below for one in above[: top + 1] for below in ("", "schemas"))
    return next((place / SCHEMA for place in places if (place / SCHEMA).is_file()), folder / SCHEMA)


# -- what is said


def _made(found: FirstFiles, paths: Sequence[Path]) -> Iterator[str]:
    main, others = paths[0], len(paths) - 1
    if not found.counts:
        yield f"Wrote {main}: a stream and a consumer to begin with."
        return
    beside = f" and {counted(others, 'file')} beside it" if others else ""
    yield f"Wrote {main}{beside}: {_held(found.counts)} that nobody owns yet. The account was only read."
    if found.owners:
        theirs = ", ".join(f"{number:_} of {visible(owner)}" for owner, number in sorted(found.owners.items()))
        yield f"Left to their owners: {theirs}."
    if not others and sum(found.counts.values()) >= MANY:
        yield (
            f"Rather in parts? Delete {main}, and say --layout stream for a file for each stream, or --only '*/ORDERS*' "
            "for what belongs to some."
        )


def _held(counts: Mapping[str, int]) -> str:
    """`200 streams, 612 consumers`, in the order in which kinds are listed everywhere."""
    kinds = (kind.name for kind in REGISTRY.kinds if counts.get(kind.name))
    return ", ".join(f"{counts[kind]:_} {kind_noun(kind, counts[kind])}" for kind in kinds)


def _next(found: FirstFiles, named: str, connection: Connection) -> Iterator[str]:
    target = connection.arguments(named)
    last = ("adopt", "it is yours; no object is touched") if found.counts else ("apply", "makes it so")
    lines = (
        (f"reconciler validate {shlex.quote(named)}", "the files alone"),
        (f"reconciler plan {target}", "what would change: nothing" if found.counts else "what would change"),
        (f"reconciler {last[0]} {target}", last[1]),
    )
    room = max(len(line) for line, _ in lines)
    for number, (line, why) in enumerate(lines):
        yield f"{'Next:' if not number else '     '} {line:{room}}   # {why}"
