"""The JSON Schema of a topology file, built from the kinds' specs, so that editors complete, explain and check."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from pydantic.json_schema import models_json_schema

from reconciler.changes.kind import Kind, Registry
from reconciler.documents.read.header import FORMAT
from reconciler.documents.schema.docstrings import described_fields
from reconciler.model.resource import Spec
from reconciler.model.topology import Allowance, Expect, Guard, Ignored, Move, Removal

Schema = dict[str, Any]

_NAME = {"type": "string", "pattern": "^[^/]+$"}
_TOP_LEVEL: dict[str, Schema] = {
    "reconciler": {"const": FORMAT, "description": "Version of this file format."},
    "topology": {
        "type": "string",
        "minLength": 1,
        "description": "The owner's name, shared by all its files.",
    },
    "expect": {"$ref": "#/$defs/Expect", "description": "Refuse to work against the wrong place."},
}
_REMOVED = "Deletions, written down so that a reviewer sees them."
_MOVED = "What goes by another name than before: nothing is destroyed where a server can rename."
_ALLOW = "Consent to harmful changes of many resources at once, by rule code and value."
_GUARDS = "How many resources of a kind may go in one apply, where that is more than usual."
_FORGET = "Addresses that are no longer managed; the objects stay, for example `consumer/ORDERS/old`."

_IGNORED = "Differences between live and applied that `drift` does not report, each with its reason."


def topology_text(registry: Registry) -> str:
    """The schema as `schemas/topology.schema.json` holds it."""
    return json.dumps(topology_schema(registry), indent=2, ensure_ascii=False) + "\n"


def topology_schema(registry: Registry) -> Schema:
    """What `schemas/topology.schema.json` holds. Nothing is required: a topology may spread over several files."""
    specs: list[type[Spec]] = [
        Expect,
        Allowance,
        Guard,
        Move,
        Removal,
        Ignored,
        *(kind.spec for kind in registry.kinds),
    ]
    references, schema = models_json_schema([(spec, "validation") for spec in dict.fromkeys(specs)])
    definitions = {name: _polished(definition) for name, definition in _described(schema["$defs"]).items()}
    for kind in registry.kinds:
        model = references[kind.spec, "validation"]["$ref"].rpartition("/")[2]
        definitions[kind.name] = _resource(kind, deepcopy(definitions[model]), registry)
    address = {"type": "string", "pattern": f"^({'|'.join(kind.name for kind in registry.kinds)})(/[^/]+)+$"}
    properties = {
        **_TOP_LEVEL,
        **_sections(None, registry),
        "allow": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Allowance"}, "description": _ALLOW},
        "guards": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Guard"}, "description": _GUARDS},
        "moved": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Move"}, "description": _MOVED},
        "removed": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Removal"}, "description": _REMOVED},
        "forget": {"type": ["array", "null"], "items": address, "description": _FORGET},
        "ignore_drift": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Ignored"}, "description": _IGNORED},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A topology of NATS JetStream, as reconciler reads it",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def spec_schema(spec: type[Spec], title: str) -> Schema:
    """Of a file that holds one thing of this kind."""
    _, schema = models_json_schema([(spec, "validation")])
    definitions = {name: _polished(definition) for name, definition in _described(schema["$defs"]).items()}
    whole = definitions.pop(spec.__name__)
    described = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title}
    return {**described, **whole, "$defs": dict(sorted(definitions.items()))}


def _described(definitions: Schema) -> Schema:
    for model, sentences in described_fields().items():
        properties = definitions.get(model, {}).get("properties", {})
        for name in properties.keys() & sentences.keys():
            properties[name] = dict(sorted({"description": sentences[name], **properties[name]}.items()))
    return definitions


def _sections(parent: str | None, registry: Registry) -> dict[str, Schema]:
    """`streams`, `consumers`, …: mappings of names to resources of the kinds that share the section."""
    sections: dict[str, list[Kind]] = {}
    for kind in registry.within(parent):
        sections.setdefault(kind.place.section, []).append(kind)
    return {name: _section(kinds) for name, kinds in sections.items()}


def _section(kinds: list[Kind]) -> Schema:
    references: list[Schema] = [{"$ref": f"#/$defs/{kind.name}"} for kind in kinds]
    value: Schema = references[0] if len(references) == 1 else _tagged(kinds, references)
    described = " and ".join(kind.name.replace("_", " ") for kind in kinds)
    return {
        "type": ["object", "null"], "propertyNames": _NAME, "additionalProperties": value,
        "description": f"Declares {described} resources, by name.",
    }  # fmt: skip


def _tagged(kinds: list[Kind], references: list[Schema]) -> Schema:
    tags = [kind.place.tag for kind in kinds if kind.place.tag]
    key = tags[0][0]
    choices = {"enum": [tag[1] for tag in tags]}
    return {"type": "object", "required": [key], "properties": {key: choices}, "oneOf": references}


def _resource(kind: Kind, schema: Schema, registry: Registry) -> Schema:
    """A kind's spec with its tag before and its children's sections after its own keys."""
    tag = kind.place.tag
    before = {tag[0]: {"const": tag[1], "description": f"Makes this a {kind.name.replace('_', ' ')}."}} if tag else {}
    schema["properties"] = {**before, **schema.get("properties", {}), **_sections(kind.name, registry)}
    if tag:
        schema["required"] = [tag[0], *schema.get("required", [])]
    elif not schema.get("required"):
        schema["type"] = ["object", "null"]  # `temp:` with nothing below declares a resource that says nothing
    return schema


def _polished(schema: Any) -> Any:
    """Without what helps nobody in an editor: generated titles, null defaults, and null where a value must stand."""
    if isinstance(schema, list):
        return [_polished(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _polished_part(key, value) for key, value in schema.items() if not _is_noise(key, value)}
    members = kept.get("anyOf", [])
    real = [member for member in members if member != {"type": "null"}]
    if len(real) < len(members) and not any(_is_container(member) for member in real):
        kept["anyOf"] = real
    return {**kept.pop("anyOf")[0], **kept} if len(kept.get("anyOf", [])) == 1 else kept


def _polished_part(key: str, value: Any) -> Any:
    """`properties` holds names, not keywords: a field called `title` is no title."""
    if key in ("properties", "$defs"):
        return {name: _polished(below) for name, below in value.items()}
    return value if key in ("default", "const", "enum", "required", "examples") else _polished(value)


def _is_noise(key: str, value: Any) -> bool:
    return (key in ("title", "advice") and isinstance(value, str)) or (key == "default" and value is None)


def _is_container(schema: Schema) -> bool:
    return "$ref" in schema or schema.get("type") in ("array", "object")
