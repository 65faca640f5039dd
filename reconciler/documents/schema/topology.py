"""The JSON Schema of a topology file, built from the kinds' specs, so that editors complete, explain and check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from reconciler.changes.kind import Kind, Registry
from reconciler.documents.fill.environments import Environment
from reconciler.documents.fill.for_each import FOR_EACH
from reconciler.documents.fill.overlay import APPEND, NOT_HERE, ONLY_HERE, REMOVE, UNSET
from reconciler.documents.fill.parameters import Parameter
from reconciler.documents.fill.values import NAME
from reconciler.documents.parse.files import ANCHORS
from reconciler.documents.read.header import FORMAT
from reconciler.documents.schema.for_editors import (
    INSIDE,
    Schema,
    described_fields,
    polished_definitions,
    split_field_description,
    with_description,
    with_mentions,
)
from reconciler.model.fields import FieldInfo
from reconciler.model.policy import Policy, PolicySource
from reconciler.model.resource import Spec, model_in
from reconciler.model.topology import Allowance, BulkForget, BulkRemoval, Expect, Guard, Ignored, Move, Removal

NO_KINDS = Registry(kinds=())
LISTED: tuple[type[Spec], ...] = (Allowance, Guard, Move, Removal, BulkRemoval, BulkForget, Ignored)
"""What the entries of lists at the top are."""
_NAME = {"type": "string", "pattern": "^[^/]+$"}
_FORMAT = (
    f"Version of this file format, which is {FORMAT}. Left out: an error, unless another file of the folder says it."
)
_TOPOLOGY = """Name of this topology, the owner of what its files declare. Left out: an error, unless another file of the
folder says it."""
_INCLUDE = """More files of this topology, by paths relative to this file. They stand in the folder of the topology.
Left out: the files that the command line names are all of them."""
_PARAMETERS = """Values that the files leave open, each under its name: `${name}` stands for them.
Left out: the files leave nothing open."""
_ENVIRONMENTS = """Places where this topology is applied, each under its name, with what is different there; `--environment`
chooses one. Left out: there is one place, which the command line names."""
_ENVIRONMENT = """The environment that this file is an overlay for, or a list of them: it changes what the other files say, for
these environments alone. Left out: the file is for all of them."""
_FOR_EACH = """Names, or a mapping of names to what is said of each: this entry stands for one of each, with `${each.key}` and
`${each.value}` in its name and values. Left out: it stands for itself alone."""
_EXPECT = """Where this topology belongs: plan and apply refuse to work anywhere else. Left out: any account will do."""
_POLICIES = """House rules in CEL, or where they are: they forbid resources and changes, and never permit what is refused anyway.
Left out: none but the rules of reconciler itself."""
_ALLOW = """Consent to a harmful change of many resources at once: by rule, by value, and by address or label.
Left out: no consent but that beside the resources."""
_GUARDS = """How many resources of a kind one apply may delete or replace, where that is more than usual.
Left out: what `reconciler explain XX108` says."""
_MOVED = """Objects and topologies that have a new name. Nothing is destroyed where a server can rename.
Left out: nothing is renamed."""
_REMOVED = """Objects to delete, each with the reason. An entry names one, or says with `on` which ones and with `upto` how
many at most. Left out: nothing is deleted."""
_FORGET = """Addresses that this topology gives up, for example `consumer/ORDERS/old`; or entries that say with `on` which
objects, and with `upto` how many at most. The objects stay. Left out: nothing is given up."""
_IGNORED = """Differences between live and applied that `drift` does not report, each with the reason.
Left out: all drift is reported."""


def topology_text(registry: Registry) -> str:
    """Return the text of `schemas/topology.schema.json`."""
    schema = with_mentions(topology_schema(registry), apart=[Parameter.__name__], second=["BulkRemoval", "BulkForget"])
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def topology_schema(registry: Registry) -> Schema:
    """Return the contents of `schemas/topology.schema.json`. No key is required: a topology may span several files."""
    specs: list[type[Spec]] = [
        Expect,
        Parameter,
        Environment,
        Policy,
        PolicySource,
        *LISTED,
        *(kind.spec for kind in registry.kinds),
    ]
    _, schema = models_json_schema([(spec, "validation") for spec in dict.fromkeys(specs)])
    definitions = _describe_definitions(schema["$defs"], registry)
    models = {name: definitions.pop(name) for name in dict.fromkeys(kind.spec.__name__ for kind in registry.kinds)}
    for kind in registry.kinds:
        definitions[kind.name] = _resource(kind, models[kind.spec.__name__], registry)
    for spec in LISTED:
        definitions[spec.__name__]["patternProperties"] = {f"^{FOR_EACH}$": _for_each_schema()}
    address = {"type": "string", "pattern": f"^({'|'.join(kind.name for kind in registry.kinds)})(/[^/]+)+$"}
    properties = {
        "reconciler": _described_key(_FORMAT, {"const": FORMAT}),
        "topology": _described_key(_TOPOLOGY, {"type": "string", "minLength": 1}),
        "include": _described_key(_INCLUDE, {"type": ["string", "array"], "items": {"type": "string"}}),
        "parameters": _described_key(_PARAMETERS, _mapping_of_names(_reference("Parameter"))),
        "environments": _described_key(_ENVIRONMENTS, _mapping_of_names(_reference("Environment"))),
        "environment": _described_key(_ENVIRONMENT, {"type": ["string", "array"], "items": {"type": "string"}}),
        "expect": _described_key(_EXPECT, _reference("Expect")),
        "policies": _described_key(
            _POLICIES, _list_of({"type": "object", "oneOf": [_reference("Policy"), _reference("PolicySource")]})
        ),
        **_sections(None, registry),
        "allow": _described_key(_ALLOW, _list_of(_reference("Allowance"))),
        "guards": _described_key(_GUARDS, _list_of(_reference("Guard"))),
        "moved": _described_key(_MOVED, _list_of(_reference("Move"))),
        "removed": _described_key(
            _REMOVED, _list_of({"type": "object", "oneOf": [_reference("Removal"), _reference("BulkRemoval")]})
        ),
        "forget": _described_key(
            _FORGET, _list_of({"type": ["string", "object"], "oneOf": [address, _reference("BulkForget")]})
        ),
        "ignore_drift": _described_key(_IGNORED, _list_of(_reference("Ignored"))),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "A topology of NATS JetStream, as reconciler reads it.",
        "type": "object",
        "properties": properties,
        "patternProperties": {f"^{ANCHORS}": {}},
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def spec_schema(spec: type[Spec]) -> Schema:
    """Return the schema of a file that holds one object of this kind, without a title, which editors would show above
    every key."""
    _, schema = models_json_schema([(spec, "validation")])
    definitions = _describe_definitions(schema["$defs"])
    root = definitions.pop(spec.__name__)
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**draft, **root, "$defs": dict(sorted(definitions.items()))}


def _described_key(text: str, schema: Schema) -> Schema:
    return with_description(schema, split_field_description(" ".join(text.split())), None)


def _reference(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _mapping_of_names(value: Schema) -> Schema:
    names = {"type": "string", "pattern": f"^{NAME}$"}
    below = {**value, "type": ["object", "null"]}
    return {"type": ["object", "null"], "propertyNames": names, "additionalProperties": below}


def _list_of(items: Schema) -> Schema:
    return {"type": ["array", "null"], "items": items}


def _describe_definitions(definitions: Schema, registry: Registry = NO_KINDS) -> Schema:
    """Each definition as editors should have it, every key with what is known about it."""
    infos, families = _field_infos(registry), {kind.spec.__name__: kind.family for kind in registry.kinds}
    for model, texts in described_fields().items():
        properties = definitions.get(model, {}).get("properties", {})
        infos_of_model, family = infos.get(model, {}), families.get(model, "")
        for name in properties.keys() & texts.keys():
            properties[name] = with_description(properties[name], texts[name], infos_of_model.get(name), family)
    return polished_definitions(definitions)


def _field_infos(registry: Registry) -> dict[str, Mapping[str, FieldInfo]]:
    """Return what kinds know about the fields of their specs, and of the objects inside, by model."""
    infos: dict[str, Mapping[str, FieldInfo]] = {}
    for kind in registry.kinds:
        own_infos = {name: _with_replacement(info, kind) for name, info in kind.fields.items()}
        infos |= {**_infos_of_nested(kind.spec, kind.fields), kind.spec.__name__: own_infos}
    return infos


def _with_replacement(info: FieldInfo, kind: Kind) -> FieldInfo:
    """Say of what no update changes that a replacement changes it."""
    if not (info.updatability and kind.replace):
        return info
    noun = kind.name.rpartition("_")[2]
    return replace(info, updatability=f"{info.updatability}; with consent the {noun} is recreated")


def _infos_of_nested(model: type[BaseModel], fields: Mapping[str, FieldInfo]) -> dict[str, Mapping[str, FieldInfo]]:
    infos: dict[str, Mapping[str, FieldInfo]] = {}
    for name in fields.keys() & model.model_fields.keys():
        below, nested = model_in(model.model_fields[name].annotation), fields[name].nested
        if nested:
            nested_infos = {key: replace(info, updatability=INSIDE, rules=()) for key, info in nested.items()}
            infos |= {below.__name__: nested_infos, **_infos_of_nested(below, nested)}
    return infos


def _sections(parent: str | None, registry: Registry) -> dict[str, Schema]:
    """`streams`, `consumers`, …: mappings of names to resources of the kinds that share the section."""
    return {name: _section(kinds) for name, kinds in registry.sections(parent).items()}


def _section(kinds: Sequence[Kind]) -> Schema:
    references = [_reference(kind.name) for kind in kinds]
    value: Schema = references[0] if len(references) == 1 else _tagged_union(kinds, references)
    first, *others = (kind.title for kind in kinds)
    titles = " and ".join([first, *(title[0].lower() + title[1:] for title in others)])
    schema = {"type": ["object", "null"], "propertyNames": _NAME, "additionalProperties": value}
    return _described_key(f"{titles}, each under its name. Left out: none.", schema)


def _tagged_union(kinds: Sequence[Kind], references: list[Schema]) -> Schema:
    tags = [kind.place.tag for kind in kinds if kind.place.tag]
    key = tags[0][0]
    values = [tag[1] for tag in tags]
    choices = _described_key(f"Which sort it is: {' or '.join(f'`{value}`' for value in values)}.", {"enum": values})
    return {"type": "object", "required": [key], "properties": {key: choices}, "oneOf": references}


def _resource(kind: Kind, schema: Schema, registry: Registry) -> Schema:
    """A kind's spec, with its tag before and its children's sections after its own keys."""
    tag = kind.place.tag
    before = {tag[0]: _described_key(f"`{tag[1]}` for {kind.title.lower()}.", {"const": tag[1]})} if tag else {}
    properties = {**before, **schema.get("properties", {}), **_sections(kind.name, registry)}
    required = [*([tag[0]] if tag else []), *schema.get("required", [])]
    # `temp:` with nothing below declares a resource with all defaults
    constraints = {"required": required} if required else {"type": ["object", "null"]}
    return {**schema, "properties": properties, "patternProperties": _overlay_words(), **constraints}


def _for_each_schema() -> Schema:
    return _described_key(_FOR_EACH, {"type": ["array", "object"], "items": {"type": "string"}})


def _overlay_words() -> Schema:
    """Return what `for_each` and an overlay say of a resource. Which file is an overlay, a schema cannot tell."""
    names, changes = {"type": ["string", "array"], "items": {"type": "string"}}, {"type": "object"}
    return {
        f"^{FOR_EACH}$": _for_each_schema(),
        f"^{ONLY_HERE}$": _described_key(
            "In an overlay: adds this resource, for its environments alone.", {"const": True}
        ),
        f"^{NOT_HERE}$": _described_key(
            "In an overlay: leaves this resource out, for its environments alone.", {"const": True}
        ),
        f"^{UNSET}$": _described_key("In an overlay: keys that are left out, for its environments alone.", names),
        f"^{APPEND}$": _described_key("In an overlay: by key, what is added to a list or a mapping.", changes),
        f"^{REMOVE}$": _described_key("In an overlay: by key, what is taken out of a list or a mapping.", changes),
    }
