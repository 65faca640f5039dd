"""The documentation shows files in form: its order of keys, and that of `reconciler fmt`, are one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.documents.write.formatter import in_form
from reconciler.documents.write.order import document_order
from reconciler.kinds import REGISTRY
from tests.site.page import blocks, pages
from tests.site.place import ROOT

ORDER = document_order(REGISTRY)
PAGES = [path for path in pages(ROOT) if "```yaml" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_topology_of_the_page_is_in_form(path: Path) -> None:
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "yaml":
            text = f"{block.text}\n"
            after, problems = in_form(f"{path}:{block.line}", text, ORDER)
            assert after == text, f"{path.name}:{block.line}"
            assert {one.name for one in problems} <= {"other-file"}


def topologies() -> Iterator[tuple[str, str]]:
    for path in (ROOT / "examples").rglob("*.y*ml"):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")
    for path in PAGES:
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.language == "yaml":
                yield f"{path.relative_to(ROOT)}:{block.line}", block.text


@pytest.mark.parametrize("text", [pytest.param(text, id=place) for place, text in topologies()])
def test_other_readers_of_yaml_can_read_every_file(text: str) -> None:
    """Editors show the lines in red that they cannot read."""
    list(YAML(typ="safe", pure=True).load_all(text))


def test_pages_with_topologies_are_found() -> None:
    assert ROOT / "README.md" in PAGES
    assert len(PAGES) > 10
