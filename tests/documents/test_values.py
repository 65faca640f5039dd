"""`${name}` in a file: filled where a value is given, complained about where none is, left alone where it is only text."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.documents.read.files import DISK
from reconciler.documents.read.load import Loaded, load
from reconciler.documents.read.values import Filled, filled
from reconciler.documents.write.write import dump
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Address


def loaded(folder: Path, text: str, **values: str) -> Loaded:
    file = folder / "t.yaml"
    file.write_text(f"reconciler: 1\ntopology: t\n{text}", encoding="utf-8")
    return load([file], REGISTRY, Filled(DISK, values))


def test_values_stand_in_names_lists_and_numbers(tmp_path: Path) -> None:
    text = "streams:\n  ORDERS_${region}: {subjects: [${region}.orders.>], max_msgs: ${most}}\n"
    topology = loaded(tmp_path, text, region="eu", most="1_000").topology
    assert topology is not None
    one = topology.resources[0]
    assert (one.address, one.spec.model_dump(exclude_unset=True)) == (
        Address.of("stream", "ORDERS_eu"), {"subjects": ("eu.orders.>",), "max_msgs": 1000},
    )  # fmt: skip


def test_an_unknown_name_is_told_at_its_place_with_the_one_that_was_meant(tmp_path: Path) -> None:
    found = loaded(tmp_path, "streams:\n  S: {subjects: [${regoin}.>]}\n", region="eu").diagnostics
    assert [(str(one.span).rpartition("/")[2], one.code) for one in found] == [("t.yaml:4:18", "XX515")]
    assert "`${regoin}` has no value; did you mean `region`?" in found[0].message


def test_every_unknown_name_is_told_at_once(tmp_path: Path) -> None:
    found = loaded(tmp_path, "streams:\n  ${a}: {}\n  ${b}: {}\n").diagnostics
    assert [one.message for one in found] == ["`${a}` has no value", "`${b}` has no value"]


@pytest.mark.parametrize(
    "comment",
    ["# ${nobody}", "a: 1 # ${nobody}", "a: 'it''s' # ${nobody}", 'a: "b \\" c" # ${nobody}', "a: 1\t# ${nobody}"],
)
def test_comments_mean_nothing(comment: str) -> None:
    assert filled("f", comment, {}) == (comment, [])


@pytest.mark.parametrize("text", ["a: 'x # ${name}'", 'a: "x # ${name}"', "a: x#${name}", "a#b: ${name}"])
def test_a_hash_within_text_begins_no_comment(text: str) -> None:
    assert filled("f", text, {"name": "v"}) == (text.replace("${name}", "v"), [])


def test_a_doubled_dollar_is_the_text_itself() -> None:
    assert (
        filled("f", "a: $${name} $$${name} $5 {{wildcard(1)}} ${}", {})[0]
        == "a: ${name} $${name} $5 {{wildcard(1)}} ${}"
    )


def test_a_value_of_several_lines_is_refused() -> None:
    _, problems = filled("f", "a: ${x}", {"x": "1\nb: 2"})
    assert "contains a line break" in problems[0].message


@pytest.mark.parametrize("text", ["${name}", "$${name}", "a ${x} b $${y}", "$ {name}", "${"])
def test_what_is_written_is_read_back(tmp_path: Path, text: str) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(dump("t", {"streams": {"S": {"description": text}}}), encoding="utf-8")
    topology = load([file], REGISTRY).topology
    assert topology is not None
    assert topology.resources[0].spec.model_dump(exclude_unset=True) == {"description": text}
