"""Writes new files: all of them or, where one exists already, none. Nothing is overwritten unasked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from reconciler.documents.write.whole import write_whole

SHOWN = 3


class InTheWay(Exception):
    """These files exist already, and nothing was written."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        super().__init__(", ".join(map(str, paths[:SHOWN])) + more)


def write_files(files: Mapping[Path, str], *, overwrite: bool = False) -> None:
    """Write the files. A file is overwritten in one step, and on a disk without room for all, none is. Raises InTheWay,
    or OSError."""
    there = [path for path in files if os.path.lexists(path)]
    if there and not overwrite:
        raise InTheWay(there)
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_whole({path: text.encode() for path, text in files.items()}, only_new=not overwrite)
    except FileExistsError as error:  # somebody else was faster
        raise InTheWay([Path(error.filename)]) from None


def strangers(folder: Path, files: Mapping[Path, str]) -> list[Path]:
    """Return other YAML files in the folder: they would be read together with these."""
    found = (path for ending in ("*.yaml", "*.yml") for path in folder.rglob(ending))
    return sorted(path for path in found if path not in files)
