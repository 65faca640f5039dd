"""`reconciler fmt`: puts topology files into form, or shows what that would change. Asks no server."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import emit, paper, say, tell
from reconciler.journeys.form import Formed, formed_data, formed_files, write
from reconciler.model.diagnostic import Diagnostic
from reconciler.report.words.diagnostics import report
from reconciler.report.words.difference import difference
from reconciler.report.words.paper import Paper, Role
from reconciler.report.words.values import counted
from reconciler.report.words.visible import lines_visible, visible

STDIN = Path("-")
_ROLES: dict[str, Role] = {"+": "create", "-": "delete", "@": "quiet"}

app = common.new_app()


@app.command(epilog=exits.epilog(instead={exits.FAILED: "could not do it, or not in form (with --check)"}))
def fmt(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATHS...", help="Files and folders, of any number of topologies; - is stdin.", show_default=False
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing. Show what would change, and exit 1 if anything would.")
    ] = False,
    no_color: common.NoColor = False,
) -> int:
    """Put topology files into form: keys in the order of the documentation, two spaces a level, at most one blank line.

    Names keep their order, and each comment stays with its key. What a file says never changes: it is read again before it
    is written. A file with errors is named and stays as it is, and so is a file that is no topology. `-` puts stdin into
    form on stdout, for editors.
    """
    unwritable = [path for path in paths if not check and path.exists() and not (path.is_file() or path.is_dir())]
    common.refuse_if_any(
        (STDIN in paths and len(paths) > 1, "- is stdin, and stands alone."),
        (
            unwritable,
            f"{', '.join(map(visible, map(str, unwritable)))} is no file to write back into; - puts stdin into form.",
        ),
    )
    is_stdin = paths == [STDIN]
    files, problems = _form_stdin() if is_stdin else formed_files(paths)
    if check:
        say("".join(_difference_lines(files, paper(no_color=no_color))))
    elif is_stdin:
        _print_formed(files)
    else:
        _write_formed(files)
    tell(report(problems, paper(sys.stderr, no_color=no_color)))
    if check or not is_stdin:
        _tell_result(files, paths, check=check)
    is_fine = not any(problem.is_error for problem in problems) and not (check and any(file.changes for file in files))
    return exits.FINE if is_fine else exits.FAILED


def _form_stdin() -> tuple[list[Formed], list[Diagnostic]]:
    only = formed_data("<stdin>", sys.stdin.buffer.read())
    return [] if only.problems else [only], list(only.problems)


def _print_formed(files: Sequence[Formed]) -> None:
    """Print the files as they would be written, whatever encoding this terminal has."""
    sys.stdout.reconfigure(encoding="utf-8", newline="")  # type: ignore[union-attr]
    for file in files:
        emit(file.now.decode())


def _write_formed(files: Sequence[Formed]) -> None:
    try:
        write(files)
    except OSError as error:
        raise common.write_error(Path(error.filename), error, "Nothing was written.") from None


def _tell_result(files: Sequence[Formed], paths: Sequence[Path], *, check: bool) -> None:
    changed = [file.name for file in files if file.changes]
    if not changed:
        say(f"{_in_form_sentence(len(files))}\n" if files else "")
        return
    names = "".join(f"  {visible(name)}\n" for name in changed)
    tell(f"{'Not in form' if check else 'Put into form'}, {len(changed)} of {counted(len(files), 'file')}:\n{names}")
    if check and STDIN not in paths:
        tell(f"Next: reconciler fmt {shlex.join(map(str, paths))}\n")


def _in_form_sentence(number: int) -> str:
    """`3 files are in form`."""
    return f"{counted(number, 'file')} {'is' if number == 1 else 'are'} in form"


def _difference_lines(files: Sequence[Formed], sheet: Paper) -> Iterator[str]:
    for file in files:
        before, after = _lines(file.was, file.was), _lines(file.now, file.was)
        for line in difference(before, after, file.name):
            role = _ROLES.get(line[:1])
            text = lines_visible(line)
            yield (sheet.paint(text, role) if role else text) + "\n"


def _lines(data: bytes, was: bytes) -> list[str]:
    """Split into lines as `diff` does. Where all lines end in a carriage return, none shows it."""
    if was.count(b"\n") == was.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n")
    *lines, last = data.decode().split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines
