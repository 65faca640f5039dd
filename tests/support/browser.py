"""A headless Chromium: one that is installed, or one unpacked into `.cache/` from the packages of a Debian system.

Nothing is installed and no root is needed: `apt-get` says which packages lack, and they are unpacked beside the project.
`RECONCILER_CHROMIUM` names a program that is there already. Where none can be had, the tests that need one are not run and
the end of the run says so.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PLACE = PROJECT / ".cache" / "chromium"
ROOT, WHY_NOT = PLACE / "root", PLACE / "why-not"
PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")
INSTALLED = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 90.0
"""Seconds for each of three questions to a mirror."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """How to start it, or in one line why there is none."""

    program: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    why_not: str = ""


@cache
def find() -> Browser:
    """What is there now. Only `make setup` looks further."""
    if chosen := os.environ.get("RECONCILER_CHROMIUM"):
        return Browser(program=Path(chosen))
    for name in INSTALLED:
        if (found := shutil.which(name)) and not _is_stub(Path(found)):
            return Browser(program=Path(found))
    if ROOT.exists():
        return _inside(ROOT)
    return Browser(
        why_not=WHY_NOT.read_text(encoding="utf-8") if WHY_NOT.exists() else "there is none; see `make setup`"
    )


def obtain() -> Browser:
    """The one that is there, or one unpacked now."""
    if find().program:
        return find()
    PLACE.mkdir(parents=True, exist_ok=True)
    with (PLACE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if why := _unpacked():
            WHY_NOT.write_text(why, encoding="utf-8")
    find.cache_clear()
    return find()


def _unpacked() -> str:
    """Why it could not be; empty: it could."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "no Chromium is installed, and this is no Debian to take one from"
    try:
        if not ROOT.exists():
            _fetch(ROOT)
        WHY_NOT.unlink(missing_ok=True)
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "it said nothing").strip().splitlines()
        return f"`{error.cmd[0]}` failed: {said[-1]}"
    except subprocess.TimeoutExpired:
        return f"its packages did not come within {PATIENCE:.0f} s"
    return ""


def _is_stub(program: Path) -> bool:
    """Ubuntu's program of this name only says that there is a snap."""
    with program.open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"#!") and b"snap" in start


def _fetch(root: Path) -> None:
    """All or nothing: the folder has its name only when everything is in it."""
    with tempfile.TemporaryDirectory(dir=PLACE) as folder:
        here = Path(folder)
        for name in ("lists/partial", "cache/archives/partial", "debs", "root"):
            (here / name).mkdir(parents=True)
        _run(here, "update", "-qq")
        listed = _run(here, "install", "--print-uris", "--no-install-recommends", "-qq", "-y", *PACKAGES)
        names = re.findall(r"^'\S+' ([a-z0-9][a-z0-9+.-]*)_\S+\.deb ", listed, re.MULTILINE)
        _run(here, "download", "-qq", *names)
        for package in sorted((here / "debs").iterdir()):
            subprocess.run(["dpkg-deb", "-x", package, here / "root"], check=True, capture_output=True, text=True)
        (here / "root").rename(root)


def _run(here: Path, *arguments: str) -> str:
    ours = {"Dir::State::Lists": here / "lists", "Dir::Cache": here / "cache", "Debug::NoLocking": 1,
            "APT::Sandbox::User": "root", "Acquire::Retries": 1, "Acquire::http::Timeout": 10}  # fmt: skip
    options = [part for name, value in ours.items() for part in ("-o", f"{name}={value}")]
    command = ["apt-get", *options, *arguments]
    done = subprocess.run(
        command,
        cwd=here / "debs",
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout


def _inside(root: Path) -> Browser:
    program = next(root.glob("usr/lib/chromium/*headless*shell*"), None)
    if program is None:
        return Browser(why_not=f"there is no program in {root}")
    # Some libraries lie in a folder of their own, which others know by the path it has where it is installed.
    places = ("usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/*/", "lib/*-linux-gnu")
    libraries = [str(path) for place in places for path in root.glob(place)]
    fonts = {"FONTCONFIG_PATH": str(root / "etc/fonts")} if (root / "etc/fonts/fonts.conf").exists() else {}
    return Browser(program=program, environment={"LD_LIBRARY_PATH": os.pathsep.join(libraries), **fonts})


def not_run(paths: Iterable[str], tests: Path) -> str | None:
    """What to say at the end of a run over these paths when tests in a browser could not be collected."""
    folders = [Path(path.partition("::")[0]).resolve() for path in paths]
    wanted = any(tests.is_relative_to(path) or path.is_relative_to(tests) for path in folders)
    return f"browser: NOT RUN: {find().why_not}" if wanted and find().program is None else None


if __name__ == "__main__":
    found = obtain()
    sys.exit(0 if found.program else f"Tests in a browser will not be run: {found.why_not}")
