"""What is written reads back equal, whatever names and texts it holds, and looks as a person would write it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.documents.parse.plain_values import Plain
from reconciler.documents.parse.shape import ANYTHING
from reconciler.documents.parse.tree import read_tree
from reconciler.documents.write.dump import dump
from tests.documents.reading import Folder

HOSTILE = st.sampled_from([
    "", " ", "on", "Yes", "n", "null", "~", "true", "1", "1_0", "010", "0x1", "1e3", ".inf", "1:30", "2026-01-01", "-", "- a", "?",
    "a: b", "a:", ":a", "a #b", "#", "*.x", "&x", "!x", ">", "|", "%x", "@x", "`x`", "<<", "=", "---", "...", "{a}", "[a]", "a,b",
    "'", '"', "\\", "a\nb", "a\r\n", "\t", "\x00", "\x7f", "\x85", "\u2028", "\ufeff", "\U0001f600", "\ufffe", "é", "k" * 2000,
    "orders.>", "$JS.API.>", "{{wildcard(1)}}",
])  # fmt: skip
TEXT = st.one_of(HOSTILE, st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
SCALAR = st.one_of(
    TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
VALUE = st.recursive(
    SCALAR,
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(TEXT, below, max_size=4)),
    max_leaves=12,
)
SECTIONS = st.dictionaries(TEXT.filter(lambda key: key not in ("reconciler", "topology")), VALUE, max_size=4)


def read(text: str) -> Any:
    root, problems = read_tree("written", text)
    assert root is not None and not problems, (problems, text)
    plain = Plain()
    value = plain.value(root, ANYTHING)
    assert not plain.findings, (plain.findings, text)
    return value


@settings(max_examples=300, deadline=None)
@given(TEXT, SECTIONS)
def test_what_is_written_reads_back_equal(name: str, sections: dict[str, Any]) -> None:
    expected = {"reconciler": 1, "topology": name, **{key: value for key, value in sections.items() if value}}
    assert read(dump(name, sections)) == expected


def test_a_topology_looks_as_a_person_would_write_it() -> None:
    streams = {
        "ORDERS": {
            "subjects": ["orders.>"], "max_age": "7d", "metadata": {"on": "yes"},
            "sources": [{"name": "A", "filter_subject": "a.*"}], "consumers": {"dispatch": {}},
        },
    }  # fmt: skip
    assert dump("orders", {"streams": streams, "kv_buckets": {}}) == (
        "reconciler: 1\n"
        "topology: orders\n"
        "\n"
        "streams:\n"
        "  ORDERS:\n"
        "    subjects: [orders.>]\n"
        "    max_age: 7d\n"
        "    metadata:\n"
        '      "on": "yes"\n'
        "    sources: [{name: A, filter_subject: a.*}]\n"
        "    consumers:\n"
        "      dispatch: {}\n"
    )


def test_what_does_not_fit_a_line_is_written_in_lines() -> None:
    sources = [{"name": "A", "filter_subject": "a" * 60, "subject_transforms": [{"src": "b" * 60, "dest": "c"}]}]
    assert dump("o", {"sources": sources}).split("\n\n")[1] == (
        "sources:\n"
        "  - name: A\n"
        f"    filter_subject: {'a' * 60}\n"
        "    subject_transforms:\n"
        f"      - {{src: {'b' * 60}, dest: c}}\n"
    )


@pytest.mark.parametrize("name", ["on", "1e3", "null", "a b", "{x}", "*"])
def test_hostile_names_load_as_the_same_resources(folder: Folder, name: str) -> None:
    text = dump("orders", {"streams": {name: {"subjects": ["*.a", "yes"], "consumers": {name: {}}}}})
    assert [str(one.address) for one in folder.topology(text).resources] == [
        f"stream/{name}",
        f"consumer/{name}/{name}",
    ]
