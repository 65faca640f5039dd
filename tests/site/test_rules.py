"""Every code has its page where links lead to, and no page is empty where it promises something."""

from __future__ import annotations

import re

import pytest

from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES, SITE, page, rule_url
from tests.agreement.data import measured
from tests.site.place import DOCS
from tests.site.rules import FAMILIES, each_code
from tests.site.rules import pages as made

RULES = sorted(rule.code for rule in REGISTRY.rules())


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return made()


def test_every_code_that_explain_knows_has_a_page_where_links_lead_to(pages: dict[str, str]) -> None:
    codes = [*RULES, *(each for code in PAGES for each in each_code(code))]
    assert [code for code in codes if f"reference/rules/{code}.md" not in pages] == []
    assert {rule_url(code) for code in codes} == {
        f"{SITE}/{path.removesuffix('.md')}/" for path in pages if not path.endswith("index.md")
    }


def test_what_files_share_has_a_page_for_every_family(pages: dict[str, str]) -> None:
    assert [family for family in FAMILIES if f"reference/rules/{family}501.md" not in pages] == []


def test_there_is_no_page_of_a_code_that_is_gone(pages: dict[str, str]) -> None:
    there = {str(path.relative_to(DOCS)) for path in (DOCS / "reference" / "rules").glob("*.md")}
    assert there - pages.keys() == set()


def test_the_index_names_every_page_once(pages: dict[str, str]) -> None:
    linked = re.findall(r"\]\((\w+\.md)\)", pages["reference/rules/index.md"])
    assert sorted(linked) == sorted(path.rpartition("/")[2] for path in pages if not path.endswith("index.md"))


def test_every_rule_has_an_example_a_way_out_and_what_servers_do(pages: dict[str, str]) -> None:
    for code in RULES:
        text = pages[f"reference/rules/{code}.md"]
        assert re.findall(r"^## (.*)", text, re.MULTILINE) == ["Example", "What to do", "What nats-server does"], code
        plan = text.partition("says:\n\n```text\n")[2].partition("```")[0]
        assert f"{code} " in plan, code
        assert "\nInstead: " in text, code
        todo = text.partition("\n## What to do\n")[2].partition("\n## ")[0]
        assert len(re.findall("consent permits|To allow this change|This is a warning", todo)) == 1, code


def test_a_table_has_a_row_for_each_version_or_a_sentence_stands_in_its_place(pages: dict[str, str]) -> None:
    servers = set(measured()["servers"].values())
    for path, text in pages.items():
        said = text.partition("## What nats-server does\n")[2].strip()
        rows = [line.strip("| ").split(" | ") for line in said.splitlines() if re.match(r"\| \d", line)]
        assert path.endswith("index.md") or said, path
        if rows:
            assert {patch for patch, *_ in rows} == servers, path
            assert len(rows[0]) > 1, f"{path}: a table of nothing"


def test_a_page_says_the_name_and_the_meaning_of_its_code(pages: dict[str, str]) -> None:
    for code in ("KV501", "AP102", "GR133", "RV104"):
        other = page(code)
        assert other
        text = pages[f"reference/rules/{code}.md"]
        assert f"# {code} {other.name}\n" in text and f"Instead: {other.instead.split('`')[0]}" in text
