"""The expectations of a spec, read once from its JSON schema: enough to tell a mapping from a list, `true` from
text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from threading import Lock
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import WithDefaultSchema

from reconciler.model.dataclass import dataclass


@dataclass(slots=True, eq=False)
class Shape:
    """Expectations for one value; a union has several. Filled step by step, because schemas may refer to themselves."""

    types: set[str] = field(default_factory=set)
    """JSON schema types: boolean, integer, number, string, null, array, object."""
    choices: list[Any] = field(default_factory=list)
    """The only possible values, for enums and literals."""
    formats: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    """Patterns, one of which a text must match; empty: any text."""
    advice: str = ""
    """What to write, in words, where quotes would not help."""
    properties: dict[str, Shape] = field(default_factory=dict)
    """The keys of a mapping; empty when the keys are free."""
    values: Shape | None = None
    """The expectation for values of free keys."""
    items: Shape | None = None
    closed: bool = False
    """Keys other than `properties` are unknown."""

    @property
    def is_anything(self) -> bool:
        """Is nothing known of this value, so that whatever a file says fits?"""
        return not self.types

    @property
    def takes_mapping(self) -> bool:
        """Could a mapping stand here? It could wherever nothing is known."""
        return not self.types or "object" in self.types

    @property
    def takes_list(self) -> bool:
        """Could a list stand here? It could wherever nothing is known."""
        return not self.types or "array" in self.types

    @property
    def takes_scalar(self) -> bool:
        """Could a single value other than null stand here? It could wherever nothing is known."""
        return not self.types or not self.types <= _WITHOUT_SCALARS

    @property
    def takes_text(self) -> bool:
        """Could some text stand here? `takes` says whether a certain one could."""
        return not self.types or "string" in self.types

    def takes(self, text: str) -> bool:
        """Could this text stand here, in quotes?"""
        if self.is_anything:
            return True
        fits = not self.patterns or any(re.search(pattern, text) for pattern in self.patterns)
        return self.takes_text and fits and not self.formats and (not self.choices or text in self.choices)

    def below(self, key: str) -> Shape | None:
        """Return what is expected under a key; None when there is no such key."""
        return self.properties.get(key) or self.values or (None if self.closed else ANYTHING)


ANYTHING = Shape()
_WITHOUT_SCALARS = frozenset({"object", "array", "null"})


_BUILDING = Lock()
"""Environments are read at the same time, and pydantic builds a model when it is first asked for: two at once fail."""


@lru_cache(maxsize=256)
def shape_of_spec(spec: type[BaseModel]) -> Shape:
    """Return what the schema of a spec expects; it is read once for each spec."""
    with _BUILDING:
        schema = spec.model_json_schema(mode="validation", schema_generator=_Expectations)
    return _Reader(schema.get("$defs", {})).read_schema(schema)


class _Expectations(GenerateJsonSchema):
    """A schema of what fits: without defaults, titles and an order of keys, which take half of the time."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Leave out the default."""
        return self.generate_inner(schema["schema"])

    def sort(self, value: JsonSchemaValue, parent_key: str | None = None) -> JsonSchemaValue:  # noqa: ARG002 - pydantic's
        """Leave the keys as they are."""
        return value

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's
        """Leave out the titles."""
        return False


class _Reader:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self.definitions = definitions
        self.known: dict[str, Shape] = {}

    def read_schema(self, schema: Any) -> Shape:
        shape = Shape()
        if isinstance(schema, Mapping):
            self._fill(shape, schema)
        return shape

    def _fill(self, shape: Shape, schema: Mapping[str, Any]) -> None:
        if "$ref" in schema:
            self._follow_reference(shape, schema["$ref"].rpartition("/")[2])
        for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
            other = self.read_schema(part)
            if other.is_anything and "allOf" not in schema:
                shape.types.update(_ALL)
            _merge(shape, other)
        for value in schema.get("enum", [schema["const"]] if "const" in schema else ()):
            shape.choices.append(value)
            shape.types.add(_TYPE_NAMES[type(value)])
        self._fill_type(shape, schema)

    def _fill_type(self, shape: Shape, schema: Mapping[str, Any]) -> None:
        types = schema.get("type", ())
        shape.types.update([types] if isinstance(types, str) else types)
        if "format" in schema:
            shape.formats.add(schema["format"])
        shape.advice = schema.get("advice", shape.advice)
        if "pattern" in schema:
            shape.patterns.add(schema["pattern"])
        for key, value in schema.get("properties", {}).items():
            shape.properties[key] = self.read_schema(value)
        if isinstance(schema.get("additionalProperties"), Mapping):
            shape.values = self.read_schema(schema["additionalProperties"])
        shape.closed = shape.closed or schema.get("additionalProperties") is False
        if isinstance(schema.get("items"), Mapping):
            shape.items = self.read_schema(schema["items"])
        elif schema.get("prefixItems"):
            shape.items = self.read_schema({"anyOf": schema["prefixItems"]})

    def _follow_reference(self, shape: Shape, name: str) -> None:
        if name not in self.known:
            self.known[name] = Shape()
            self._fill(self.known[name], self.definitions[name])
        _merge(shape, self.known[name])


_ALL = ("boolean", "integer", "number", "string", "null", "array", "object")
_TYPE_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def _merge(shape: Shape, other: Shape) -> None:
    shape.types |= other.types
    shape.formats |= other.formats
    shape.patterns |= other.patterns
    shape.advice = shape.advice or other.advice
    shape.choices.extend(choice for choice in other.choices if choice not in shape.choices)
    for key, value in other.properties.items():
        shape.properties.setdefault(key, value)
    shape.closed |= other.closed
    shape.values = shape.values or other.values
    shape.items = shape.items or other.items
