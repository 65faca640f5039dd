"""The types of a group's record, in all its historic spellings: what is wrong with a record that somebody broke by
hand, in words.

The reference is strict too: a record with wrong types ends every running instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from reconciler.model.resource import Json

MOST_PARTITIONS = 1 << 16
"""Far beyond what a server can serve. Without any bound, reconciler would have to build a list of any length."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", defer_build=True)


class _Filter(_Strict):
    filter: str
    partitioning_wildcards: list[int] | None = None


class _Mapping(_Strict):
    member: str
    partitions: list[int] | None = None


class _Record(_Strict):
    max_members: Annotated[int, Field(ge=1, le=MOST_PARTITIONS)]
    filters: list[str] | None = None
    partitioning_filters: list[_Filter] | None = None
    max_buffered_msg: int | None = None
    max_buffered_bytes: int | None = None
    members: list[str] | None = None
    member_mappings: list[_Mapping] | None = None
    filter: str | None = None
    partitioning_wildcards: list[int] | None = None
    hyphenated_wildcards: Annotated[list[int] | None, Field(alias="partitioning-wildcards")] = None
    hyphenated_mappings: Annotated[list[_Mapping] | None, Field(alias="member-mappings")] = None
    hyphenated_buffer: Annotated[int | None, Field(alias="msg-buffer-size")] = None


@cache
def _reader() -> TypeAdapter[_Record]:
    return TypeAdapter(_Record)


def wrong_shape(raw: Mapping[str, Json]) -> str | None:
    """The first value of the wrong type; None if all are right."""
    try:
        _reader().validate_python(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{_path(first['loc'])}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return None


def _path(place: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")
