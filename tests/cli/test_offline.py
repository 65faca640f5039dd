"""Commands that need no server: validate, explain, schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES
from tests.cli.running import EXAMPLES, ROOT, TOPOLOGIES, Shell


@pytest.mark.parametrize("example", TOPOLOGIES)
def test_every_example_is_valid(shell: Shell, example: str) -> None:
    ran = shell("validate", str(EXAMPLES / example))
    assert (ran.code, ran.err) == (0, "")
    assert "can be planned" in ran.out


def test_problems_are_the_product_of_validate(shell: Shell) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams:\n  A: {subjectz: [a]}\n")
    ran = shell("validate", file)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("topology.yaml:4:7 error ")
    assert "did you mean `subjects`?" in ran.out
    assert ran.out.endswith("\n1 error\n")


def test_a_file_that_is_not_there_is_said_with_its_name(shell: Shell) -> None:
    ran = shell("validate", "nowhere.yaml")
    assert ran.code == 1
    assert "`nowhere.yaml` does not exist" in ran.out


def test_validate_judges_for_the_version_it_is_told(shell: Shell) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams:\n  A: {subjects: [a], allow_msg_counter: true}\n")
    old, new = shell("validate", file, "--for-server", "2.11"), shell("validate", file, "--for-server", "2.14")
    assert (old.code, new.code) == (1, 0)


def test_wrong_files_stop_a_plan_before_any_server_is_asked(shell: Shell) -> None:
    file = shell.write("topology: t\nstreams: []\n")
    ran = shell("plan", file, "--server", "127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert "topology.yaml:2:10 error" in ran.err


def test_without_a_code_explain_lists_every_rule_once(shell: Shell) -> None:
    lines = shell("explain").out.splitlines()
    assert len(lines) == len(set(lines)) == len(REGISTRY.rules()) + len(PAGES)


def test_a_name_that_no_rule_has_is_found_wherever_it_stands(shell: Shell) -> None:
    assert [line for line in shell("explain", "recreated").out.splitlines() if line.endswith(" recreated")] == [
        "AP201 recreated", "DR204 recreated",
    ]  # fmt: skip


def test_a_rule_is_explained_by_code_and_by_name(shell: Shell) -> None:
    by_code, by_name = shell("explain", "co121"), shell("explain", "priority-policy-switch")
    assert by_code == by_name
    assert by_code.out.startswith("CO121 priority-policy-switch\n\n")


def test_every_rule_has_a_page(shell: Shell) -> None:
    assert [rule.code for rule in REGISTRY.rules() if len(rule.doc) < 40] == []


def test_the_published_schemas_are_up_to_date(shell: Shell, tmp_path: Path) -> None:
    ran = shell("schema", "--write", "new")
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    published = {path.name: path.read_text() for path in (ROOT / "schemas").glob("*.json")}
    assert (ran.code, ran.out) == (0, "")
    assert written == published, "run: reconciler schema --write schemas"


def test_schema_prints_what_editors_read(shell: Shell) -> None:
    assert "streams" in json.loads(shell("schema").out)["properties"]
    assert "steps" in json.loads(shell("schema", "--plan").out)["properties"]
