"""Objects as JSON: the writer, the reader and the published schema, all made of the type that holds the data.

`model/shape.py` says how a type says more than its attributes do; this module finds the keys of an object and writes it,
`reading` reads it back, `schema` describes it. Each is compiled once, at the first use of a type, since a plan holds
thousands of objects of a few types.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import Enum, auto
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from reconciler.model.resource import Address
from reconciler.model.shape import NEVER, AddressText, As, Computed, KeyMark, Like, Name, VersionText
from reconciler.model.wire.version import Version

Data = dict[str, Any]
Convert = Callable[[Any], Any]


class JsonKey(NamedTuple):
    """A key of an object."""

    key: str
    attribute: str
    hint: Any
    default: Any = NEVER
    """The value that a missing key means; NEVER: the key is always there."""
    is_required: bool = True
    """No object can be made without it."""
    is_inline: bool = False
    is_computed: bool = False


@cache
def members(owner: Any) -> tuple[JsonKey, ...]:
    """Return the keys of an object of this type, in order."""
    hints = get_type_hints(owner, include_extras=True)
    keys = [key for name, default in _attributes(owner) if (key := _json_key(name, hints[name], default))]
    for name, computed in _computed_properties(owner):
        hint = get_type_hints(getattr(owner, name).fget, include_extras=True)["return"]
        position = next((number + 1 for number, other in enumerate(keys) if other.key == computed.after), 0)
        keys.insert(position, JsonKey(computed.key, name, hint, computed.default, is_required=False, is_computed=True))
    return tuple(keys)


def _attributes(owner: Any) -> Iterator[tuple[str, Any]]:
    if is_a(owner, BaseModel):
        yield from (
            (name, NEVER if attribute.is_required() else attribute.default)
            for name, attribute in owner.model_fields.items()
        )
    elif dataclasses.is_dataclass(owner):
        for attribute in dataclasses.fields(owner):
            default = (
                attribute.default_factory()
                if attribute.default_factory is not dataclasses.MISSING
                else attribute.default
            )
            yield attribute.name, NEVER if default is dataclasses.MISSING else default
    else:
        yield from ((name, owner._field_defaults.get(name, NEVER)) for name in owner._fields)


def _json_key(name: str, hint: Any, default: Any) -> JsonKey | None:
    marks = type_and_marks(hint)[1]
    if KeyMark.UNWRITTEN in marks:
        return None
    key = next((mark.key for mark in marks if isinstance(mark, Name)), name.removesuffix("_"))
    default_value = NEVER if KeyMark.ALWAYS in marks or KeyMark.INLINE in marks else default
    return JsonKey(key, name, hint, default_value, default is NEVER, KeyMark.INLINE in marks)


def _computed_properties(owner: type) -> Iterator[tuple[str, Computed]]:
    for name, value in vars(owner).items():
        if isinstance(value, property) and (computed := value.fget and vars(value.fget).get("computed")):
            yield name, computed


class Sort(Enum):
    """What is done with a value depends on the sort of its type."""

    OTHER = auto()
    """Written as one of another type."""
    OPTIONAL = auto()
    UNION = auto()
    """Of objects."""
    CHOICE = auto()
    """One of these texts."""
    MAPPING = auto()
    ARRAY = auto()
    ENUM = auto()
    OBJECT = auto()
    PLAIN = auto()
    """JSON has it as it is."""


def _utc_text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


AS_TEXT: Mapping[Any, As] = {
    Address: As(AddressText, str, Address.parse),
    Version: As(VersionText, str, Version.parse),
    date: As(Annotated[str, Like(format="date")], date.isoformat, date.fromisoformat),
    datetime: As(Annotated[str, Like(format="date-time")], _utc_text, datetime.fromisoformat),
}
"""Values that JSON has as text."""


def sort_of(hint: Any) -> tuple[Sort, tuple[Any, ...]]:
    """Return the sort of a type, and what it is made of."""
    bare, marks = type_and_marks(hint)
    origin, inner = get_origin(bare), get_args(bare)
    if other := next((mark for mark in marks if isinstance(mark, As)), AS_TEXT.get(bare)):
        sort: tuple[Sort, tuple[Any, ...]] = Sort.OTHER, (other,)
    elif origin in (Union, types.UnionType):
        some = tuple(part for part in inner if part is not type(None))
        sort = (Sort.UNION if len(some) > 1 else Sort.OPTIONAL), some
    elif origin is Literal:
        sort = Sort.CHOICE, inner
    elif is_a(origin, Mapping):
        sort = Sort.MAPPING, inner[1:]
    elif is_a(origin, Sequence):
        sort = Sort.ARRAY, inner
    elif is_a(bare, Enum):
        sort = Sort.ENUM, (bare,)
    else:
        is_object = dataclasses.is_dataclass(bare) or hasattr(bare, "_fields") or is_a(bare, BaseModel)
        sort = (Sort.OBJECT if is_object else Sort.PLAIN), (bare,)
    return sort


def type_and_marks(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type and its marks."""
    if get_origin(hint) is not Annotated:
        return hint, ()
    bare, *marks = get_args(hint)
    return bare, tuple(marks)


def is_a(hint: Any, kind: type) -> bool:
    """Is it a class of this kind?"""
    return isinstance(hint, type) and issubclass(hint, kind)


def inline_type(hint: Any) -> Any:
    """Return the type whose keys an inline value has."""
    sort, (inner, *_) = sort_of(hint)
    return inner.type if sort is Sort.OTHER else inner


def data_of(value: Any) -> Data:
    """Return an object as plain data: what equals its default is a missing key."""
    kind: Any = type(value)
    return _object_writer(kind)(value)


@cache
def _object_writer(owner: Any) -> Callable[[Any], Data]:
    if is_a(owner, BaseModel):
        return lambda value: dict(value.model_dump(mode="json", exclude_unset=True, by_alias=True))
    keys = [
        (member.key, attrgetter(member.attribute), _writer(member.hint), member.default, member.is_inline)
        for member in members(owner)
    ]

    def write(value: Any) -> Data:
        data: Data = {}
        for key, of, convert, default, is_inline in keys:
            value_found = of(value)
            if value_found is default or value_found == default:
                continue
            written = value_found if convert is None else convert(value_found)
            if written == default:  # what is written of it says no more: units of fields that have none
                continue
            if is_inline:
                data.update(written)
            else:
                data[key] = written
        return data

    return write


def _writer(hint: Any) -> Convert | None:
    """None: as it is."""
    sort, inner = sort_of(hint)
    return _WRITERS[sort](*inner)


_WRITERS: Mapping[Sort, Callable[..., Convert | None]] = {
    Sort.OTHER: lambda other: _composed_conversion(other.write, _writer(other.type)),
    Sort.OPTIONAL: lambda some: _unless_none(_writer(some)),
    Sort.UNION: lambda *_: data_of,
    Sort.CHOICE: lambda *_: None,
    Sort.MAPPING: lambda value: _each_value(_writer(value)),
    Sort.ARRAY: lambda item, *_: _each_item(_writer(item)),
    Sort.ENUM: lambda _: attrgetter("value"),
    Sort.OBJECT: _object_writer,
    Sort.PLAIN: lambda _: None,
}


def _composed_conversion(first: Convert, second: Convert | None) -> Convert:
    return first if second is None else lambda value: second(first(value))


def _unless_none(convert: Convert | None) -> Convert | None:
    return convert and (lambda value: None if value is None else convert(value))


def _each_item(convert: Convert | None) -> Convert:
    return list if convert is None else lambda values: [convert(value) for value in values]


def _each_value(convert: Convert | None) -> Convert:
    return dict if convert is None else lambda values: {name: convert(value) for name, value in values.items()}
