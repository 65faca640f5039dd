"""How commands write files and report it, and refuse to overwrite existing ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common
from reconciler.documents.write.new_files import InTheWay, write_files
from reconciler.model.diagnostic import CannotContinue

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over files that exist already.")]


ANOTHER = "Name a new file or folder, or say --overwrite."


def write(files: Mapping[Path, str], *, overwrite: bool = False, fix: str = ANOTHER) -> None:
    """Writes the files. Raises CannotContinue where one cannot be written, or exists already and `overwrite` is not set;
    what to do then says `fix`."""
    try:
        write_files(files, overwrite=overwrite)
    except InTheWay as there:
        raise exists(str(there), fix) from None
    except OSError as error:
        raise common.cannot_write(Path(error.filename or next(iter(files))), error) from None


def exists(paths: str, fix: str) -> CannotContinue:
    """What is in the way of a new file."""
    message = f"There is something already, and what it says might be lost: {paths}. Nothing was written."
    return CannotContinue.because("XX902", "cannot-write", message, fix=fix)
