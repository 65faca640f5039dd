"""Commands that need no server: validate, explain, schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reconciler.cli.shared.schemas import SCHEMAS
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


@pytest.mark.parametrize("output", [(), ("-o", "out.yaml")])
def test_an_import_that_can_read_nothing_writes_nothing(shell: Shell, output: tuple[str, ...]) -> None:
    file = shell.write('resource "jetstream_stream" "orders" {}\n', "main.tf")
    ran = shell("import", file, *output)
    assert (ran.code, ran.out, (shell.folder / "out.yaml").exists()) == (1, "", False)
    assert ran.err.endswith("Instead: give what `terraform state pull` prints\n1 error\n")


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


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_holds_what_it_refers_to(name: str) -> None:
    text = SCHEMAS[name]()
    held = {part.get("$id") for part in json.loads(text).get("$defs", {}).values()}
    assert set(re.findall(r'"\$ref": "([^"#]+)"', text)) <= held


def test_the_published_schemas_are_up_to_date(shell: Shell, tmp_path: Path) -> None:
    ran = shell("schema", "--write", "new")
    written = {path.name: path.read_text() for path in (tmp_path / "new").iterdir()}
    published = {path.name: path.read_text() for path in (ROOT / "schemas").glob("*.json")}
    assert (ran.code, ran.out) == (0, "")
    assert written == published, "run: reconciler schema --write schemas"


@pytest.mark.parametrize(("version", "how"), [("2.10.1", "older"), ("2.16", "newer"), ("2.11", ""), ("2.15.3", "")])
def test_files_are_judged_for_a_version_that_no_rule_was_measured_on_with_a_warning(
    shell: Shell, version: str, how: str
) -> None:
    file = shell.write(f"reconciler: 1\ntopology: t\nexpect: {{min_server: '{version}'}}\nstreams: {{S: {{}}}}\n")
    for arguments in (("validate", file), ("validate", "--for-server", version, file)):
        ran = shell(*arguments)
        assert ran.code == 0, ran
        said = f"XX114: nats-server {version} is {how} than the versions known here"
        assert (said in " ".join(ran.out.split())) is bool(how), ran
        assert ("XX114" in ran.out) is bool(how)


def test_schema_prints_what_editors_read(shell: Shell) -> None:
    assert "streams" in json.loads(shell("schema").out)["properties"]
    assert "steps" in json.loads(shell("schema", "plan").out)["properties"]


def test_a_page_names_its_own_code_to_copy(shell: Shell) -> None:
    assert "`allow: [{code: KV301, to: …, reason: …}]`" in shell("explain", "KV301").out


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_published_schema_is_printed_by_its_name(shell: Shell, name: str) -> None:
    assert shell("schema", name).out == (ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "warns"),
    [
        ("stream/OLD", "stream/NEW", True),
        ("kv_bucket/OLD", "kv_bucket/B", True),
        ("consumer/NEW/old", "consumer/NEW/c", False),
        ("consumer/OLD/c", "consumer/NEW/c", True),
        ("topology/u", "topology/t", False),
    ],
)
def test_validate_warns_of_what_no_server_renames(shell: Shell, old: str, new: str, warns: bool) -> None:
    declared = "streams: {NEW: {subjects: [a], consumers: {c: {}}}}\nkv_buckets: {B: {}}\n"
    file = shell.write(f"reconciler: 1\ntopology: t\n{declared}moved: [{{from: {old}, to: {new}, reason: shorter}}]\n")
    ran = shell("validate", file)
    assert (ran.code, f"warning XX110 {new}: no server gives {old} the name of {new}" in ran.out) == (0, warns), ran
