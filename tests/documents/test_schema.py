"""Editors and `load` agree about what a topology file may hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.documents.parse.plain_values import Plain
from reconciler.documents.parse.shape import ANYTHING
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.schema.topology import topology_schema, topology_text
from reconciler.kinds import REGISTRY as REAL
from tests.documents.kinds import REGISTRY
from tests.documents.reading import HEAD, STREAM, Folder

SCHEMA = topology_schema(REGISTRY)
IN_EDITORS = Draft202012Validator(json.loads(topology_text(REGISTRY)))
REAL_IN_EDITORS = Draft202012Validator(json.loads(topology_text(REAL)))

GOOD = [
    HEAD,
    HEAD + "streams:\n  A:\n  B: {max_age: 7d, num_replicas: 3, subjects: }\nkv_buckets: {C: {history: 5}}\n",
    HEAD + "streams: {A: {placement: , mirror: , metadata: }}\n",
    STREAM + "    consumers: {c: {ack_wait: 30s}}\n    groups: {g: {type: elastic, max_members: 2}}\n",
    HEAD + "removed: [{address: stream/OLD, reason: moved, until: 2026-12-31}]\nforget: [consumer/A/b]\n",
    HEAD + "removed: [{on: 'stream/OLD_*', upto: 4, reason: r}]\nforget: [consumer/A/b, {on: team=a, upto: 1}]\n",
    HEAD
    + 'parameters: {a: {}, most: {type: number, default: 2}}\nforget: ["${a}", {on: "team=${a}", upto: "${most}"}]\n',
    STREAM + "    allow: [{code: ST101, to: memory, reason: cache, upto: {messages: 1000}}]\n",
]
BAD = [
    HEAD + "stream: {}\n",
    HEAD + "streams: {A: {max_age: 7 fortnights}}\n",
    HEAD + "streams: {A: {subjectz: []}}\n",
    HEAD + "streams: {A: {storage: files}}\n",
    HEAD + "streams: {A: {storage: null}}\n",
    HEAD + "streams: {A: {sources: [{}]}}\n",
    HEAD + "streams: {A: {sources: [null]}}\n",
    HEAD + "streams: {A: {groups: {g: {max_members: 1}}}}\n",
    HEAD + "streams: {A: {groups: {g: {type: static, partitioning_filters: []}}}}\n",
    HEAD + "streams: {a/b: {}}\n",
    HEAD + "forget: [strem/A]\n",
    HEAD + "forget: [{on: team=a}]\n",
    HEAD + "removed: [{on: 'stream/OLD_*', reason: r}]\n",
    HEAD + "removed: [{on: 'stream/OLD_*', address: stream/OLD_1, upto: 1, reason: r}]\n",
    "reconciler: 2\ntopology: t\n",
]


def plain(text: str) -> Any:
    root, _problems = read_tree("", text)
    assert root is not None
    return Plain().value(root, ANYTHING)


@pytest.mark.parametrize("registry", [REGISTRY, REAL], ids=["small kinds", "real kinds"])
def test_the_schema_is_a_schema(registry: Any) -> None:
    Draft202012Validator.check_schema(json.loads(topology_text(registry)))


@pytest.mark.parametrize("text", GOOD)
def test_what_loads_is_good_in_an_editor(folder: Folder, text: str) -> None:
    folder.topology(text.replace("{a: {}", "{a: {default: stream/A}"))
    assert [error.message for error in IN_EDITORS.iter_errors(plain(text))] == []


@pytest.mark.parametrize("text", BAD)
def test_what_is_refused_is_marked_in_an_editor(folder: Folder, text: str) -> None:
    assert folder.problems(text)
    assert not IN_EDITORS.is_valid(plain(text))


def test_fields_are_explained_by_their_docstrings() -> None:
    assert SCHEMA["$defs"]["stream"]["properties"]["subjects"]["description"] == "Subjects stored here."


def test_no_key_hides_what_it_says_behind_a_union_with_nothing() -> None:
    """Editors show the descriptions of the parts of a union, and not that of its key."""
    assert '"anyOf"' not in json.dumps(topology_schema(REAL))


def test_a_group_begins_with_its_type() -> None:
    assert next(iter(SCHEMA["$defs"]["elastic_group"]["properties"])) == "type"
    assert SCHEMA["$defs"]["elastic_group"]["required"] == ["type", "max_members"]


def test_a_parameter_may_stand_for_every_value_but_not_for_the_version_or_a_type() -> None:
    streams = dict.fromkeys(topology_schema(REAL)["$defs"]["stream"]["properties"], "${x}")
    wrong = REAL_IN_EDITORS.iter_errors({"streams": {"${region}": streams}, "expect": "${x}", "reconciler": "${x}"})
    assert [error.json_path for error in wrong] == ["$.reconciler"]


@pytest.mark.parametrize("value", ["files", "$(x)", "${}", "$x"])
def test_what_is_no_parameter_is_still_marked(value: str) -> None:
    assert not REAL_IN_EDITORS.is_valid({"streams": {"A": {"storage": value}}})
    assert not REAL_IN_EDITORS.is_valid({"streams": {"A": {"max_msgs": value}}})
