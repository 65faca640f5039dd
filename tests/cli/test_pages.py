"""Every code that can be printed has a page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.cli.help.explain import FAMILIES
from reconciler.kinds import REGISTRY
from reconciler.model.pages import PAGES, page
from reconciler.report.words.reference import book

SOURCE = Path(__file__).parents[2] / "reconciler"
RULES = {rule.code for rule in REGISTRY.rules()}
PRINTED = sorted({
    code for file in SOURCE.rglob("*.py") for code in re.findall(r'"([A-Z]{2}\d{3})"', file.read_text()) if code not in RULES
})  # fmt: skip


@pytest.mark.parametrize("code", PRINTED)
def test_a_code_that_no_rule_gives_has_a_page(code: str) -> None:
    assert page(code) is not None


def test_no_page_hides_a_rule() -> None:
    assert not RULES & {found for code in RULES if (found := code) in PAGES}


def test_codes_of_files_have_one_page_for_every_family() -> None:
    assert page("ST501") == page("CO501") == page("XX501")


def test_the_reference_of_all_rules_is_current() -> None:
    """`make schemas` writes it anew."""
    written = (SOURCE.parent / "schemas" / "rules.md").read_text(encoding="utf-8")
    assert written == book(sorted(REGISTRY.rules(), key=lambda rule: rule.code), FAMILIES)


def test_the_reference_has_a_section_for_every_rule_and_a_line_for_every_other_code() -> None:
    text = book(sorted(REGISTRY.rules(), key=lambda rule: rule.code), FAMILIES)
    assert [code for code in RULES if f"### {code} " not in text] == []
    assert [code for code in PAGES if f"| {code} |" not in text] == []


def test_explain_prints_a_page_and_what_to_do() -> None:
    command = [sys.executable, "-m", "reconciler", "explain", "na101"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith("NA101 unreachable\n") and "Instead: check the address" in said
