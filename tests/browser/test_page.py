"""The HTML of a plan as readers meet it: by keyboard, in the dark, on a phone, without a network, with hostile names."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from reconciler.model.code_pages import rule_url
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from tests.browser.page import Page
from tests.golden.test_formats import showcase
from tests.golden.test_golden import folder
from tests.report.hostile import TRICKS, hostile, many
from tests.site.place import DOCS

__all__ = ["folder"]

COUNT = "document.getElementById('count').textContent"
SHOWN = "document.querySelectorAll('.change:not([hidden])').length"
FOCUSED = "document.activeElement.closest('details')?.id ?? document.activeElement.id"
OTHER_CELLS = """
(async (texts) => {
  const [one, other] = await Promise.all(texts.map(async (text) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + text;
    await image.decode();
    const context = new OffscreenCanvas(48, 60).getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, 48, 60);
    return context.getImageData(0, 0, 48, 60).data;
  }));
  const cells = [...Array(48 * 60).keys()];
  const differ = (cell) => [0, 1, 2].some((i) => Math.abs(one[4 * cell + i] - other[4 * cell + i]) > 24);
  return cells.filter(differ).length / cells.length;
})(%s)
"""


@pytest.fixture
def page(browser: Page, folder: Path) -> Page:
    """The showcase, opened by somebody with a light screen."""
    return opened(browser, showcase(folder), folder)


def opened(browser: Page, document: Document, folder: Path, **how: object) -> Page:
    file = folder / "plan.html"
    file.write_text(FORMATS["html"](document), encoding="utf-8")
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(file, **how)  # type: ignore[arg-type]
    return browser


def test_it_asks_the_network_for_nothing_and_the_browser_has_no_complaint(page: Page, folder: Path) -> None:
    assert page.requests == [(folder / "plan.html").as_uri()]
    assert page.complaints == []


@pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
def test_nothing_that_others_wrote_becomes_markup(browser: Page, folder: Path, trick: str) -> None:
    page = opened(browser, hostile(trick), folder)
    assert page.complaints == []
    assert len(page.requests) == 1
    assert page.says("document.scripts.length") == 1
    assert page.says("document.querySelectorAll('img, iframe, object, embed, link, form, base').length") == 0
    outside = page.says(
        "[...document.querySelectorAll('a')].map(a => a.getAttribute('href')).filter(a => a[0] !== '#')"
    )
    assert set(outside) <= {rule_url(code) for code in ("ST101", "ST302", "ST303", "ST601", "XX302")}
    assert page.says(SHOWN) == 6


def test_a_slash_leads_to_the_filter_and_escape_shows_everything_again(page: Page) -> None:
    page.press("/")
    assert page.says(FOCUSED) == "filter"
    page.type("billing members")
    assert page.says(COUNT) == "1 of 14 shown"
    page.press("Escape")
    assert page.says(COUNT) == "14 of 14 shown"


def test_what_nothing_fits_says_so(page: Page) -> None:
    page.press("/")
    page.type("no such thing")
    assert page.says("document.getElementById('none').checkVisibility()")


def test_a_kind_of_change_is_chosen_with_the_keyboard(page: Page) -> None:
    page.says("document.querySelector('[data-section=create]').focus()")
    page.press(" ")
    assert (
        page.says("[...document.querySelectorAll('.change:not([hidden]) .word')].map(e => e.textContent)[0]")
        == "created"
    )
    assert page.says("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.says(SHOWN) == 4


def test_the_tab_key_reaches_a_change_and_enter_opens_it(page: Page) -> None:
    page.says("document.querySelector('[data-section=update] summary').focus()")
    page.press("Tab")
    assert page.says("document.activeElement.tagName") == "SUMMARY"
    was_open = page.says("document.activeElement.parentElement.open")
    page.press("Enter", "\r")
    assert page.says("document.activeElement.parentElement.open") is not was_open


def test_a_card_of_the_drawing_leads_to_its_change(page: Page) -> None:
    page.says("""new Promise((done) => {
        addEventListener("hashchange", () => done(true), { once: true });
        document.querySelector("svg .reader a[href]").dispatchEvent(new MouseEvent("click", { bubbles: true }));
    })""")
    assert page.says("document.activeElement.closest('details').open")
    assert page.says("location.hash.slice(1)") == page.says(FOCUSED)


def test_without_scripts_everything_is_there_to_be_read(browser: Page, folder: Path) -> None:
    page = opened(browser, showcase(folder), folder)
    page("Emulation.setScriptExecutionDisabled", value=True)
    page.load("Page.reload")
    nodes = page("DOM.getDocument", depth=0)["root"]["nodeId"]
    assert len(page("DOM.querySelectorAll", nodeId=nodes, selector=".change:not([hidden])")["nodeIds"]) == 14
    assert len(page("DOM.querySelectorAll", nodeId=nodes, selector="#controls[hidden]")["nodeIds"]) == 1


@pytest.mark.parametrize("width", [320, 480, 800])
def test_on_a_small_screen_nothing_sticks_out(browser: Page, folder: Path, width: int) -> None:
    page = opened(browser, showcase(folder), folder, width=width)
    page.says("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.says("document.documentElement.scrollWidth") <= width


CONTRAST = """
(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255, c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  document.querySelectorAll('details').forEach((one) => { one.open = true; });
  const poor = new Set();
  let seen = 0;
  for (const e of document.querySelectorAll('body *:not(svg *):not(script):not(option)')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    seen += 1;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.add(`${e.tagName}.${e.className}: ${ratio.toFixed(2)}`);
  }
  return seen > 50 ? [...poor] : [`only ${seen} texts were looked at`];
})()
"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_text_stands_out_from_what_is_behind_it(browser: Page, folder: Path, dark: bool) -> None:
    page = opened(browser, showcase(folder), folder, dark=dark)
    assert page.says(CONTRAST) == []


def test_in_the_dark_the_page_is_dark(browser: Page, folder: Path) -> None:
    page = opened(browser, showcase(folder), folder, dark=True)
    assert page.says("getComputedStyle(document.body).backgroundColor") == "rgb(14, 18, 23)"


def test_two_thousand_changes_are_filtered_while_one_types(browser: Page, folder: Path) -> None:
    page = opened(browser, Document(topology="orders", plan=many(2_000)), folder)
    page.press("/")
    took = page.says("""Math.min(...['S0', 'S01', 'S019', 'S0199', 'S01999'].map((typed) => {
        const began = performance.now(); const box = document.getElementById('filter');
        box.value = typed; box.dispatchEvent(new Event('input')); return performance.now() - began }))""")
    assert page.says(COUNT) == "1 of 2000 shown"
    assert took < 1_000


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_pictures_in_the_repository_are_of_this_page(
    browser: Page, folder: Path, dark: bool, update_golden: bool
) -> None:
    """Fonts differ from machine to machine, so both are compared as small as a stamp: where something is, and how dark."""
    page = opened(browser, showcase(folder), folder, height=1_500, dark=dark)
    picture, path = page.picture(), DOCS / "images" / ("report-dark.png" if dark else "report.png")
    if update_golden:
        path.write_bytes(picture)
    blank = folder / "blank.html"  # the page itself allows no picture
    blank.write_text("<!doctype html>", encoding="utf-8")
    page.open(blank)
    pair = json.dumps([base64.b64encode(one).decode() for one in (picture, path.read_bytes())])
    other = page.says(OTHER_CELLS % pair)
    assert other < 0.08  # another font: up to 0.01; another document: from 0.1
