"""Whoever hovers over a key in an editor reads what it is, how to write it, what leaving it out means, since when, and what updates do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.documents.schema.for_editors import LEFT_OUT, SINCE, UPDATES, WRITE, FieldText, split_field_description
from reconciler.documents.schema.topology import topology_schema
from reconciler.fleet.accounts.fleet_file import fleet_file_schema
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import page
from reconciler.model.wire.version import SUPPORTED

TOPOLOGY, FLEET = topology_schema(REGISTRY), fleet_file_schema()


class Key(NamedTuple):
    """A property, wherever it stands in a schema."""

    path: str
    schema: dict[str, Any]
    required: bool

    @property
    def lines(self) -> list[str]:
        """Of its description."""
        return str(self.schema.get("description", "")).split("\n")

    def says(self, beginning: str) -> list[str]:
        """Its lines that begin so."""
        return [line for line in self.lines if line.startswith(beginning)]


def keys(schema: Any, path: str = "") -> Iterator[Key]:
    """Every property of a schema, in definitions, in properties and in the parts of unions."""
    if isinstance(schema, list):
        for part in schema:
            yield from keys(part, path)
    elif isinstance(schema, Mapping):
        for name, below in schema.get("properties", {}).items():
            yield Key(f"{path}.{name}", below, name in schema.get("required", ()))
            yield from keys(below, f"{path}.{name}")
        for name, below in schema.get("$defs", {}).items():
            yield from keys(below, name)
        for word in ("anyOf", "oneOf", "items", "additionalProperties"):
            yield from keys(schema.get(word), path)


ALL = [*keys(TOPOLOGY), *keys(FLEET)]
BY_PATH = {key.path: key for key in ALL}
FAMILY = {kind.name: kind.family for kind in REGISTRY.kinds}


def test_the_walk_finds_what_lies_deep() -> None:
    paths = {key.path for key in ALL}
    assert {"stream.max_age", "StreamSource.external", "stream.groups.type", ".expect", "TargetSpec.labels"} <= paths


def test_every_key_says_what_it_is_in_sentences() -> None:
    assert [key.path for key in ALL if not re.fullmatch(r"(?!Write |Left out: )[A-Z`].*[.]", key.lines[0])] == []


def test_every_key_says_what_leaving_it_out_means_unless_it_must_stand_there() -> None:
    assert [key.path for key in ALL if len(key.says(LEFT_OUT)) != (not key.required)] == []


DEFINITIONS = {**TOPOLOGY["$defs"], **FLEET["$defs"]}


def takes(schema: dict[str, Any], text: str) -> bool:
    """Could this text stand there, and not just any text?"""
    accepts = Draft202012Validator({**schema, "$defs": DEFINITIONS}).is_valid
    return (accepts(text) or accepts([text])) and not (accepts("7x") or accepts(["7x"]))


@pytest.mark.parametrize("example", ["7d", "20GiB"])
def test_every_duration_and_size_says_how_to_write_it(example: str) -> None:
    with_unit = {key.path for key in ALL if takes(key.schema, example)}
    assert with_unit & {"stream.max_age", "stream.max_bytes"}
    assert with_unit == {key.path for key in ALL if any(example in line for line in key.says(WRITE))}


FIELDS = [
    (f"{kind.name}.{name}", info)
    for kind in REGISTRY.kinds
    for name, info in kind.fields.items()
    if name in kind.spec.model_fields
]
INSIDE = [
    (f"{model}.{name}", REGISTRY[kind].fields[field].nested[name])
    for kind, field, model in (
        ("stream", "placement", "Placement"), ("stream", "mirror", "StreamSource"), ("stream", "republish", "Republish"),
        ("stream", "consumer_limits", "ConsumerLimits"), ("stream", "subject_transform", "SubjectTransform"),
        ("elastic_group", "member_mappings", "MemberMapping"),
        ("elastic_group", "partitioning_filters", "PartitioningFilter"),
    )
    for name in REGISTRY[kind].fields[field].nested
]  # fmt: skip


def test_every_field_says_what_updates_may_do() -> None:
    wrong = []
    for path, info in (*FIELDS, *INSIDE):
        (line,) = BY_PATH[path].says(UPDATES)
        own = path in ("stream.first_seq", "consumer.pause_until")  # said in other words below the field
        rules = [f"{FAMILY[path.split('.')[0]]}{number}" for number in info.rules]
        if not (own or (info.updatability or "any change") in line or path[0].isupper()):
            wrong.append(path)
        if re.findall(r"[A-Z]{2}\d{3}", line) != rules:
            wrong.append(path)
    assert wrong == []


def test_every_field_that_some_supported_server_lacks_says_since_when() -> None:
    young = {path: info.since.short for path, info in (*FIELDS, *INSIDE) if info.since and info.since > SUPPORTED[0]}
    assert {"stream.allow_msg_counter", "StreamSource.consumer"} <= young.keys()
    said_of = {key.path: line for key in ALL for line in key.says(SINCE)}
    assert said_of == {path: f"{SINCE}{since}." for path, since in young.items()}


def test_every_plain_default_is_one_for_tools_too() -> None:
    plain = {path: info.default for path, info in (*FIELDS, *INSIDE) if info.default is not None}
    assert {path: BY_PATH[path].schema.get("default") for path in plain} == plain


def test_values_younger_than_their_field_say_since_when() -> None:
    young = {path: info.values_since for path, info in FIELDS if info.values_since}
    assert young.keys() == {"consumer.ack_policy", "consumer.priority_policy"}
    for path, values in young.items():
        assert {f"`{value}` since nats-server {since.short}." for value, since in values.items()} <= {
            *BY_PATH[path].lines
        }


def test_what_a_kind_says_beside_its_fields_never_reaches_a_server() -> None:
    fields, sections = {path for path, _ in FIELDS}, {"type", "consumers", "groups"}
    ours = [
        key
        for key in ALL
        if key.path.split(".")[0] in REGISTRY.by_name
        and key.path not in fields
        and key.path.split(".")[-1] not in sections
    ]
    assert len(ours) == 4 * len(REGISTRY.kinds) + 1  # protect, labels, unmanaged and allow, and `external` of a stream
    assert [key.path for key in ours if "sent to a server" not in key.lines[0]] == []


def test_every_code_that_is_named_has_a_page() -> None:
    rules = {rule.code for rule in REGISTRY.rules()}
    named = {code for key in ALL for line in key.says(UPDATES) for code in re.findall(r"[A-Z]{2}\d{3}", line)}
    assert "ST301" in named
    assert [code for code in sorted(named - rules) if page(code) is None] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_of_what_commands_print_is_described(name: str) -> None:
    assert [key.path for key in keys(json.loads(SCHEMAS[name]())) if not key.lines[0].endswith(".")] == []


def test_a_text_below_a_field_has_three_parts() -> None:
    text = "What it is. And more. Left out: 2m, or less. Updates: any change."
    assert split_field_description(text) == FieldText("What it is. And more.", "2m, or less", "any change")
    assert split_field_description("What it is.") == FieldText("What it is.")
