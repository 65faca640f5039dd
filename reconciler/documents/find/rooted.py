"""Paths as everybody else names them: from the root of the repository, with slashes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


def from_root(file: str) -> str:
    """From the root of the repository the file is in; outside of one from here, or whole. Symbolic links stay."""
    path = Path(os.path.abspath(file))  # noqa: PTH100 - resolving would follow links out of the repository
    for base in (_root(path.parent), Path.cwd()):
        if base and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


@cache
def _root(folder: Path) -> Path | None:
    """A worktree's `.git` is a file."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
