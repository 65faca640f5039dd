"""Makes schemas as editors show them best: each key with its meaning and default, and as few types as possible.

Every fact is a line of its own in `description`. VS Code makes a paragraph of each line, others show them as they are;
`markdownDescription`, which only VS Code reads, would say the same twice. The first fact is the text below the field in
its model. Pydantic can collect these texts, but it reads the source again at every start, and only the schema needs them.

For a key whose value is a union, editors show what the parts say, and not what the key says. `${name}` may stand wherever
a value of another type stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from reconciler.documents.fill.values import IN_SCHEMAS
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json, Spec
from reconciler.model.shape import attribute_docs
from reconciler.model.units import HOW_TO_WRITE
from reconciler.model.wire.version import SUPPORTED
from reconciler.model.written import written_value


class FieldText(NamedTuple):
    """What stands below a field, in three parts; the last two only where nothing else tells them."""

    about: str
    """What it is, in a sentence or two."""
    left_out: str = ""
    """What leaving it out means: the part after `Left out:`."""
    updates: str = ""
    """What updates may do to it: the part after `Updates:`."""


def described_fields() -> dict[str, dict[str, FieldText]]:
    """Return what is said by model and field; a field says what the model it was inherited from says. Of two models of
    one name, ours counts."""
    models = sorted(_all_models(Spec), key=lambda model: model.__module__.startswith("reconciler."))
    return {model.__name__: _texts_of(model) for model in models}


def _texts_of(model: type[Spec]) -> dict[str, FieldText]:
    return {
        _key_of(name): split_field_description(text)
        for name, text in attribute_docs(model).items()
        if name in model.model_fields
    }


def _all_models(base: type[Spec]) -> list[type[Spec]]:
    return [base, *(model for below in base.__subclasses__() for model in _all_models(below))]


def _key_of(name: str) -> str:
    """Return the key of a field: `from` is a word of Python's own, so its field is called `from_`."""
    return name.removesuffix("_")


def split_field_description(text: str) -> FieldText:
    """Split `What it is. Left out: what stands for it. Updates: what they may do.` into its parts."""
    about, *parts = re.split(r" (?=Left out: |Updates: )", text)
    parts_by_word = dict(part.split(": ", 1) for part in parts)
    return FieldText(about, *(parts_by_word.get(word, "").removesuffix(".") for word in ("Left out", "Updates")))


Schema = dict[str, Any]

LEFT_OUT, SINCE, UPDATES, WRITE = "Left out: ", "Since nats-server ", "Updates: ", "Write "
"""The beginnings of the lines."""
ANY = "any change"
INSIDE = "as for the key around it"
"""How updates may change a key of an object inside a configuration."""

_FORMATS = {"date-time": "2026-03-01T08:00:00Z, or with an offset such as +02:00", "date": "2026-12-31"}


def with_description(schema: Schema, field_text: FieldText, info: FieldInfo | None, family: str = "") -> Schema:
    """Return a key's schema with its description, and its default where that is a plain value. Without `info`, the key
    belongs to this tool alone."""
    default = schema.get("default") if info is None else info.default
    plain = {} if default is None else {"default": default}
    return {
        "description": "\n".join(_description_lines({**schema, **plain}, field_text, info, family)),
        **schema,
        **plain,
    }


def _description_lines(schema: Schema, field_text: FieldText, info: FieldInfo | None, family: str) -> Iterator[str]:
    yield field_text.about
    yield from (f"{WRITE}{how}." for how in dict.fromkeys(ways_to_write(schema)))
    if left_out := field_text.left_out or _default_in_words(schema, info or FieldInfo()):
        yield f"{LEFT_OUT}{left_out}."
    if info is None:
        return
    yield from _since_lines(info)
    rules = ", ".join(f"{family}{number}" for number in info.rules)
    yield f"{UPDATES}{field_text.updates or info.updatability or ANY}." + (f" See {rules}." if rules else "")


def ways_to_write(schema: Any) -> Iterator[str]:
    """Return how to write values with a unit, wherever they stand in the value of a key."""
    if isinstance(schema, list):
        for part in schema:
            yield from ways_to_write(part)
    elif isinstance(schema, Mapping):
        example = HOW_TO_WRITE.get(schema.get("pattern", "")) or _FORMATS.get(schema.get("format", ""))
        yield from [example] if example else []
        for keyword in ("anyOf", "items", "additionalProperties"):
            yield from ways_to_write(schema.get(keyword))


def _since_lines(info: FieldInfo) -> Iterator[str]:
    """Yield what the oldest supported server lacks."""
    if info.since and info.since > SUPPORTED[0]:
        yield f"{SINCE}{info.since.short}."
    for value, since in info.values_since.items():
        yield f"`{value}` since nats-server {since.short}."


def _default_in_words(schema: Schema, info: FieldInfo) -> str:
    default: Json = schema.get("default")
    if info.left_out or default is None:
        return info.left_out
    if default in ([], {}):
        return "none"
    is_unlimited = default == -1 and info.unit in ("count", "bytes")
    shown_default = written_value(default, info)
    return (
        f"no limit ({shown_default})"
        if is_unlimited
        else f"`{shown_default}`"
        if isinstance(default, str)
        else shown_default
    )


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
