"""`dataclass` as the standard library has it, made in a fraction of the time.

The standard one writes and compiles up to seven functions for each class. A command makes 250 classes before it does
anything, and a quarter of its start went there. Here `__init__` is compiled when a class makes its first object, which
two classes of three never do; the other functions exist once. That nobody changes a frozen object is for the type
checker to see.
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
        return partial(_make_dataclass, **options) if cls is None else _make_dataclass(cls, **options)


def _make_dataclass(
    cls: type[Any], *, frozen: bool = False, eq: bool = True, repr: bool = True, order: bool = False, **options: bool
) -> Any:
    if order:
        return dataclasses.dataclass(frozen=frozen, eq=eq, repr=repr, order=order, **options)(cls)
    namespace = cls.__dict__
    has_hash = namespace.get("__hash__") is not None or ("__hash__" in namespace and "__eq__" not in namespace)
    cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise the signature is written there
    made_class: Any = dataclasses.dataclass(init=False, eq=False, repr=False, **options)(cls)
    fields = dataclasses.fields(made_class)
    if "__init__" not in namespace:
        made_class.__init__ = _init_of_the_first_object(made_class, fields)
    if eq and "__eq__" not in namespace:
        made_class.__eq__ = _equal([field.name for field in fields if field.compare])
    if eq and not has_hash:
        hashed = [field.name for field in fields if (field.compare if field.hash is None else field.hash)]
        made_class.__hash__ = _hash(hashed) if frozen else None
    if repr and "__repr__" not in namespace:
        made_class.__repr__ = _repr([field.name for field in fields if field.repr])
    return made_class


def _init_of_the_first_object(made_class: type[Any], fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place."""

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        compiled_init = _compiled_init(fields, finishes=hasattr(made_class, "__post_init__"))
        made_class.__init__ = compiled_init
        compiled_init(self, *arguments, **named)

    return __init__


_NOT_GIVEN = object()


def _compiled_init(fields: Sequence[dataclasses.Field[Any]], *, finishes: bool) -> Callable[..., None]:
    """The function that one would write by hand: a parameter and an assignment for each field."""
    values: dict[str, Any] = {"_NOT_GIVEN": _NOT_GIVEN}
    by_position, by_name, lines = ["self"], list[str](), list[str]()
    for field in fields:
        name = field.name
        values[f"_{name}"] = field.default if field.default_factory is dataclasses.MISSING else field.default_factory
        has_default = values[f"_{name}"] is not dataclasses.MISSING
        default = f"_{name}" if field.default_factory is dataclasses.MISSING else f"_{name}()"
        if field.init:
            (by_name if field.kw_only else by_position).append(f"{name}=_NOT_GIVEN" if has_default else name)
            lines.append(f"self.{name} = {f'{default} if {name} is _NOT_GIVEN else ' if has_default else ''}{name}")
        elif has_default:
            lines.append(f"self.{name} = {default}")
    parameters = ", ".join([*by_position, *(["*", *by_name] if by_name else [])])
    body = [*lines, *(["self.__post_init__()"] if finishes else [])] or ["pass"]
    exec(f"def __init__({parameters}):\n  " + "\n  ".join(body), values)
    return values["__init__"]  # type: ignore[no-any-return]


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
