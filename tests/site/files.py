"""The reference of the files: every key with how it is written, what leaving it out means, and what updates may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reconciler.changes.kind import Kind
from reconciler.documents.schema.for_editors import LEFT_OUT, SINCE, UPDATES, WRITE
from reconciler.documents.schema.topology import topology_schema
from reconciler.fleet.accounts.fleet_file import fleet_file_schema
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Terms
from reconciler.model.units import BYTES, NANOSECONDS
from tests.site import file_examples as examples
from tests.site.markdown import anchor, fenced, page, prose, table, with_rules
from tests.site.place import REPOSITORY
from tests.site.values import value

Schema = Mapping[str, Any]
RULES = "../rules/"
TERMS = tuple(Terms.model_fields)
"""What every resource may say about itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key of a file, as its schema describes it."""

    name: str
    schema: Schema
    about: str
    left_out: str
    """Empty where the key must stand there."""
    since: str
    updates: str

    @classmethod
    def of(cls, name: str, schema: Schema) -> Key:
        """The lines of its description, each in its place."""
        about, *facts = schema["description"].split("\n")
        by_word = {word: [line.removeprefix(word) for line in facts if line.startswith(word)] for word in WORDS}
        versions = [f"nats-server {line.removesuffix('.')}" for line in by_word[SINCE]]
        versions += [_of_a_value(line) for line in facts if line.startswith("`")]
        return cls(
            name=name, schema=schema, about=about, since=", ".join(versions),
            left_out=" ".join(by_word[LEFT_OUT]).removesuffix("."), updates=" ".join(by_word[UPDATES]).removesuffix("."),
        )  # fmt: skip


def _of_a_value(line: str) -> str:
    """`nats-server 2.12 for prioritized`"""
    value_, version = line.removesuffix(".").split(" since ")
    return f"{version} for {value_}"


WORDS = (LEFT_OUT, SINCE, UPDATES, WRITE)


def keys_of(schema: Schema) -> list[Key]:
    """Of a mapping, those that must stand there first."""
    required = schema.get("required", ())
    found = [Key.of(name, below) for name, below in schema["properties"].items()]
    return sorted(found, key=lambda one: one.name not in required)


def pages() -> dict[str, str]:
    """By their path below docs/."""
    schema = topology_schema(REGISTRY)
    return {
        "reference/files/index.md": _index(schema),
        **{f"reference/files/{slug(kind)}.md": _kind(kind, schema) for kind in REGISTRY.kinds},
        "reference/files/fleet.md": _fleet(fleet_file_schema()),
    }


def slug(kind: Kind) -> str:
    """The name of its page: `kv-buckets`."""
    return kind.title.lower().replace(" ", "-")


# The page of what stands at the top of a file.

TOP_ITEMS = {
    "parameters": "Parameter",
    "environments": "Environment",
    "expect": "Expect",
    "policies": "Policy",
    "allow": "Allowance",
    "guards": "Guard",
    "moved": "Move",
    "removed": "Removal",
    "ignore_drift": "Ignored",
}
"""Keys at the top whose values have keys of their own, with the definition of these."""
BELOW = ("Consent", "PolicySource", "PolicyCase", "BulkRemoval", "BulkForget")
"""What the page shows below the keys at the top."""
SECTIONS = {kind.place.section: kind for kind in REGISTRY.kinds if kind.place.within is None}


def _index(schema: Schema) -> str:
    definitions = schema["$defs"]
    mappings = {
        **{name: f"[mapping](#{key})" for key, name in TOP_ITEMS.items()},
        **_resources(),
        "Consent": "[mapping](#consent)",
        "PolicySource": "[mapping](#where-policies-are)",
        "PolicyCase": "[mapping](#cases-of-a-policy)",
        "BulkRemoval": "[mapping](#entries-about-many)",
        "BulkForget": "[mapping](#entries-about-many)",
    }
    top = keys_of(schema)
    terms = [Key.of(name, definitions["stream"]["properties"][name]) for name in TERMS]
    return page(
        ["# Files"],
        _INTRODUCTION,
        _kinds_of_resources(),
        ["## How values are written"],
        _units(),
        [
            "`${name}` stands for the value of a [parameter](#parameters), and `$${name}` for that text itself. Names and all",
            "values but `reconciler` may hold parameters. Within brackets, put quotes around it, as in",
            '`["orders.${region}.>"]`, so that editors and other tools can read the file. Top-level keys that begin with `x-`',
            "are yours, to hold YAML anchors.",
        ],
        fenced('yaml title="shop.yaml"', examples.FILLED),
        fenced("console", examples.FILLING),
        ["## Keys at the top of a file"],
        _overview(top, mappings),
        *(part for key in top for part in _top_key(key, definitions, mappings)),
        ["## Keys of every resource"],
        [
            "Streams, consumers, buckets, stores and groups all take these. They are about the file alone: no server sees them."
        ],
        fenced("yaml", examples.OF_EVERY_RESOURCE),
        _details(terms, mappings),
        ["## Consent"],
        ["An entry of `allow` beside a resource. At the top of a file it also says `on`, of which resources."],
        _details(keys_of(definitions["Consent"]), mappings),
        ["[What consent is, and when it is asked for](../../concepts/consent.md)"],
        ["## Entries about many"],
        [
            "An entry of `removed` or `forget` that says `on` is about every object that a pattern or a label matches.",
            "In a pattern, `*` stands for any letters, also for `/`, `?` for one letter, and `[ab]` for one of these.",
            "An entry matches what this topology owns, by its records, and its files no longer declare. It never matches what is",
            "declared, or what somebody else owns. Labels are those of the last apply. An entry that names one object goes first.",
            "[How a tenant leaves](../../guides/many-alike.md#a-tenant-leaves)",
        ],
        _details(keys_of(definitions["BulkRemoval"]), mappings),
        ["An entry of `forget` about many has these keys."],
        _details(keys_of(definitions["BulkForget"]), mappings),
        ["## Where policies are"],
        ["An entry of `policies` that names others has these keys."],
        _details(keys_of(definitions["PolicySource"]), mappings),
        ["## Cases of a policy"],
        ["`reconciler policy test` judges them."],
        _details(keys_of(definitions["PolicyCase"]), mappings),
    )


_INTRODUCTION = [
    "A topology is a file, or a folder whose files are read together: sections of the same name are joined, and a name that is",
    "declared twice is an error. Keys have the names of nats-server's own JSON, so that this page, `nats stream info --json` and the",
    "NATS documentation speak of the same things. A key that does not exist is an error, with a suggestion.",
    "",
    "A key that is left out stands for the default of the server's version, and an apply goes back to it.",
    "",
    "Editors show all that stands here while you type, from the",
    f"[JSON Schema]({REPOSITORY}schemas/topology.schema.json). `reconciler schema > topology.schema.json`",
    "prints it, and a first line `# yaml-language-server: $schema=topology.schema.json` leads editors to it.",
]


def _kinds_of_resources() -> list[str]:
    rows = ((f"[{kind.title}]({slug(kind)}.md)", _place(kind)) for kind in REGISTRY.kinds)
    return table(("resources", "where they stand"), rows)


def _place(kind: Kind) -> str:
    inside = f"`{kind.place.section}` of a stream" if kind.place.within else f"`{kind.place.section}`"
    return inside + (f", with `{kind.place.tag[0]}: {kind.place.tag[1]}`" if kind.place.tag else "")


def _units() -> list[str]:
    durations, sizes = (", ".join(f"`{unit}`" for unit in units) for units in (NANOSECONDS, BYTES))
    rows = (
        ("duration", "`7d`, `1h30m`, `250ms`", f"Units: {durations}. Without a unit: nanoseconds."),
        ("size", "`20GiB`, `512MB`", f"Units: {sizes}; `KB` is 1000 bytes, `K` and `KiB` are 1024. Without a unit: bytes."),
        ("number", "`5`, `1_000_000`", "`-1` is no limit, where there is a limit."),
        ("time", "`2026-03-01T08:00:00Z`", "Or with an offset, such as `+02:00`."),
        ("date", "`2026-12-31`", "The whole day, in UTC by the clock of the server."),
        ("subject", "`orders.*.paid`, `orders.>`", "`*` stands for one token, `>` at the end for one or more."),
        ("address", "`stream/ORDERS`, `consumer/ORDERS/billing`", "The kind and the name; of what is inside a stream, its name first."),
    )  # fmt: skip
    return table(("value", "for example", ""), rows)


def _top_key(key: Key, definitions: Schema, mappings: Mapping[str, str]) -> Iterator[list[str]]:
    yield [f"### `{key.name}`"]
    yield [prose(key.about)]
    if key.name in examples.TOGETHER:
        for language, text in examples.TOGETHER[key.name]:
            yield fenced(language, text)
    else:
        yield fenced("yaml", examples.TOP[key.name])
    if key.name in TOP_ITEMS:
        yield _details(keys_of(definitions[TOP_ITEMS[key.name]]), mappings)
    elif key.name in SECTIONS:
        yield [f"[All keys of {_lower(SECTIONS[key.name].title)}]({slug(SECTIONS[key.name])}.md)"]


# The page of a kind.

NESTED = (
    "OtherOwner", "Placement", "StreamSource", "External", "SourceConsumer", "SubjectTransform", "Republish", "ConsumerLimits",
    "PartitioningFilter", "MemberMapping",
)  # fmt: skip


def _kind(kind: Kind, schema: Schema) -> str:
    definitions = schema["$defs"]
    own = definitions[kind.name]
    inside = {name: f"[mapping](#{where})" for name, where in _anchors(own, definitions).items()}
    mappings = {**_resources(), "Consent": "[mapping](index.md#consent)", **inside}
    keys = [one for one in keys_of(own) if one.name not in TERMS]
    return page(
        [f"# {kind.title}"],
        [f"{prose(own['description'])} {kind.title} stand in {_place(kind)}, each under its name."],
        fenced("yaml", examples.KINDS[kind.name]),
        [_ABOUT[kind.name]] if kind.name in _ABOUT else [],
        _overview(keys, mappings),
        [f"Beside these stand {', '.join(f'`{name}`' for name in TERMS)}: the [keys of every resource](index.md#keys-of-every-resource)."],
        *(part for key in keys for part in _section(key, mappings)),
        *(part for name in _anchors(own, definitions) for part in _inside(name, own, definitions, mappings)),
    )  # fmt: skip


_ABOUT = {
    "consumer": "What is fixed at creation can still be changed: with consent, the plan deletes the consumer and makes it anew where it "
    "stands. [Replace and move](../../guides/replacing-and-moving.md) tells how.",
    "static_group": "Nothing about a static group changes once it is made: every running member would lose its place. "
    "[Elastic groups](elastic-groups.md) take members and let them go.",
    "elastic_group": "Members come and go; anything else makes the group anew, with consent. [Consumer groups](../../guides/groups.md) "
    "shows how.",
}


def _resources() -> dict[str, str]:
    """What resources of each kind are called, with their page."""
    return {kind.name: f"[{_lower(kind.title)}]({slug(kind)}.md)" for kind in REGISTRY.kinds}


def _lower(title: str) -> str:
    """Within a sentence: `streams`, `KV buckets`."""
    return title if title[:2].isupper() else title[0].lower() + title[1:]


def _anchors(own: Schema, definitions: Schema) -> dict[str, str]:
    """Mappings inside this one, with the anchor of the heading above their keys."""
    return {name: anchor(_title(name, own, definitions)) for name in _nested(own, definitions)}


def _nested(own: Schema, definitions: Schema) -> list[str]:
    found: list[str] = []
    asked = [*own["properties"].values()]
    while asked:
        for name in sorted(_references(asked.pop(0)), key=NESTED.index):
            if name not in found:
                found.append(name)
                asked += definitions[name]["properties"].values()
    return found


def _references(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(_references, schema))
    if not isinstance(schema, Mapping):
        return set()
    own = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
    inside = (_references(schema.get(word)) for word in ("anyOf", "items", "additionalProperties"))
    return (own.union(*inside)) & {*NESTED}


def _title(name: str, own: Schema, definitions: Schema) -> str:
    """`Keys of mirror and sources`"""
    holders = [own, *(definitions[other] for other in NESTED)]
    named = dict.fromkeys(
        key for holder in holders for key, below in holder["properties"].items() if name in _references(below)
    )
    its_own = (
        " beside a stream's other keys" if name == "OtherOwner" else ""
    )  # the `external` of a mirror is another one
    return f"Keys of {' and '.join(f'`{key}`' for key in named)}{its_own}"


def _inside(name: str, own: Schema, definitions: Schema, mappings: Mapping[str, str]) -> Iterator[list[str]]:
    yield [f"## {_title(name, own, definitions)}"]
    yield [prose(definitions[name]["description"])]
    if name in examples.INSIDE and (own is definitions["stream"] or "groups" in examples.INSIDE[name]):
        yield fenced("yaml", examples.INSIDE[name])
    yield _details(keys_of(definitions[name]), mappings)


# What all pages are made of.


def _overview(keys: Iterable[Key], mappings: Mapping[str, str]) -> list[str]:
    rows = ((f"[`{key.name}`](#{key.name})", value(key.schema, mappings), _left_out(key)) for key in keys)
    return table(("key", "value", "left out"), rows)


def _left_out(key: Key) -> str:
    return prose(key.left_out) or "must be there"


def _section(key: Key, mappings: Mapping[str, str]) -> Iterator[list[str]]:
    yield [f"### `{key.name}`"]
    yield [prose(key.about)]
    facts = {
        "Value": value(key.schema, mappings),
        "Left out": _left_out(key),
        "Since": key.since,
        "Updates": with_rules(prose(key.updates), RULES),
    }
    yield [f"* {word}: {said}" for word, said in facts.items() if said]


def _details(keys: Iterable[Key], mappings: Mapping[str, str]) -> list[str]:
    rows = (
        (f"`{key.name}`", f"{prose(key.about)} {f'Since {key.since}.' if key.since else ''}", value(key.schema, mappings), _left_out(key))
        for key in keys
    )  # fmt: skip
    return table(("key", "", "value", "left out"), rows)


# The page of fleet.yaml.


def _fleet(schema: Schema) -> str:
    target = schema["$defs"]["TargetSpec"]
    mappings = {"TargetSpec": "[target](#keys-of-a-target)"}
    top, keys = keys_of(schema), keys_of(target)
    return page(
        ["# Fleet files"],
        [
            "A fleet file names accounts that are looked at together, and what each of them is to hold. `reconciler fleet` reads it."
        ],
        fenced('yaml title="fleet.yaml"', examples.FLEET),
        [
            "No secret may stand in it: `env://NAME` and `file://PATH` say where a login is, and whoever connects looks it up.",
            "Paths are those from where the file is.",
        ],
        ["## Keys at the top level of the file"],
        _details(top, mappings),
        ["## Keys of a target"],
        ["A target that names its `context`, its `server` or a login does not get that of the defaults as well."],
        _details([_of_text(key) for key in keys], mappings),
    )


def _of_text(key: Key) -> Key:
    """Where a secret is stands there as text; the schema takes anything, so that nothing repeats a secret as wrong."""
    return key if {"type", "anyOf"} & key.schema.keys() else replace(key, schema={"type": "string"})
