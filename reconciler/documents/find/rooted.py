"""Paths as other people name them: from the root of the repository, with slashes."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path


def from_root(file: str) -> str:
    """Return the path from the root of the file's repository; outside a repository, from here, or absolute. Symbolic
    links stay."""
    path = Path(os.path.abspath(file))  # noqa: PTH100 - resolving would follow links out of the repository
    for base in (_root(path.parent), Path.cwd()):
        if base and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


@cache
def _root(folder: Path) -> Path | None:
    """Find the repository's root; a worktree's `.git` is a file."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)
