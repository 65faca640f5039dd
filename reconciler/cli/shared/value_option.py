"""`--value` and `--values`: values for the parameters of the files of this run, however they are read, and in suggested
commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.shared.common import Misused

if TYPE_CHECKING:
    from reconciler.documents.read.files import Tree
    from reconciler.documents.read.values import Filled


@dataclass(frozen=True, slots=True)
class Values:
    """The values as they were given."""

    given: tuple[tuple[str, str], ...] = ()
    files_of_values: tuple[Path, ...] = ()
    """Files of values; a later one wins."""
    known: set[str] = field(default_factory=set, compare=False)
    """Parameters of any file of this run: with several topologies, one is enough."""

    def __bool__(self) -> bool:
        return bool(self.given or self.files_of_values)

    def tree(self, under: Tree | None = None, *, are_all_needed: bool = True) -> Filled:
        """Return the files with their values in place: those on disk, or of a revision, which may not know all of
        them."""
        from reconciler.documents.read.files import DISK  # noqa: PLC0415 - only for who reads files
        from reconciler.documents.read.values import Filled  # noqa: PLC0415

        values, files = dict(self.given), self.files_of_values
        needed = values if are_all_needed else ()
        return Filled(under or DISK, values, needed, self.known, files, reports_unused=are_all_needed)

    def files(self, paths: Sequence[Path]) -> list[str]:
        """Return the files as a command names them."""
        files = (part for path in self.files_of_values for part in ("--values", str(path)))
        values = (part for name, value in self.given for part in ("--value", f"{name}={value}"))
        return [*files, *values, *map(str, paths)]

    def need(self, paths: Sequence[Path] | None) -> None:
        """Raise Misused where values were given without any file to fill in."""
        if self and not paths:
            option = "--value" if self.given else "--values"
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
) -> Values:  # fmt: skip
    """Declares --value and --values; where a name is given twice, the last value counts."""
    return Values(tuple(dict(map(_pair, value or ())).items()), tuple(files_of_values or ()))


def _pair(said: str) -> tuple[str, str]:
    """`region=eu`"""
    from reconciler.documents.read.values import NAME  # noqa: PLC0415 - only for who has any

    name, equals, value = said.partition("=")
    if not (equals and re.fullmatch(NAME, name)):
        raise Misused(f"--value {said}: write a name and its value, for example region=eu.")
    return name, value
