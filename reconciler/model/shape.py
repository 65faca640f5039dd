"""What a type says about its JSON besides names and types: marks in the `Annotated[…]` of an attribute.

An attribute is a key, in the order of the class, and the text below it says what the key means. A value that equals its
default is a missing key. `report/codec/shape.py` makes the writer, the reader and the published schema of that.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from enum import Enum, auto
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class KeyMark(Enum):
    ALWAYS = auto()
    """The key is there even if the value equals its default."""
    INLINE = auto()
    """The keys of the value stand among those of the object around it."""
    UNWRITTEN = auto()
    """No key: it is read back as its default."""


ALWAYS, INLINE, UNWRITTEN = KeyMark


class Like:
    """What the schema says of a value beyond its type, as keywords of JSON Schema."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


class Name(NamedTuple):
    """The key, where the attribute is called something else."""

    key: str


class As(NamedTuple):
    """The value is written as one of another type."""

    type: Any
    write: Callable[[Any], Any]
    read: Callable[[Any], Any] | None = None
    """Makes the value of what was written; None: it is never read back."""


class Computed(NamedTuple):
    key: str
    after: str
    """The key before it; empty: it comes first."""
    default: Any
    """The value that a missing key means."""


NEVER = object()
"""The default that no value equals: the key is always there."""


def computed(key: str, after: str = "", default: Any = NEVER) -> Callable[[F], F]:
    """Mark what a property returns as a key, which is not read back: `@property` above `@computed("drift")`."""

    def marked(function: F) -> F:
        function.__dict__["computed"] = Computed(key, after, default)
        return function

    return marked


Count = Annotated[int, Like(minimum=0)]
Position = Annotated[int, Like(minimum=1)]
Code = Annotated[str, Like(pattern="^[A-Z]{2,12}[0-9]{3}$")]
AddressText = Annotated[str, Like(pattern="^[a-z_]+(/[^/]+)+$")]
"""An `Address` as text."""
VersionText = Annotated[str, Like(pattern=r"^\d+\.\d+\.\d+$")]


def format_of(number: int) -> Like:
    """Allow only this number."""
    return Like(const=number)


def counts_by(always: Mapping[str, str], sometimes: Mapping[str, str] | None = None) -> Like:
    """Numbers under these names and no others, with what each of them counts."""
    counted = {name: {"type": "integer", "minimum": 0, "description": text} for name, text in always.items()}
    more = {name: {"type": "integer", "minimum": 0, "description": text} for name, text in (sometimes or {}).items()}
    return Like(properties=counted | more, required=sorted(always), additionalProperties=False)


def attribute_docs(owner: type) -> dict[str, str]:
    """Return the text below each attribute of a class; what a class says counts more than what those above it say.

    Only schemas need it, and reading the source takes a while, so no start does.
    """
    return {
        name: text
        for base in reversed(owner.__mro__)
        if base.__module__ != "builtins"
        for name, text in _own_docs(base)
    }


@cache
def _own_docs(owner: type) -> tuple[tuple[str, str], ...]:
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except (OSError, TypeError):  # not written in Python
        return ()
    assert isinstance(definition, ast.ClassDef)
    return tuple(filter(None, (_name_and_text(attribute, below) for attribute, below in pairwise(definition.body))))


def _name_and_text(attribute: ast.stmt, below: ast.stmt) -> tuple[str, str] | None:
    match attribute, below:
        case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
            return name, " ".join(text.split())
    return None
