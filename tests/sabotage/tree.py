"""A scratch copy of the project as it is now, uncommitted changes included, in which acts are done and undone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from tests.sabotage.act import Act

PROJECT = Path(__file__).parents[2]
SHARED = (".cache", ".venv")
"""Servers, a browser and the environment: too large to copy, and no act is about them."""
LATER = 60
"""Seconds by which a file with an act is younger, at least: what was compiled of the true one does not count for it."""


@dataclass(frozen=True, slots=True)
class Tree:
    root: Path
    ages: Iterator[int] = field(default_factory=lambda: count(LATER), repr=False, compare=False)
    """Each act has its own. Commands that tests start compile what they import, and Python takes that for any other text of the
    same age and length."""

    @classmethod
    def of(cls, project: Path, root: Path) -> Tree:
        """With what Python has compiled already, since half of the time of a short test is compiling."""
        for name in _files(project):
            _copied(project / name, root / name)
        for folder in {(project / name).parent for name in _files(project) if name.endswith(".py")}:
            if (compiled := folder / "__pycache__").is_dir():
                shutil.copytree(compiled, root / compiled.relative_to(project), dirs_exist_ok=True)
        for name in SHARED:
            if (project / name).exists():
                (root / name).symlink_to((project / name).resolve())
        return cls(root)

    @contextmanager
    def with_(self, act: Act) -> Iterator[None]:
        """The act is done inside the block. Raises Rotten."""
        file = self.root / act.file
        text, when = file.read_text(encoding="utf-8"), file.stat().st_mtime
        then = when + next(self.ages)
        file.write_text(act.done_to(text), encoding="utf-8")
        os.utime(file, (then, then))
        try:
            yield
        finally:
            file.write_text(text, encoding="utf-8")
            os.utime(file, (when, when))


def _files(project: Path) -> list[str]:
    """What git knows or would be told of; what is deleted and not committed yet is gone here too."""
    said = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=project, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [name for name in said.stdout.split("\0") if name and (project / name).is_file()]


def _copied(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(old, new)
