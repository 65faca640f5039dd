"""What clients feel, on the page of a rehearsal: read from a phone, in the dark, and by whoever looks for what went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.page import Page
from tests.browser.test_page import CONTRAST, opened
from tests.golden.test_golden import folder
from tests.golden.test_probe import document

__all__ = ["folder"]

ROWS = "document.querySelector('#part-0 .grid').querySelectorAll('tbody tr')"


def test_a_row_says_object_operation_before_after_and_code(browser: Page, folder: Path) -> None:
    page = opened(browser, document(folder), folder)
    assert page.says("[...document.querySelectorAll('#part-0 thead th')].slice(0, 5).map(e => e.textContent)") == [
        "object", "operation", "before", "after", "foretold by",
    ]  # fmt: skip
    cells = page.says(f"[...{ROWS}].map(row => [...row.children].map(cell => cell.innerText.split('\\n')[0]))")
    assert cells[0] == ["stream/ORDERS", "get by sequence", "messages 3", "nothing listens there", "NOT FORETOLD"]
    assert ["stream/ORDERS", "publish large", "stored in ORDERS", "refused 10054", "ST601"] in cells
    assert (page.complaints, len(page.requests)) == ([], 1)


def test_what_was_not_foretold_stands_out_and_in_words(browser: Page, folder: Path) -> None:
    page = opened(browser, document(folder), folder)
    colours = page.says(f"[...{ROWS}].map(row => getComputedStyle(row.lastElementChild).color)")
    assert colours[0] not in colours[1:]
    assert page.says("document.querySelector('#part-0 .verdict.blocks').textContent").startswith(
        "The probe failed: 1 difference"
    )


def test_operations_that_differ_alike_unfold(browser: Page, folder: Path) -> None:
    page = opened(browser, document(folder), folder)
    page.says("document.querySelector('#part-0 td details summary').focus()")
    page.press("Enter", "\r")
    assert page.says("document.querySelector('#part-0 td details').open")
    assert page.says("document.querySelector('#part-0 td details p').checkVisibility()")


@pytest.mark.parametrize("width", [320, 800])
def test_on_a_small_screen_only_the_table_scrolls(browser: Page, folder: Path, width: int) -> None:
    page = opened(browser, document(folder), folder, width=width)
    page.says("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.says("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(browser: Page, folder: Path, dark: bool) -> None:
    page = opened(browser, document(folder), folder, dark=dark)
    assert page.says(CONTRAST) == []
