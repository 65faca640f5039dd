"""Reads objects back from JSON: the very object that was written, or the place where the data is damaged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from reconciler.model.shape import NEVER, As
from reconciler.report.codec.shape import Convert, Sort, inline_type, is_a, members, sort_of

T = TypeVar("T")


class Damaged(ValueError):
    """Data that is no such object, with the place inside it: `changes[3].action`."""

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(f"{place}: {why}" if place else why)
        self.why, self.place = why, place

    def inside(self, key: str | int) -> Damaged:
        """Return the same, as seen from the object around."""
        dot = "." if self.place and not self.place.startswith("[") else ""
        return Damaged(self.why, f"[{key}]{dot}{self.place}" if isinstance(key, int) else f"{key}{dot}{self.place}")


def read_as(owner: type[T], data: Any) -> T:
    """Return the object that was written. Raises Damaged for anything else, with the place."""
    return cast("T", _object_reader(cast("Any", owner))(data))


@cache
def _object_reader(owner: Any) -> Convert:
    if is_a(owner, BaseModel):
        return _read_other(As(dict[str, Any], _unchanged, owner.model_validate))
    own = members(owner)
    readers = {
        member.key: (member.attribute, _reader(member.hint))
        for member in own
        if not (member.is_inline or member.is_computed)
    }
    skipped = {member.key for member in own if member.is_computed}
    required = [
        member.key for member in own if (member.is_required or member.default is NEVER) and not member.is_inline
    ]
    inline = [
        (member.attribute, _reader(member.hint), {inner.key for inner in members(inline_type(member.hint))})
        for member in own
        if member.is_inline
    ]

    def read(data: Any) -> Any:
        _expect(dict, data)
        for key in required:
            if key not in data:
                raise Damaged("missing", key)
        values: dict[str, Any] = {}
        rest: dict[str, Any] = {}
        for key, value in data.items():
            if key in readers:
                attribute, convert = readers[key]
                try:
                    values[attribute] = value if convert is None else convert(value)
                except Damaged as damage:
                    raise damage.inside(key) from None
            elif key not in skipped:
                rest[key] = value
        for attribute, convert, keys in inline:
            values[attribute] = convert({key: rest.pop(key) for key in keys & rest.keys()}) if convert else None
        if rest:
            raise Damaged("unknown key", next(iter(rest)))
        return owner(**values)

    return read


def _unchanged(value: T) -> T:
    return value


def _expect(kind: type, value: Any) -> None:
    if type(value) is not kind:
        raise Damaged(f"{_NAMES[kind]} expected")


_NAMES = {dict: "an object", list: "an array", str: "text", int: "a whole number", bool: "true or false"}


def _reader(hint: Any) -> Convert | None:
    """None: any value will do."""
    sort, inner = sort_of(hint)
    return _READERS[sort](*inner)


def _exactly(kind: type) -> Convert:
    why = f"{_NAMES[kind]} expected"

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise Damaged(why)
        return value

    return read


def _one_of(values: Mapping[Any, Any]) -> Convert:
    def read(value: Any) -> Any:
        if type(value) is not str or value not in values:
            raise Damaged(f"one of {', '.join(map(str, values))} expected")
        return values[value]

    return read


def _read_other(other: As) -> Convert:
    first, then = _reader(other.type), other.read

    def read(value: Any) -> Any:
        converted = value if first is None else first(value)
        try:
            return then(converted) if then else converted
        except ValidationError as error:
            raise Damaged("; ".join(problem["msg"] for problem in error.errors())) from None
        except (TypeError, ValueError, KeyError) as error:
            raise error if isinstance(error, Damaged) else Damaged(str(error)) from None

    return read


def _read_items(convert: Convert | None, many: int) -> Convert:
    """Items of an array; `many` is how many; 0: the type does not say it."""

    def read(values: Any) -> Any:
        _expect(list, values)
        if many and len(values) != many:
            raise Damaged(f"{many} items expected")
        if convert is None:
            return tuple(values)
        items: list[Any] = []
        number = 0
        try:
            for number, value in enumerate(values):  # noqa: B007  # said where it fails
                items.append(convert(value))
        except Damaged as damage:
            raise damage.inside(number) from None
        return tuple(items)

    return read


def _read_values(convert: Convert | None) -> Convert:
    def read(values: Any) -> Any:
        _expect(dict, values)
        if convert is None:
            return values
        read_values: dict[str, Any] = {}
        name = ""
        try:
            for name, value in values.items():
                read_values[name] = convert(value)
        except Damaged as damage:
            raise damage.inside(name) from None
        return read_values

    return read


_READERS: Mapping[Sort, Callable[..., Convert | None]] = {
    Sort.OTHER: _read_other,
    Sort.OPTIONAL: _reader,
    Sort.UNION: lambda *_: None,
    Sort.CHOICE: lambda *texts: _one_of(dict(zip(texts, texts, strict=True))),
    Sort.MAPPING: lambda value: _read_values(_reader(value)),
    Sort.ARRAY: lambda item, *more: _read_items(_reader(item), len(more) + 1 if more and more != (...,) else 0),
    Sort.ENUM: lambda enum: _one_of({one.value: one for one in enum}),
    Sort.OBJECT: _object_reader,
    Sort.PLAIN: lambda plain: _exactly(plain) if plain in _NAMES else None,
}
