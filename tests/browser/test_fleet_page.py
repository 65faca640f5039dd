"""The report about a fleet as readers meet it: in the dark, on a phone, without a network, with hostile names."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.report import report_of
from reconciler.report.formats import FORMATS
from tests.browser.page import Page
from tests.browser.test_page import CONTRAST, COUNT
from tests.report.fleets import everything, hostile, spread
from tests.report.hostile import TRICKS


def opened(browser: Page, found: FleetFindings, folder: Path, **how: object) -> Page:
    file = folder / "fleet.html"
    file.write_text(FORMATS["html"](report_of(found)), encoding="utf-8")
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(file, **how)  # type: ignore[arg-type]
    return browser


def test_it_asks_the_network_for_nothing_and_its_own_policy_lets_all_of_it_through(
    browser: Page, tmp_path: Path
) -> None:
    page = opened(browser, everything(), tmp_path)
    assert page.requests == [(tmp_path / "fleet.html").as_uri()]
    assert page.complaints == []
    assert page.says("getComputedStyle(document.querySelector('.tiles')).display") == "grid"


@pytest.mark.parametrize("trick", [TRICKS[0], TRICKS[-1]])
def test_nothing_that_others_wrote_becomes_markup(browser: Page, tmp_path: Path, trick: str) -> None:
    page = opened(browser, hostile(trick), tmp_path)
    assert (page.complaints, len(page.requests)) == ([], 1)
    assert page.says("document.scripts.length") == 1


def test_what_strayed_is_filtered(browser: Page, tmp_path: Path) -> None:
    page = opened(browser, everything(), tmp_path)
    page.press("/")
    page.type("us-2 max_age")
    assert page.says(COUNT) == "1 of 7 shown"


@pytest.mark.parametrize("width", [360, 800])
def test_on_a_small_screen_nothing_sticks_out(browser: Page, tmp_path: Path, width: int) -> None:
    for found in (everything(), spread()):
        page = opened(browser, found, tmp_path, width=width)
        page.says("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.says("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(browser: Page, tmp_path: Path, dark: bool) -> None:
    assert opened(browser, everything(), tmp_path, dark=dark).says(CONTRAST) == []
