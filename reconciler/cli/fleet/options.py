"""The options that fleet commands share: the file, the targets, the tables, the Spark, and the format."""

from __future__ import annotations

import re
import shlex
import time
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from reconciler.cli.shared import common
from reconciler.cli.shared.screen import tell
from reconciler.cli.shared.status_line import LINE
from reconciler.model.dataclass import dataclass

if TYPE_CHECKING:
    from reconciler.fleet.accounts.targets import Fleet
    from reconciler.fleet.runs.fleet_run import FleetRun

STORE = "fleet-data"
"""The folder beside fleet.yaml that holds one folder for each fleet, unless --store says otherwise."""


class FleetFormat(StrEnum):
    """The formats of a report about a fleet."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


Format = Annotated[
    FleetFormat,
    typer.Option("--format", help="text for people, json for tools, markdown for a comment, html for a browser."),
]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FLEET.yaml", help="The file that names the accounts, and what each is to hold.", show_default=False
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSelection:
    """The fleet, or part of it."""

    file: Path
    patterns: tuple[str, ...] = ()

    def fleet(self) -> Fleet:
        """Return the fleet with the targets that --target chooses; the rest are its `others`. Raises Misused if it
        chooses none."""
        from reconciler.fleet.accounts.fleet_file import load_fleet  # noqa: PLC0415 - `--help` needs none of it

        fleet = load_fleet(self.file)
        fits = {target.name: self._is_selected(target.name, target.labels) for target in fleet.targets}
        chosen, others = (
            tuple(target for target in fleet.targets if fits[target.name] is is_chosen) for is_chosen in (True, False)
        )
        if not chosen:
            raise common.Misused(
                f"--target {' '.join(self.patterns)}: no target of {self.file} has that name or label."
            )
        return replace(fleet, targets=chosen, others=others)

    def _is_selected(self, name: str, labels: dict[str, str] | object) -> bool:
        if not self.patterns:
            return True
        pairs = labels if isinstance(labels, dict) else {}
        words = [name, *(f"{key}={value}" for key, value in pairs.items())]
        return any(fnmatchcase(word, pattern) for word in words for pattern in self.patterns)

    def arguments(self) -> str:
        """Return what a next command line repeats."""
        return shlex.join([str(self.file), *(part for pattern in self.patterns for part in ("--target", pattern))])


def fleet_selection(
    file: File,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="PATTERN", help="Only targets of this name (eu-*) or label (env=prod). Repeatable."
        ),
    ] = None,
) -> FleetSelection:
    """Declare the argument FLEET.yaml and the option --target."""
    return FleetSelection(file=file, patterns=tuple(target or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """Which Spark, which tables, and which run of them."""

    master: str | None
    store: str | None
    run: str | None

    def arguments(self) -> list[str]:
        """Return what a next command line repeats: the same tables on the same Spark."""
        pairs = (("--store", self.store), ("--master", self.master))
        return [part for name, value in pairs if value for part in (name, value)]

    def open_run(self, fleet_selection: FleetSelection, fleet: Fleet | None = None) -> FleetRun:
        """Return everything that a command works with; this takes as long as a JVM needs to start."""
        fleet, say = fleet or fleet_selection.fleet(), ProgressLine()
        from reconciler.fleet.session import require_packages, session  # noqa: PLC0415 - pyspark is for fleet commands alone

        require_packages()
        from reconciler.fleet.runs.fleet_run import FleetRun  # noqa: PLC0415
        from reconciler.fleet.tables.store import store  # noqa: PLC0415

        began, today = time.monotonic(), datetime.now(UTC).date()
        spark = session(self.master, say=say)
        folder = self.store or str(fleet_selection.file.parent / STORE / fleet_folder_name(fleet.name))
        return FleetRun(
            spark=spark, fleet=fleet, store=store(spark, folder), run=self.run or today.isoformat(), day=today, say=say,
            is_named=self.run is not None, began=began,
        )  # fmt: skip


def fleet_folder_name(fleet: str) -> str:
    """Make the name of a folder from that of a fleet, which may hold anything: it begins with a letter or a digit, and
    has no separators."""
    return re.sub("^[^A-Za-z0-9%]", lambda first: f"%{ord(first[0]):02X}", quote(fleet, safe=""))


def spark_options(
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Master of the Spark cluster. [all cores of this machine]"),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="WHERE",
            help="Where the tables are kept: a folder, or table:CATALOG.SCHEMA. [fleet-data/NAME beside FLEET.yaml]",
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="NAME", help="Name of this run. A run of the same name is replaced. [today, in UTC]"
        ),
    ] = None,
) -> SparkOptions:
    """Declare --master, --store and --run, for commands that read or write the fleet's tables."""
    return SparkOptions(master=master, store=store, run=run)


class ProgressLine:
    """Shows what takes time as a line on stderr, which the next line replaces on a terminal."""

    def __call__(self, text: str) -> None:
        if LINE.is_watched:
            LINE.show(text)
        else:
            tell(f"{text}\n")

    def show_transient(self, text: str) -> None:
        """Show a line that changes often, and is of no use in a log."""
        LINE.show(text)

    def clear(self) -> None:
        """Remove the line from the terminal, if one is shown."""
        LINE.show("")
