"""What a release publishes, built from a copy of the project that has a tag; and environments with nothing else in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import uv

from tests.support.repository import Repository

ROOT = Path(__file__).parents[2]
VERSION = "7.8.9"
"""Of the copy: no release of ours, so that it can come from nowhere but the tag."""
PYTHON = os.environ.get("RECONCILER_PYTHON", sys.executable)
"""What environments are made of: a path, or a version such as `3.14`."""
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".cache", ".*_cache", ".hypothesis", ".reconciler", "__pycache__", "*.egg-info", "dist", "build"
)


@dataclass(frozen=True, slots=True)
class Built:
    """A wheel, and the source archive that it was made from."""

    wheel: Path
    source: Path

    @classmethod
    def lying_in(cls, folder: Path) -> Built:
        (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
        return cls(wheel.absolute(), source.absolute())

    @property
    def version(self) -> str:
        return self.wheel.name.split("-")[1]


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python with these packages, what they ask for, and nothing else; commands run in an empty folder."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, *requirements: str) -> Environment:
        run_uv("venv", "--quiet", "--python", PYTHON, str(folder / "venv"))
        run_uv("pip", "install", "--quiet", "--python", str(folder / "venv"), *requirements)
        (folder / "home").mkdir()
        return cls(folder)

    @property
    def packages(self) -> Path:
        (found,) = (self.folder / "venv").glob("lib/python*/site-packages")
        return found

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What a program of the environment says; its own programs are all that is on the PATH."""
        home = self.folder / "home"
        return subprocess.run(
            [self.folder / "venv" / "bin" / program, *arguments], cwd=home, capture_output=True, text=True, check=False,
            env={"PATH": str(self.folder / "venv" / "bin"), "HOME": str(home), "COLUMNS": "200", "LC_ALL": "C.UTF-8"},
        )  # fmt: skip


def run_uv(*arguments: str, folder: Path = ROOT) -> str:
    """What uv prints, here or in a folder. Whatever environment the tests run in means nothing to it."""
    around = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "PYTHONPATH")}
    done = subprocess.run(
        [uv.find_uv_bin(), *arguments], cwd=folder, env=around, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def copied(folder: Path) -> Repository:
    """A repository of its own that holds the project as it lies here, in one commit without a tag."""
    repository = Repository.at(folder)
    shutil.copytree(ROOT, folder, ignore=_LEFT_OUT, dirs_exist_ok=True)
    repository.commit({})
    return repository


def build(folder: Path, into: Path) -> Built:
    """As a release does it: the source archive first, and from that the wheel."""
    run_uv("build", "--quiet", "--out-dir", str(into), str(folder))
    return Built.lying_in(into)


def unpacked(repository: Repository, folder: Path) -> Path:
    """The newest commit as hosts of repositories pack it: its files, without git."""
    repository.git("archive", "--output", str(folder / "archive.tar"), "HEAD")
    with tarfile.open(folder / "archive.tar") as packed:
        packed.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked"


def version_of(folder: Path) -> str:
    """What a wheel that was built from this folder would be called."""
    hatchling = ("--python", sys.executable, "--with", "hatch-vcs", "hatchling", "version")
    return run_uv("tool", "run", "--quiet", *hatchling, folder=folder).strip()
