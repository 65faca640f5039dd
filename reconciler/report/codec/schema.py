"""What an object is like, as JSON Schema 2020-12: strict, and with the meaning of each key."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reconciler.model.shape import NEVER, Like, attribute_docs
from reconciler.report.codec.shape import Data, JsonKey, Sort, inline_type, members, sort_of, type_and_marks

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def published_schema(title: str, description: str, owner: type, **more: Data) -> str:
    """Return the schema of a whole document as it is published; `more` are keywords for single keys of it."""
    parts: Data = {}
    body = object_schema(owner, parts)
    for key, keywords in more.items():
        body["properties"][key] |= keywords
    return _schema_text(title, description, body, parts)


def published_schema_of_any(title: str, description: str, documents: Mapping[str, type]) -> str:
    """Return the schema of a command that prints one of several documents; `#/$defs/NAME` describes one of them."""
    parts: Data = {}
    described = {name: object_schema(document, parts) for name, document in documents.items()}
    return _schema_text(title, description, {"anyOf": [_ref(name) for name in documents]}, parts, described)


def bundled_schema(schema: str, others: Mapping[str, str]) -> str:
    """Return the text of a schema that holds the schemas it refers to by the names of their files, so that it is enough
    alone."""
    whole = json.loads(schema)
    whole["$defs"] |= {name: {"$id": f"{name}.schema.json", **json.loads(text)} for name, text in others.items()}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _schema_text(title: str, description: str, body: Data, parts: Data, first: Mapping[str, Data] | None = None) -> str:
    head = {"$schema": DRAFT, "title": title, "description": description}
    definitions = {**(first or {}), **dict(sorted(parts.items()))}
    return json.dumps({**head, **body, "$defs": definitions}, indent=2, ensure_ascii=False) + "\n"


def object_schema(owner: Any, parts: Data) -> Data:
    """Return what an object of this type is like, strictly: these keys and no others. What it refers to goes into
    `parts`."""
    properties, required = {}, []
    for key, meaning in _keys_and_meanings(owner):
        properties[key.key] = value_schema(key.hint, parts) | ({"description": meaning} if meaning else {})
        if key.is_required or key.default is NEVER:
            required.append(key.key)
    return {"type": "object", "properties": properties, "required": sorted(required), "additionalProperties": False}


def _keys_and_meanings(owner: Any) -> Iterator[tuple[JsonKey, str]]:
    """The keys, with those of inline values, and what each means; empty where its type says it."""
    texts = attribute_docs(owner)
    for key in members(owner):
        if key.is_inline:
            yield from _keys_and_meanings(inline_type(key.hint))
        elif key.is_computed:
            yield key, " ".join((getattr(owner, key.attribute).__doc__ or "").split())
        else:
            yield key, texts.get(key.attribute, "")


def value_schema(hint: Any, parts: Data) -> Data:
    """Return what a value of this type is like."""
    sort, inner = sort_of(hint)
    keywords = {
        name: value
        for mark in type_and_marks(hint)[1]
        if isinstance(mark, Like)
        for name, value in mark.keywords.items()
    }
    return {**_SORTS[sort](parts, *inner), **keywords}


_PLAIN: Mapping[Any, Data] = {
    Any: {"not": {"type": "null"}},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}
_SORTS: Mapping[Sort, Callable[..., Data]] = {
    Sort.OTHER: lambda parts, other: value_schema(other.type, parts),
    Sort.OPTIONAL: lambda parts, some: value_schema(some, parts),
    Sort.UNION: lambda parts, *objects: {"oneOf": [object_schema(one, parts) for one in objects]},
    Sort.CHOICE: lambda _, *texts: {"enum": [*texts]},
    Sort.MAPPING: lambda parts, value: _mapping_schema(value, parts),
    Sort.ARRAY: lambda parts, item, *_: {"type": "array", "items": _item_schema(item, parts)},
    Sort.ENUM: lambda _, enum: {"enum": [one.value for one in enum]},
    Sort.OBJECT: lambda parts, owner: ref(owner, parts),
    Sort.PLAIN: lambda _, plain: dict(_PLAIN[plain]),
}


def _mapping_schema(value: Any, parts: Data) -> Data:
    return {"type": "object", **({} if value is Any else {"additionalProperties": value_schema(value, parts)})}


def _item_schema(hint: Any, parts: Data) -> Data:
    """An item that may be missing is null, for what follows it must keep its place."""
    schema = value_schema(hint, parts)
    return {**schema, "type": [schema["type"], "null"]} if sort_of(hint)[0] is Sort.OPTIONAL else schema


def ref(owner: Any, parts: Data) -> Data:
    """Return a reference to this type, which is described in `parts`."""
    if owner.__name__ not in parts:
        parts[owner.__name__] = {}  # it may refer to itself
        parts[owner.__name__] = object_schema(owner, parts)
    return _ref(owner.__name__)


def _ref(name: str) -> Data:
    return {"$ref": f"#/$defs/{name}"}
