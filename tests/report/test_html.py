"""The page as text: well formed, self-contained, bound to its own style and script. A browser reads it in tests/browser."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import pytest

from reconciler.changes.change import Action, Consequence
from reconciler.kinds import REGISTRY
from reconciler.model.code_pages import SITE, rule_url
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Topology
from reconciler.report.document.document import Document
from reconciler.report.document.picture import MOST_CARDS, picture
from reconciler.report.document.pieces import ReportPart
from reconciler.report.formats import FORMATS
from tests.report.hostile import TRICKS, every_piece, hostile, many
from tests.report.plans import create, everything, members_moved, plan, planned, update

VOID = {"meta", "input", "br"}
every_trick = pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))
PAGE = re.compile(rf"{re.escape(SITE)}/reference/rules/[A-Z]{{2}}\d{{3}}/")


@dataclass(slots=True, eq=False)
class Parsed(HTMLParser):
    """Its elements with their attributes; ends that fit no beginning are errors."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if len(attrs) != len(dict(attrs)):
            self.errors.append(f"<{tag}> says something twice")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.errors.append(f"</{tag}> ends nothing")

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data

    def all(self, name: str) -> list[str]:
        return [str(attributes[name]) for _, attributes in self.elements if name in attributes]


def parsed(document: Document) -> Parsed:
    page = Parsed()
    page.feed(FORMATS["html"](document))
    page.close()
    return page


DOCUMENTS = [
    Document(topology="orders", plan=everything()), Document(plan=plan(kept=1)), *map(hostile, TRICKS),
    *(Document(title="orders", parts=(ReportPart(title="Parts", pieces=every_piece(trick)),)) for trick in TRICKS),
]  # fmt: skip


@pytest.mark.parametrize("document", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_a_page_is_well_formed_and_needs_nothing_else(document: Document) -> None:
    page = parsed(document)
    assert (page.errors, page.open) == ([], [])
    assert {tag for tag, _ in page.elements} & {
        "img",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "image",
    } == set()
    assert [tag for tag, _ in page.elements].count("script") == 1
    attributes = {name for _, said in page.elements for name in said}
    assert {name for name in attributes if name.startswith("on")} | (attributes & {"src", "style", "action"}) == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_every_name_is_given_once_and_every_link_leads_somewhere(document: Document) -> None:
    page = parsed(document)
    assert len(page.all("id")) == len(set(page.all("id")))
    assert {link.removeprefix("#") for link in page.all("href") if not PAGE.fullmatch(link)} <= set(page.all("id"))


def test_every_code_is_a_link_to_its_page() -> None:
    page = parsed(Document(topology="orders", plan=everything()))
    linked = {link for link in page.all("href") if not link.startswith("#")}
    assert linked == {rule_url(code) for code in ("CO121", "ST301")}
    assert {said.get("rel") for _, said in page.elements if said.get("href") in linked} == {"noopener"}


def test_several_reports_share_a_page_and_no_name() -> None:
    page = Parsed()
    page.feed(FORMATS["html"].render_several(DOCUMENTS[:3]))
    page.close()
    assert (page.errors, page.open) == ([], [])
    assert len(page.all("id")) == len(set(page.all("id")))
    assert {link.removeprefix("#") for link in page.all("href") if not PAGE.fullmatch(link)} <= set(page.all("id"))
    assert page.all("id").count("filter") == 1


def test_the_policy_lets_only_its_own_style_and_script_through() -> None:
    page = parsed(Document(topology="orders", plan=everything()))
    policy = next(str(said["content"]) for tag, said in page.elements if said.get("http-equiv"))
    for kind, tag in (("style", "style"), ("script", "script")):
        digest = base64.b64encode(hashlib.sha256(page.texts[tag].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")


def test_two_thousand_changes_make_a_page_of_a_few_megabytes() -> None:
    document = Document(topology="orders", plan=many(2_000))
    assert len(FORMATS["html"](document)) < 3_000_000
    assert parsed(document).all("class").count("change is-update") == 2_000


def test_partitions_are_shown_before_and_after() -> None:
    text = re.sub("<[^>]*>", " ", FORMATS["html"](Document(plan=plan(members_moved()))))
    rows = [line.split() for line in text.splitlines() if line.split()[:1] in (["now"], ["then"], ["queued"])]
    assert rows[0] == ["now", *["b1"] * 4, *["b2"] * 4, *["b3"] * 4]
    assert rows[1] == ["then", "·", "·", "·", "b2", "·", "·", "b3", "b3", "·", "b4", "b4", "b4"]
    assert rows[2] == ["queued", "0", "12", "3", "0", "410", "0", "0", "71", "9", "?", "0", "699"]


def test_a_group_too_large_to_draw_is_told_in_lines() -> None:
    drawn = {"now": ["a"] * 200 + ["b"] * 200, "then": ["a"] * 100 + ["b"] * 300, "queued": [1] * 400}
    moved = Consequence(message="100 of 400 partitions move", detail={"partition_map": drawn})
    page = parsed(Document(plan=plan(update("elastic_group/A/g", consequences=(moved,)))))
    assert page.texts["pre"] == "a → b: partitions 100-199, 100 queued"


def test_what_nobody_can_tell_is_among_what_stops_the_plan() -> None:
    text = FORMATS["html"](Document(plan=plan(planned("stream/FAR", Action.UNKNOWN, reason="n3 did not answer"))))
    assert "<b>unknown</b>: n3 did not answer" in text


def streams(**said: object) -> Document:
    """Streams by name with their origins: `B=["A"]`."""
    spec = REGISTRY["stream"].spec
    resources = [
        Declared(
            address=Address.of("stream", name), spec=spec.model_validate({"sources": [{"name": one} for one in of]})
        )
        for name, of in said.items()
        if isinstance(of, list)
    ]
    return Document(topology="orders", declared=Topology(name="orders", resources=tuple(resources)))


def names(document: Document) -> list[list[str]]:
    return [[card.address.partition("/")[2] for card in layer] for layer in picture(document).layers]


def test_origins_stand_before_their_copies() -> None:
    assert names(streams(C=["B", "A"], B=["A"], A=[])) == [["A"], ["B"], ["C"]]


def test_a_circle_is_drawn_and_not_followed_for_ever() -> None:
    assert sorted(name for layer in names(streams(A=["B"], B=["A"])) for name in layer) == ["A", "B"]


def test_a_long_chain_is_drawn() -> None:
    chain = {f"S{n:04}": [f"S{n - 1:04}"] if n else [] for n in range(2_000)}
    assert len(names(streams(**chain))) == MOST_CARDS


def test_an_origin_that_nobody_declares_is_drawn_as_somebody_elses() -> None:
    first = picture(streams(A=["THEIRS"])).layers[0][0]
    assert (first.address, first.elsewhere) == ("stream/THEIRS", True)


def test_readers_stand_on_the_card_of_their_stream() -> None:
    found = picture(Document(plan=plan(create("stream/A"), create("consumer/A/x"), create("static_group/A/g"))))
    assert [[row.address for row in card.rows] for card in found.apart] == [["consumer/A/x", "static_group/A/g"]]


def boxes(document: Document) -> list[tuple[int, int, int, int]]:
    page = parsed(document)
    found = [said for tag, said in page.elements if tag == "rect"]
    return [tuple(int(str(one[name])) for name in ("x", "y", "width", "height")) for one in found]  # type: ignore[misc]


def test_no_card_lies_on_another() -> None:
    wide = {f"COPY{n}": ["A", "B"] for n in range(9)} | {f"ALONE{n}": [] for n in range(9)}
    drawn = boxes(replace_plan(streams(A=[], B=["A"], **wide)))
    assert len(drawn) == 20
    for (x, y, w, h), (x2, y2, w2, h2) in combinations(drawn, 2):
        assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def replace_plan(document: Document) -> Document:
    return Document(topology="orders", plan=plan(), declared=document.declared)


def test_style_and_script_are_files_that_editors_know() -> None:
    folder = Path(__file__).parents[2] / "reconciler" / "report" / "html"
    assert {"page.css", "page.js"} <= {path.name for path in folder.iterdir()}
