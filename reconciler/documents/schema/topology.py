"""The JSON Schema of a topology file, built from the kinds' specs, so that editors complete, explain and check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from reconciler.changes.kind import Kind, Registry
from reconciler.documents.read.environments import Environment
from reconciler.documents.read.for_each import FOR_EACH
from reconciler.documents.read.header import ANCHORS, FORMAT
from reconciler.documents.read.overlay import APPEND, NOT_HERE, ONLY_HERE, REMOVE, UNSET
from reconciler.documents.read.parameters import Parameter
from reconciler.documents.read.values import NAME
from reconciler.documents.schema.descriptions import INSIDE, Schema, described_fields, explained, said
from reconciler.documents.schema.polish import polished, with_mentions
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
    definitions = _described(schema["$defs"], registry)
    models = {name: definitions.pop(name) for name in dict.fromkeys(kind.spec.__name__ for kind in registry.kinds)}
    for kind in registry.kinds:
        definitions[kind.name] = _resource(kind, models[kind.spec.__name__], registry)
    for spec in LISTED:
        definitions[spec.__name__]["patternProperties"] = {f"^{FOR_EACH}$": _for_each()}
    address = {"type": "string", "pattern": f"^({'|'.join(kind.name for kind in registry.kinds)})(/[^/]+)+$"}
    properties = {
        "reconciler": _key(_FORMAT, {"const": FORMAT}),
        "topology": _key(_TOPOLOGY, {"type": "string", "minLength": 1}),
        "include": _key(_INCLUDE, {"type": ["string", "array"], "items": {"type": "string"}}),
        "parameters": _key(_PARAMETERS, _named(_ref("Parameter"))),
        "environments": _key(_ENVIRONMENTS, _named(_ref("Environment"))),
        "environment": _key(_ENVIRONMENT, {"type": ["string", "array"], "items": {"type": "string"}}),
        "expect": _key(_EXPECT, _ref("Expect")),
        "policies": _key(_POLICIES, _list({"type": "object", "oneOf": [_ref("Policy"), _ref("PolicySource")]})),
        **_sections(None, registry),
        "allow": _key(_ALLOW, _list(_ref("Allowance"))),
        "guards": _key(_GUARDS, _list(_ref("Guard"))),
        "moved": _key(_MOVED, _list(_ref("Move"))),
        "removed": _key(_REMOVED, _list({"type": "object", "oneOf": [_ref("Removal"), _ref("BulkRemoval")]})),
        "forget": _key(_FORGET, _list({"type": ["string", "object"], "oneOf": [address, _ref("BulkForget")]})),
        "ignore_drift": _key(_IGNORED, _list(_ref("Ignored"))),
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
    definitions = _described(schema["$defs"])
    whole = definitions.pop(spec.__name__)
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**draft, **whole, "$defs": dict(sorted(definitions.items()))}


def _key(text: str, schema: Schema) -> Schema:
    return explained(schema, said(" ".join(text.split())), None)


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _named(one: Schema) -> Schema:
    names = {"type": "string", "pattern": f"^{NAME}$"}
    below = {**one, "type": ["object", "null"]}
    return {"type": ["object", "null"], "propertyNames": names, "additionalProperties": below}


def _list(items: Schema) -> Schema:
    return {"type": ["array", "null"], "items": items}


def _described(definitions: Schema, registry: Registry = NO_KINDS) -> Schema:
    """Each definition as editors should have it, every key with what is known about it."""
    infos, families = _known(registry), {kind.spec.__name__: kind.family for kind in registry.kinds}
    for model, texts in described_fields().items():
        properties = definitions.get(model, {}).get("properties", {})
        about, family = infos.get(model, {}), families.get(model, "")
        for name in properties.keys() & texts.keys():
            properties[name] = explained(properties[name], texts[name], about.get(name), family)
    return polished(definitions)


def _known(registry: Registry) -> dict[str, Mapping[str, FieldInfo]]:
    """What kinds know about the fields of their specs, and of the objects inside, by model."""
    known: dict[str, Mapping[str, FieldInfo]] = {}
    for kind in registry.kinds:
        own = {name: _replaceable(info, kind) for name, info in kind.fields.items()}
        known |= {**_inside(kind.spec, kind.fields), kind.spec.__name__: own}
    return known


def _replaceable(info: FieldInfo, kind: Kind) -> FieldInfo:
    """What no update changes, a replacement changes."""
    if not (info.updatability and kind.replace):
        return info
    noun = kind.name.rpartition("_")[2]
    return replace(info, updatability=f"{info.updatability}; with consent the {noun} is recreated")


def _inside(model: type[BaseModel], fields: Mapping[str, FieldInfo]) -> dict[str, Mapping[str, FieldInfo]]:
    found: dict[str, Mapping[str, FieldInfo]] = {}
    for name in fields.keys() & model.model_fields.keys():
        below, nested = model_in(model.model_fields[name].annotation), fields[name].nested
        if nested:
            own = {key: replace(info, updatability=INSIDE, rules=()) for key, info in nested.items()}
            found |= {below.__name__: own, **_inside(below, nested)}
    return found


def _sections(parent: str | None, registry: Registry) -> dict[str, Schema]:
    """`streams`, `consumers`, …: mappings of names to resources of the kinds that share the section."""
    return {name: _section(kinds) for name, kinds in registry.sections(parent).items()}


def _section(kinds: Sequence[Kind]) -> Schema:
    references = [_ref(kind.name) for kind in kinds]
    value: Schema = references[0] if len(references) == 1 else _tagged(kinds, references)
    first, *others = (kind.title for kind in kinds)
    titles = " and ".join([first, *(title[0].lower() + title[1:] for title in others)])
    schema = {"type": ["object", "null"], "propertyNames": _NAME, "additionalProperties": value}
    return _key(f"{titles}, each under its name. Left out: none.", schema)


def _tagged(kinds: Sequence[Kind], references: list[Schema]) -> Schema:
    tags = [kind.place.tag for kind in kinds if kind.place.tag]
    key = tags[0][0]
    values = [tag[1] for tag in tags]
    choices = _key(f"Which sort it is: {' or '.join(f'`{value}`' for value in values)}.", {"enum": values})
    return {"type": "object", "required": [key], "properties": {key: choices}, "oneOf": references}


def _resource(kind: Kind, schema: Schema, registry: Registry) -> Schema:
    """A kind's spec, with its tag before and its children's sections after its own keys."""
    tag = kind.place.tag
    before = {tag[0]: _key(f"`{tag[1]}` for {kind.title.lower()}.", {"const": tag[1]})} if tag else {}
    properties = {**before, **schema.get("properties", {}), **_sections(kind.name, registry)}
    required = [*([tag[0]] if tag else []), *schema.get("required", [])]
    # `temp:` with nothing below declares a resource with all defaults
    said_of_it = {"required": required} if required else {"type": ["object", "null"]}
    return {**schema, "properties": properties, "patternProperties": _words(), **said_of_it}


def _for_each() -> Schema:
    return _key(_FOR_EACH, {"type": ["array", "object"], "items": {"type": "string"}})


def _words() -> Schema:
    """What `for_each` and an overlay say of a resource. Which file is an overlay, a schema cannot tell."""
    names, changes = {"type": ["string", "array"], "items": {"type": "string"}}, {"type": "object"}
    return {
        f"^{FOR_EACH}$": _for_each(),
        f"^{ONLY_HERE}$": _key("In an overlay: adds this resource, for its environments alone.", {"const": True}),
        f"^{NOT_HERE}$": _key("In an overlay: leaves this resource out, for its environments alone.", {"const": True}),
        f"^{UNSET}$": _key("In an overlay: keys that are left out, for its environments alone.", names),
        f"^{APPEND}$": _key("In an overlay: by key, what is added to a list or a mapping.", changes),
        f"^{REMOVE}$": _key("In an overlay: by key, what is taken out of a list or a mapping.", changes),
    }
