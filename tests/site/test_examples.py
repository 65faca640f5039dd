"""Every page of the documentation does what it shows, on a real server: a page that lies fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.generated import is_generated
from tests.site.page import Example, blocks, examples, pages
from tests.site.place import ROOT
from tests.site.playing import played, stage

PLAYED = [path for path in pages(ROOT) if not is_generated(path)]
FOR_THE_READER = (
    "make",
    "git clone",
    "cd",
    "python3 -m venv",
    ". .venv",
    "pipx",
    "uv",
    "uvx",
    "pip",
    "docker",
    "helm",
    "nats",
)
"""What commands in `sh` blocks begin with: programs of the reader's machine, and nothing of ours to run."""


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PLAYED, ids=shown)
def test_every_example_of_the_page_does_what_it_shows(path: Path, tmp_path: Path) -> None:
    with stage(tmp_path) as here:
        for finding in played(path.read_text(encoding="utf-8"), here):
            printed = "\n".join(finding.printed)
            pytest.fail(f"{shown(path)}:{finding.line}: {finding.said}\n{printed}")


@pytest.mark.parametrize("path", PLAYED, ids=shown)
def test_only_what_is_about_the_readers_machine_is_not_run(path: Path) -> None:
    for block in blocks(path.read_text(encoding="utf-8")):
        assert block.language in {"scene", "yaml", "json", "diff", "console", "sh", "text", "python", "toml", "ini"}, (
            block
        )
        if block.language == "sh":
            for line in block.text.splitlines():
                assert line.startswith((*FOR_THE_READER, "#")) or not line.strip(), (
                    f"{shown(path)}:{block.line}: {line}"
                )
        if block.language == "text":
            assert "$ reconciler" not in block.text, f"{shown(path)}:{block.line}: write it as a console block"


def test_a_page_that_lies_is_noticed(tmp_path: Path) -> None:
    with stage(tmp_path) as here:
        said = [
            finding.said for finding in played("```console\n$ reconciler validate nothing.yaml\nFine.\n```\n", here)
        ]
    assert said == ["`reconciler validate nothing.yaml` ended with 1"]


def test_commands_of_a_block_keep_their_output_and_their_end() -> None:
    (block,) = blocks("```console\n$ one \\\n    --two    # exit 3\nsaid\n$ three\n```\n")
    assert list(examples(block)) == [
        Example(command="one --two", code=3, output=("said",), first=3),
        Example(command="three", code=0, output=(), first=5),
    ]
