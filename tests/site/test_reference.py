"""The reference is whole, and what it shows is so: every file on it is valid, and every question gets the answer that stands there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from reconciler.cli.app import COMMANDS
from reconciler.cli.shared import exits
from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.documents.schema.topology import topology_schema
from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.kinds import REGISTRY
from tests.cli.running import Shell
from tests.site import commands, exit_codes, file_examples, files, json_output, scenes
from tests.site.page import blocks, examples
from tests.site.playing import played, stage
from tests.support.servers import running

FILES = files.pages()
JSON = json_output.pages()["reference/json.md"]
TOPOLOGY = topology_schema(REGISTRY)


def lines_of(text: str, beginning: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(beginning)]


@pytest.mark.parametrize("name", FILES)
def test_every_file_on_a_page_about_files_is_valid(name: str, tmp_path: Path) -> None:
    with stage(tmp_path) as here:
        for finding in played(FILES[name], here):
            pytest.fail(f"{name}:{finding.line}: {finding.said}\n" + "\n".join(finding.printed))


def test_the_fleet_file_on_its_page_is_one(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(file_examples.FLEET)
    assert [target.name for target in load_fleet(tmp_path / "fleet.yaml").targets] == ["eu", "us"]


@pytest.mark.parametrize("kind", REGISTRY.kinds, ids=lambda kind: kind.name)
def test_every_key_of_a_kind_has_its_paragraph(kind: Any) -> None:
    text = FILES[f"reference/files/{files.slug(kind)}.md"]
    wanted = [f"### `{name}`" for name in TOPOLOGY["$defs"][kind.name]["properties"] if name not in files.TERMS]
    assert sorted(lines_of(text, "### ")) == sorted(wanted)


def test_every_key_at_the_top_of_a_file_is_shown_in_one() -> None:
    shown = {name: "".join(text for _, text in said) for name, said in file_examples.TOGETHER.items()}
    assert (shown := shown | file_examples.TOP).keys() == TOPOLOGY["properties"].keys()
    assert [name for name, text in shown.items() if f"\n{name}:" not in text] == []


def test_every_key_that_holds_keys_is_shown_in_a_file() -> None:
    held = {*files.NESTED}
    assert held == TOPOLOGY["$defs"].keys() - REGISTRY.by_name.keys() - {*files.TOP_ITEMS.values(), *files.BELOW}
    assert held == file_examples.INSIDE.keys()
    assert file_examples.KINDS.keys() == REGISTRY.by_name.keys()


def test_every_command_and_every_option_is_on_a_page() -> None:
    pages = commands.pages()
    assert {f"reference/commands/{name.split()[0]}.md" for name in COMMANDS} | {"reference/commands.md"} == pages.keys()
    missing = [
        (words, option.opts[0])
        for words, command in commands.every()
        for option in command.params
        if option.param_type_name == "option"
        and f"| `{max(option.opts, key=len)}`" not in pages[f"reference/commands/{words.split()[0]}.md"]
        and option.name not in commands.CONNECTION
    ]
    assert missing == []
    assert [
        name for name in commands.CONNECTION if f"--{name.replace('_', '-')}`" not in pages["reference/commands.md"]
    ] == []


def test_a_default_and_a_variable_are_read_off_the_help() -> None:
    assert commands._parted("How long. [5s] [NATS_TIMEOUT]") == ("How long.", "5s", "NATS_TIMEOUT")
    assert commands._parted("Which. [all cores of this machine]") == ("Which.", "all cores of this machine", "")
    assert commands._parted("No more.") == ("No more.", "", "")


def test_every_exit_code_is_explained() -> None:
    text = exit_codes.pages()["reference/exit-codes.md"]
    assert len(lines_of(text, "| ")) > len(exits.MEANINGS)
    assert [code for code in exits.WORST_FIRST if f"\n| {code} | " not in text] == []
    assert exits.MEANINGS.keys() == {*exits.WORST_FIRST}


def test_every_contract_is_on_the_page_about_json() -> None:
    assert json_output.PRINTED_BY.keys() == SCHEMAS.keys() - {"topology", "fleet"}
    assert [name for name in json_output.PRINTED_BY if f"\n## {name}\n" not in JSON] == []


@pytest.mark.skipif(not shutil.which("jq"), reason="there is no jq here")
def test_every_question_has_the_answer_that_stands_there(tmp_path: Path) -> None:
    with stage(tmp_path) as here:
        for finding in played(JSON, here):
            printed = "\n".join(finding.printed)
            pytest.fail(f"json.md:{finding.line}: {finding.said}\n{printed}")


def test_every_command_with_a_question_prints_what_its_contract_says(tmp_path: Path) -> None:
    shell, checked = Shell(tmp_path), set()
    with running() as server:
        for block in blocks(JSON):
            if block.language == "scene":
                scenes.play(block.text, tmp_path, lambda _context: server.url)
            elif block.title:
                (tmp_path / block.title).write_text(block.text.replace("context: prod", f"server: {server.url}"))
            for example in examples(block) if block.language == "console" else ():
                command = example.command.split(" | ")[0].replace("--context prod", f"--server {server.url}")
                words = command.split()[1:]
                name = contract(words)
                validator(name).validate(json.loads(shell(*words).out))
                checked.add(name)
    assert checked == json_output.QUESTIONS.keys()


def contract(words: list[str]) -> str:
    """What the command of this line follows: of several topologies, that of all of them."""
    if sum(word.endswith(".yaml") for word in words) > 1:
        return "reports"
    (name,) = json_output.schemas_of(words[0]) or json_output.schemas_of(" ".join(words[:2]))
    return name


def validator(name: str) -> Draft202012Validator:
    schemas: Mapping[str, Any] = {other: json.loads(text()) for other, text in SCHEMAS.items()}
    registry = Registry().with_resources(
        (f"{other}.schema.json", Resource.from_contents(schema)) for other, schema in schemas.items()
    )
    return Draft202012Validator(schemas[name], registry=registry)
