"""`--environment`, `--values` and `--value`: what the files of this run are filled in with, however they are read, and in
suggested commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.shared.common import Misused
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan

if TYPE_CHECKING:
    from reconciler.documents.fill.values import Filled
    from reconciler.documents.parse.files import Tree


@dataclass(frozen=True, slots=True)
class Values:
    """The values as they were given."""

    given: tuple[tuple[str, str], ...] = ()
    files_of_values: tuple[Path, ...] = ()
    """Files of values; a later one wins."""
    known: set[str] = field(default_factory=set, compare=False)
    """Parameters of any file of this run: with several topologies, one is enough."""
    environment: str | None = None
    """The environment whose overlay and values count, or a pattern of several."""
    needed: tuple[str, ...] | None = None
    """The values that the files must mention. None: all of them."""
    origin: str = "--value"
    """Where they were given."""
    places: Mapping[str, SourceSpan] = field(default_factory=dict, compare=False)
    """Where some of them stand."""

    def __bool__(self) -> bool:
        return bool(self.given or self.files_of_values or self.environment)

    @property
    def is_pattern(self) -> bool:
        """Whether several environments may be meant."""
        from reconciler.documents.fill.environments import is_pattern  # noqa: PLC0415 - only for who reads files

        return self.environment is not None and is_pattern(self.environment)

    def each(self, paths: Sequence[Path]) -> Iterator[Values]:
        """Yield the values for each environment that is meant."""
        from reconciler.documents.fill.environments import environments_in, matching_names  # noqa: PLC0415
        from reconciler.documents.fill.values import Filled  # noqa: PLC0415 - only for who reads files

        names = [self.environment]
        if self.environment and self.is_pattern:
            declared = environments_in(paths, Filled(files=self.files_of_values))
            names = [*matching_names(declared, self.environment)] or names
        for name in names:
            yield replace(self, environment=name)

    def tree(self, under: Tree | None = None, *, are_all_needed: bool = True) -> Filled:
        """Return the files with their values in place: those on disk, or of a revision, which may not know all of
        them."""
        from reconciler.documents.fill.values import Filled  # noqa: PLC0415
        from reconciler.documents.parse.files import DISK  # noqa: PLC0415 - only for who reads files

        values, files = dict(self.given), self.files_of_values
        needed = (values if self.needed is None else self.needed) if are_all_needed else ()
        return Filled(
            under or DISK, values, needed, self.known, files, origin=self.origin, places=self.places,
            environment=self.environment, reports_unused=are_all_needed,
        )  # fmt: skip

    def file_arguments(self, paths: Sequence[Path]) -> list[str]:
        """Return the files as a command names them."""
        environment = ("--environment", self.environment) if self.environment else ()
        files = (part for path in self.files_of_values for part in ("--values", str(path)))
        values = (part for name, value in self.given for part in ("--value", f"{name}={value}"))
        return [*environment, *files, *values, *map(str, paths)]

    def require_files(self, paths: Sequence[Path] | None) -> None:
        """Raise Misused where values were given without any file to fill in."""
        if self and not paths:
            option = "--value" if self.given else "--values" if self.files_of_values else "--environment"
            raise Misused(f"{option} fills in files, but none are named; name them, or leave it out.")


NO_VALUES = Values()


def values(
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="NAME=VALUE", help="The value of a parameter of the files. Repeatable."),
    ] = None,
    files_of_values: Annotated[
        list[Path] | None,
        typer.Option(
            "--values", metavar="FILE", help="A file with values of parameters. Repeatable; later files win, and --value wins.",
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option("--environment", metavar="NAME", help="The environment, where the files declare any, such as prod-eu."),
    ] = None,
) -> Values:  # fmt: skip
    """Declare --value, --values and --environment; where a name is given twice, the last value counts."""
    given = tuple(dict(map(_name_and_value, value or ())).items())
    if environment == "":
        raise Misused("--environment is empty; write the name of an environment, or leave the option out.")
    return Values(given, tuple(files_of_values or ()), environment=environment)


def _name_and_value(text: str) -> tuple[str, str]:
    """Parse `region=eu`."""
    from reconciler.documents.fill.values import NAME  # noqa: PLC0415 - only for who has any

    name, equals, value = text.partition("=")
    if not (equals and re.fullmatch(NAME, name)):
        raise Misused(f"--value {text}: write a name and its value, for example region=eu.")
    return name, value
