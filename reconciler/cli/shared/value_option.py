"""`--value`: the values of `${NAME}` in the files of this run, however the files are read, and in suggested
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
    mentioned: set[str] = field(default_factory=set, compare=False)
    """Names that any file of this run mentions: with several topologies, one is enough."""

    def tree(self, under: Tree | None = None, *, are_all_needed: bool = True) -> Filled:
        """Return the files with their values in place: those on disk, or of a revision, which may not know all of
        them."""
        from reconciler.documents.read.files import DISK  # noqa: PLC0415 - only for who reads files
        from reconciler.documents.read.values import Filled  # noqa: PLC0415

        values = dict(self.given)
        return Filled(under or DISK, values, values if are_all_needed else (), self.mentioned)

    def files(self, paths: Sequence[Path]) -> list[str]:
        """Return the files as a command names them."""
        return [*(part for name, value in self.given for part in ("--value", f"{name}={value}")), *map(str, paths)]

    def need(self, paths: Sequence[Path] | None) -> None:
        """Raise Misused where --value was given without any file to fill in."""
        if self.given and not paths:
            raise Misused("--value fills in files, but none are named; name them, or leave it out.")


NO_VALUES = Values()


def values(
    value: Annotated[
        list[str] | None,
        typer.Option("--value", metavar="NAME=VALUE", help="What ${NAME} stands for in the files. Repeatable."),
    ] = None,
) -> Values:
    """Declares --value; where a name is given twice, the last value counts."""
    return Values(tuple(dict(map(_pair, value or ())).items()))


def _pair(said: str) -> tuple[str, str]:
    """`region=eu`"""
    from reconciler.documents.read.values import NAME  # noqa: PLC0415 - only for who has any

    name, equals, value = said.partition("=")
    if not (equals and re.fullmatch(NAME, name)):
        raise Misused(f"--value {said}: write a name and its value, for example region=eu.")
    return name, value
