"""Every code that can be printed has a page."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import PAGES, SITE, page

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


def explained(code: str) -> str:
    command = [sys.executable, "-m", "reconciler", "explain", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_explain_prints_a_page_and_what_to_do() -> None:
    said = explained("na101")
    assert said.startswith("NA101 unreachable\n") and "Instead: check the address" in said


@pytest.mark.parametrize("code", ["NA101", "ST101", "KV501"])
def test_explain_ends_with_the_address_of_the_page(code: str) -> None:
    assert explained(code).splitlines()[-1] == f"Read more: {SITE}/reference/rules/{code}/"


def test_the_package_names_the_documentation_that_links_lead_to() -> None:
    package = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    site = YAML(typ="safe", pure=True).load(SOURCE.parent / "mkdocs.yml")
    assert (package["project"]["urls"]["Documentation"], site["site_url"]) == (SITE, f"{SITE}/")
