"""Makes schemas as editors show them best: no generated titles, no null defaults, and no unions where one type says the
same.

For a key whose value is a union, editors show what the parts say, and not what the key says. `${name}` may stand wherever
a value of another type stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from reconciler.documents.fill.values import IN_SCHEMAS
from reconciler.documents.schema.descriptions import Schema

_NAMES = ("properties", "patternProperties", "$defs")
"""Keywords that hold schemas under names."""
_SCHEMAS = ("items", "additionalProperties", "anyOf", "oneOf")


def with_mentions(schema: Schema, apart: Collection[str], second: Collection[str] = ()) -> Schema:
    """Return the schema, in which all but the definitions `apart` may be parameters. Of those that are the `second` choice
    somewhere, only what is inside may be: a parameter in their place fits the first choice, and must not fit two."""
    definitions = {name: value if name in apart else _allow_mentions(value) for name, value in schema["$defs"].items()}
    for name in second:
        definitions[name] = {key: value for key, value in definitions[name].items() if key != "pattern"}
        definitions[name]["type"] = "object"
    properties = {name: _allow_mentions(value) for name, value in schema["properties"].items()}
    return {**schema, "properties": properties, "$defs": definitions}


def _allow_mentions(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_allow_mentions(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    below: Schema = {key: _allow_mentions_in(key, value) for key, value in schema.items()}
    types = [below["type"]] if isinstance(below.get("type"), str) else below.get("type", [])
    if "enum" in below:
        kept = {key: below[key] for key in ("description", "default") if key in below}
        return {**kept, "anyOf": [below, {"type": "string", "pattern": IN_SCHEMAS}]}
    if types and "string" not in types:
        return {**below, "type": [*types, "string"], "pattern": IN_SCHEMAS}
    return {**below, "pattern": f"{below['pattern']}|{IN_SCHEMAS}"} if "pattern" in below else below


def _allow_mentions_in(key: str, value: Any) -> Any:
    if key in _NAMES:
        return {name: _allow_mentions(below) for name, below in value.items()}
    return _allow_mentions(value) if key in _SCHEMAS else value


NULL = {"type": "null"}
FLAG_OR_KEYS = ["boolean", "object"]
"""The type of `true`, `false`, or a mapping of known keys."""
_MAY_BE_EMPTY = "may be empty"
"""Marks a reference that may be null, until its definition says so."""


def polished_definitions(definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return all polished definitions; one that is also referred to with null allows null itself."""
    plain = {name: _simplify(definition) for name, definition in definitions.items()}
    empty = {_referred_name(reference) for reference in _referring_schemas(plain) if _MAY_BE_EMPTY in reference}
    flags = {
        _referred_name(reference) for reference in _referring_schemas(plain) if "boolean" in reference.get("type", ())
    }
    own = {name: {**schema, "type": ["object", "null"]} if name in empty else schema for name, schema in plain.items()}
    own |= {name: {**own[name], "type": FLAG_OR_KEYS} for name in flags}
    return {name: _without_marks(definition, empty) for name, definition in own.items()}


def _simplify(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_simplify(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return _without_union(
        {key: _simplify_part(key, value) for key, value in schema.items() if not _is_noise(key, value)}
    )


def _simplify_part(key: str, value: Any) -> Any:
    """Simplify below a keyword. `properties` holds names, not keywords: a field called `title` is no title."""
    if key in ("properties", "$defs"):
        return {name: _simplify(below) for name, below in value.items()}
    return value if key in ("default", "const", "enum", "required", "examples") else _simplify(value)


def _is_noise(key: str, value: Any) -> bool:
    return (key in ("title", "advice") and isinstance(value, str)) or (key == "default" and value is None)


def _without_union(schema: Schema) -> Schema:
    """Keep null where it means an empty mapping or list; elsewhere a value is required."""
    members = schema.get("anyOf", [])
    real = [member for member in members if member != NULL]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    may_be_empty = len(real) < len(members) and any(_is_container(member) for member in real)
    if len(real) == 2 and {"type": "boolean"} in real and (keys := next((m for m in real if "$ref" in m), None)):
        return {**rest, **keys, "type": FLAG_OR_KEYS}
    if len(real) != 1:
        return {**rest, "anyOf": members if may_be_empty else real} if members else schema
    (only,) = real
    if not may_be_empty:
        return {**rest, **_keys_to_add(rest, only)}
    mark: Schema = {_MAY_BE_EMPTY: True} if "$ref" in only else {"type": [only["type"], "null"]}
    return {**rest, **_keys_to_add(rest, {**only, **mark})}


def _keys_to_add(rest: Schema, member: Schema) -> Schema:
    """Return what the union's only part says, as far as the key itself does not."""
    return {key: value for key, value in member.items() if key not in rest}


def _is_container(schema: Schema) -> bool:
    return "$ref" in schema or schema.get("type") in ("array", "object")


def _referring_schemas(schema: Any) -> Iterator[Schema]:
    """All parts of a schema that refer to a definition."""
    if isinstance(schema, list):
        for part in schema:
            yield from _referring_schemas(part)
    elif isinstance(schema, dict):
        yield from [schema] if "$ref" in schema else []
        yield from _referring_schemas([*schema.values()])


def _referred_name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _without_marks(schema: Any, empty: Collection[str]) -> Any:
    """Remove the marks: a reference without null to one of these says that it is a mapping."""
    if isinstance(schema, list):
        return [_without_marks(part, empty) for part in schema]
    if not isinstance(schema, dict):
        return schema
    cleaned = {key: _without_marks(value, empty) for key, value in schema.items() if key != _MAY_BE_EMPTY}
    is_mapping = "$ref" in schema and _MAY_BE_EMPTY not in schema and _referred_name(schema) in empty
    return {**cleaned, "type": "object"} if is_mapping else cleaned
