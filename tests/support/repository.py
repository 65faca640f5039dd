"""A git repository of one's own, in which nothing of this machine's settings counts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

QUIET = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "somebody", "GIT_AUTHOR_EMAIL": "somebody@example.org",
    "GIT_COMMITTER_NAME": "somebody", "GIT_COMMITTER_EMAIL": "somebody@example.org",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repository:
    folder: Path

    @classmethod
    def at(cls, folder: Path) -> Repository:
        folder.mkdir(parents=True)
        made = cls(folder)
        made.git("init", "--quiet", "--initial-branch=main")
        return made

    def git(self, *arguments: str) -> str:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env={**inherited, **QUIET}, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, files: Mapping[str, str | None]) -> None:
        """None: the file goes."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def commit(self, files: Mapping[str, str | None], message: str = "a change") -> str:
        """Its id."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")
