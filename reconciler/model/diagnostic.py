"""One shape for everything we tell people about their files and changes, from a YAML error to a server verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Self

from reconciler.model.dataclass import dataclass
from reconciler.model.shape import Code, Position


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class SourceSpan:
    """A place in a file as editors count: lines and columns from 1, columns in characters, the end exclusive."""

    file: str
    """Path of the file."""
    line: Position
    """First line, from 1."""
    column: Position
    """First column, from 1, in characters."""
    end_line: Position
    """Last line."""
    end_column: Position
    """Column after the last character."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A finding: what (code, name, message), where (address, span) and what now (fix)."""

    severity: Severity
    """`error` fails the command; the others do not."""
    code: Code
    """The code, for `reconciler explain`."""
    name: str
    """The code's name."""
    message: str
    """What is wrong, in a sentence."""
    address: str | None = None
    """The resource that it is about."""
    span: SourceSpan | None = None
    """The place in the files."""
    fix: str | None = None
    """What to do about it."""

    @property
    def is_about_connection(self) -> bool:
        """Is it about the way to a server, and not about what the files want there?"""
        return self.code.startswith("NA")

    @property
    def is_error(self) -> bool:
        """Does a command fail because of it? With warnings and notes it does not."""
        return self.severity is Severity.ERROR


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort in reading order: by place in the files, those without a place first."""
    return sorted(diagnostics, key=lambda d: (d.span is not None, d.span, d.code) if d.span else (False, d.code))


class CannotContinue(Exception):
    """Raised only where going on is meaningless: no connection, an unreadable file, a wrong target."""

    def __init__(self, *diagnostics: Diagnostic, topology: str = "") -> None:
        super().__init__(*diagnostics)  # these come back where it is raised in another process
        self.diagnostics = diagnostics
        self.topology = topology
        """What it is about, where the files got as far as to say it."""

    def __str__(self) -> str:
        return "; ".join(diagnostic.message for diagnostic in self.diagnostics)

    @classmethod
    def because(
        cls,
        code: str,
        name: str,
        message: str,
        *,
        fix: str,
        address: str | None = None,
        span: SourceSpan | None = None,
    ) -> Self:
        """Return it for one reason, which may be about an object or a place in a file."""
        return cls(
            Diagnostic(
                severity=Severity.ERROR, code=code, name=name, message=message, address=address, span=span, fix=fix
            )
        )


@contextmanager
def about_topology(topology: str) -> Iterator[None]:
    """Say of whatever keeps us from going on in here that it is about this topology, so that reports of it find their
    place."""
    try:
        yield
    except CannotContinue as problem:
        problem.topology = problem.topology or topology
        raise


@contextmanager
def located_at(span: SourceSpan | None) -> Iterator[None]:
    """Give what keeps us from going on in here this place in a file, unless it has one."""
    try:
        yield
    except CannotContinue as problem:
        placed = (replace(diagnostic, span=diagnostic.span or span) for diagnostic in problem.diagnostics)
        raise type(problem)(*placed, topology=problem.topology) from None
