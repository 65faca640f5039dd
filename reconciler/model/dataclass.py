"""`dataclass` as the standard library has it, made in a fraction of the time.

The standard one writes and compiles up to seven functions for each class. A command makes 250 classes before it does
anything, and a quarter of its start went there. Here only `__init__` is compiled for each class; the others exist once.
That nobody changes a frozen object is for the type checker to see.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """`@dataclass` or `@dataclass(frozen=True, slots=True, kw_only=True)`."""
        return partial(_make, **options) if cls is None else _make(cls, **options)


def _make(
    cls: type[Any], *, frozen: bool = False, eq: bool = True, repr: bool = True, order: bool = False, **options: bool
) -> Any:
    if order:
        return dataclasses.dataclass(frozen=frozen, eq=eq, repr=repr, order=order, **options)(cls)
    namespace = cls.__dict__
    has_hash = namespace.get("__hash__") is not None or ("__hash__" in namespace and "__eq__" not in namespace)
    made_class: Any = dataclasses.dataclass(eq=False, repr=False, **options)(cls)
    fields = dataclasses.fields(made_class)
    if eq and "__eq__" not in namespace:
        made_class.__eq__ = _equal([field.name for field in fields if field.compare])
    if eq and not has_hash:
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        made_class.__hash__ = _hash(hashed) if frozen else None
    if repr and "__repr__" not in namespace:
        made_class.__repr__ = _repr([field.name for field in fields if field.repr])
    return made_class


def _values(names: Sequence[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _equal(names: Sequence[str]) -> Callable[[Any, Any], Any]:
    values = _values(names)

    def __eq__(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(names: Sequence[str]) -> Callable[[Any], int]:
    values = _values(names)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _repr(names: Sequence[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__
