"""`reconciler init`: the first file of a topology, and what to do with it."""

from __future__ import annotations

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
from reconciler.cli.shared.screen import paper, say, tell
from reconciler.cli.shared.writing import existing_file_error, write
from reconciler.documents.find.discover import discover
from reconciler.documents.parse.files import DISK
from reconciler.documents.schema.topology import topology_text
from reconciler.documents.write.atomic import other_yaml_files
from reconciler.journeys.export.export import Layout
from reconciler.journeys.export.first import FirstFiles, Part, first_files, main_file_name, starter
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.words.diagnostics import report
from reconciler.report.words.values import counted, kind_noun
from reconciler.report.words.visible import visible

app = common.new_app()

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
    common.refuse_if_any(
        (is_starter and (only or exclude or layout),
         "--starter takes nothing from an account; leave out --only, --exclude and --layout, or --starter."),
    )  # fmt: skip
    name = topology or folder.resolve().name
    if not name:
        raise common.Misused(f"{folder} has no name to call the topology by; say --topology NAME.")
    part = Part(topology=name, only=only or (), exclude=exclude or (), layout=layout or Layout.OWNER)
    _check_free(folder, name)
    from_account = connection.is_chosen and not is_starter
    first = _read_account(connection, part, folder) if from_account else starter(name)
    return _write_files(first, folder, connection if from_account else replace(connection, dev=True))


def _check_free(folder: Path, name: str) -> None:
    """Raise CannotContinue where files are in the way, before the account is read, which may take a while."""
    if (main := folder / main_file_name(name)).exists():
        raise existing_file_error(str(main), _ELSEWHERE)
    declared = discover([folder], DISK, REGISTRY).files if folder.is_dir() else {}
    if files := [file for topology, files in declared.items() if topology.name == name for file in files]:
        message = f"{files[0]} is of topology `{name}` already. Nothing was written."
        raise CannotContinue.because("XX902", "cannot-write", message, fix=_ELSEWHERE)


_ELSEWHERE = "Name another folder, or another topology with --topology NAME."


def _read_account(connection: Connection, part: Part, folder: Path) -> FirstFiles:
    try:
        return connection.ask(lambda js: first_files(js, part))
    except CannotContinue as problem:
        without_server = f"To begin without a server: reconciler init {shlex.quote(str(folder))} --starter"
        raise CannotContinue(
            *(
                replace(cause, fix=f"{cause.fix}\n{without_server}") if cause.is_about_connection else cause
                for cause in problem.diagnostics
            )
        ) from None


# -- what is written


def _write_files(first: FirstFiles, folder: Path, connection: Connection) -> int:
    texts = {folder / path: text for path, text in first.files.items()}
    is_alone, schema = not other_yaml_files(folder, texts), _schema_path(folder)
    files = {path: _with_schema_line(text, os.path.relpath(schema, path.parent)) for path, text in texts.items()}
    missing = {} if schema.exists() else {schema: topology_text(REGISTRY)}
    write({**files, **missing}, fix=_ELSEWHERE)
    target = str(folder if is_alone or len(texts) > 1 else next(iter(texts)))
    lines = (*_written_lines(first, list(texts)), *(f"Wrote {path}, from which editors complete." for path in missing))
    say("".join(f"{line}\n" for line in (*lines, *_next_command_lines(first, target, connection))))
    tell(report(first.left_out, paper(sys.stderr)))
    return exits.FAILED if any(diagnostic.is_error for diagnostic in first.left_out) else exits.FINE


def _with_schema_line(text: str, schema: str) -> str:
    return f"# yaml-language-server: $schema={schema}\n{text}"


def _schema_path(folder: Path) -> Path:
    """Return the schema in a folder above or its `schemas`; else the place for a new one beside the files."""
    above = [folder.absolute(), *folder.absolute().parents]
    top = next((n for n, parent in enumerate(above) if (parent / ".git").exists()), 0)
    places = (parent / below for parent in above[: top + 1] for below in ("", "schemas"))
    return next((place / SCHEMA for place in places if (place / SCHEMA).is_file()), folder / SCHEMA)


# -- what is said


def _written_lines(first: FirstFiles, paths: Sequence[Path]) -> Iterator[str]:
    main, others = paths[0], len(paths) - 1
    if not first.counts:
        yield f"Wrote {main}: a stream and a consumer to begin with."
        return
    others_phrase = f" and {counted(others, 'file')} beside it" if others else ""
    yield f"Wrote {main}{others_phrase}: {_counts_text(first.counts)} that nobody owns yet. The account was only read."
    if first.owners:
        owners = ", ".join(f"{number:_} of {visible(owner)}" for owner, number in sorted(first.owners.items()))
        yield f"Left to their owners: {owners}."
    if not others and sum(first.counts.values()) >= MANY:
        yield (
            f"Rather in parts? Delete {main}, and say --layout stream for a file for each stream, or --only '*/ORDERS*' "
            "for what belongs to some."
        )


def _counts_text(counts: Mapping[str, int]) -> str:
    """Count objects by kind, as `200 streams, 612 consumers`, in the order of kinds everywhere."""
    kinds = (kind.name for kind in REGISTRY.kinds if counts.get(kind.name))
    return ", ".join(f"{counts[kind]:_} {kind_noun(kind, counts[kind])}" for kind in kinds)


def _next_command_lines(first: FirstFiles, path: str, connection: Connection) -> Iterator[str]:
    target = connection.arguments(path)
    last = ("adopt", "it is yours; no object is touched") if first.counts else ("apply", "makes it so")
    lines = (
        (f"reconciler validate {shlex.quote(path)}", "the files alone"),
        (f"reconciler plan {target}", "what would change: nothing" if first.counts else "what would change"),
        (f"reconciler {last[0]} {target}", last[1]),
    )
    room = max(len(line) for line, _ in lines)
    for number, (line, purpose) in enumerate(lines):
        yield f"{'Next:' if not number else '     '} {line:{room}}   # {purpose}"
