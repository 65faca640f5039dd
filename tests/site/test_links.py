"""Every link of README and docs/ leads somewhere, on the site and in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.site.page import pages
from tests.site.place import DOCS, ROOT

FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<words>.+)$", re.MULTILINE)
OURS = "https://github.com/example-org/reconciler/blob/main/"
PICTURES = {".png", ".svg"}


def _prose(path: Path) -> str:
    return FENCED.sub("", path.read_text(encoding="utf-8"))


def _anchors(path: Path) -> set[str]:
    """As GitHub and the site both name them: they differ where a heading has two spaces or dashes in a row."""
    plain = (re.sub(r"[^\w\- ]", "", match["words"].lower()) for match in HEADING.finditer(_prose(path)))
    return {words.strip().replace(" ", "-") for words in plain}


def _leads_nowhere(path: Path, target: str) -> str | None:
    if target.startswith(OURS):
        return None if (ROOT / target.removeprefix(OURS)).exists() else "is not in the repository"
    if target.startswith("https://"):
        return None
    file, _, anchor = target.partition("#")
    found = (path.parent / file).resolve() if file else path
    if not found.exists():
        return "does not exist"
    if path.is_relative_to(DOCS) and not found.is_relative_to(DOCS):
        return "is not on the site; link to it on GitHub"
    return "has no such heading" if anchor and anchor not in _anchors(found) else None


@pytest.mark.parametrize("path", pages(ROOT), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(path: Path) -> None:
    wrong = {target: why for target in LINK.findall(_prose(path)) if (why := _leads_nowhere(path, target))}
    assert not wrong


def test_a_link_that_leads_nowhere_is_noticed() -> None:
    index = DOCS / "index.md"
    assert _leads_nowhere(index, "start/no-such-page.md") == "does not exist"
    assert _leads_nowhere(index, "index.md#no-such-heading") == "has no such heading"
    assert _leads_nowhere(index, "../README.md") == "is not on the site; link to it on GitHub"
    assert _leads_nowhere(index, f"{OURS}examples/no-such.yaml") == "is not in the repository"


def test_every_page_has_its_place_in_the_navigation() -> None:
    navigation = str(YAML(typ="safe", pure=True).load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    single = [path.relative_to(DOCS) for path in DOCS.rglob("*.md") if path.parent.name not in {"rules", "commands"}]
    assert not [str(path) for path in single if f"'{path}'" not in navigation]
    assert not [name for name in re.findall(r"'([^']+\.md)'", navigation) if not (DOCS / name).exists()]


def test_the_first_page_is_one_screen_after_another() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200
