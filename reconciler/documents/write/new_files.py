"""Writes new files: all of them or, where one exists already, none. Nothing is overwritten unasked.

Names of resources become names of files that every file system takes, the same on every machine. A character other than a
letter, digit, `-` or `_` of ASCII becomes `=XX`, as in the ledger's keys. Long names are cut. A name that some file system
would confuse with another, or with a device, gets a few more characters."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from reconciler.documents.write.atomic import write_whole
from reconciler.model.ledger.entries import escaped

LONGEST = 100
"""The most characters; with a folder or two above, a path stays below the limit of Windows."""
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Return a file name without its ending for each of the names, which share one folder."""
    stems = {name: escaped(name) for name in names}
    alike = Counter(stem.casefold() for stem in stems.values())
    return {
        name: stem if alike[stem.casefold()] == 1 and _is_fit(stem) else f"{stem[:LONGEST]}={_digest(name)}"
        for name, stem in stems.items()
    }


def _is_fit(stem: str) -> bool:
    return 0 < len(stem) <= LONGEST and stem.casefold() not in DEVICES


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:10]


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
    existing = [path for path in files if os.path.lexists(path)]
    if existing and not overwrite:
        raise InTheWay(existing)
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_whole({path: text.encode() for path, text in files.items()}, only_new=not overwrite)
    except FileExistsError as error:  # somebody else was faster
        raise InTheWay([Path(error.filename)]) from None


def other_yaml_files(folder: Path, files: Mapping[Path, str]) -> list[Path]:
    """Return other YAML files in the folder: they would be read together with these."""
    yaml_files = (path for ending in ("*.yaml", "*.yml") for path in folder.rglob(ending))
    return sorted(path for path in yaml_files if path not in files)
