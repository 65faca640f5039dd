"""How commands write files and report it, and refuse to overwrite existing ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common
from reconciler.documents.write.atomic import InTheWay, write_files
from reconciler.model.diagnostic import CannotContinue

Overwrite = Annotated[bool, typer.Option("--overwrite", help="Write over files that exist already.")]


ANOTHER = "Name a new file or folder, or say --overwrite."


def write(files: Mapping[Path, str], *, overwrite: bool = False, fix: str = ANOTHER) -> None:
    """Write the files. Raises CannotContinue where one cannot be written, or exists already and `overwrite` is not set;
    `fix` then says what to do."""
    try:
        write_files(files, overwrite=overwrite)
    except InTheWay as obstacle:
        raise existing_file_error(str(obstacle), fix) from None
    except OSError as error:
        raise common.write_error(Path(error.filename or next(iter(files))), error) from None


def existing_file_error(paths: str, fix: str) -> CannotContinue:
    """Return the error about a file that exists where a new one should be."""
    message = f"Something exists there already, and its contents might be lost: {paths}. Nothing was written."
    return CannotContinue.because("XX902", "cannot-write", message, fix=fix)
