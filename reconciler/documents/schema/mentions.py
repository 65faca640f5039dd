"""Lets `${name}` stand wherever a value of another type stands, in the schemas that editors check files with."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reconciler.documents.read.values import IN_SCHEMAS
from reconciler.documents.schema.descriptions import Schema

_NAMES = ("properties", "patternProperties", "$defs")
"""Keywords that hold schemas under names."""
_SCHEMAS = ("items", "additionalProperties", "anyOf", "oneOf")


def with_mentions(schema: Schema, apart: Collection[str], second: Collection[str] = ()) -> Schema:
    """Return the schema, in which all but the definitions `apart` may be parameters. Of those that are the `second` choice
    somewhere, only what is inside may be: a parameter in their place fits the first choice, and must not fit two."""
    definitions = {name: one if name in apart else _any(one) for name, one in schema["$defs"].items()}
    for name in second:
        definitions[name] = {key: one for key, one in definitions[name].items() if key != "pattern"}
        definitions[name]["type"] = "object"
    properties = {name: _any(one) for name, one in schema["properties"].items()}
    return {**schema, "properties": properties, "$defs": definitions}


def _any(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_any(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    below: Schema = {key: _part(key, value) for key, value in schema.items()}
    types = [below["type"]] if isinstance(below.get("type"), str) else below.get("type", [])
    if "enum" in below:
        kept = {key: below[key] for key in ("description", "default") if key in below}
        return {**kept, "anyOf": [below, {"type": "string", "pattern": IN_SCHEMAS}]}
    if types and "string" not in types:
        return {**below, "type": [*types, "string"], "pattern": IN_SCHEMAS}
    return {**below, "pattern": f"{below['pattern']}|{IN_SCHEMAS}"} if "pattern" in below else below


def _part(key: str, value: Any) -> Any:
    if key in _NAMES:
        return {name: _any(below) for name, below in value.items()}
    return _any(value) if key in _SCHEMAS else value
