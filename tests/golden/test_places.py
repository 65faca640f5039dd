"""Thirty-four findings in six files of two merged folders, each at its exact line and column, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from reconciler.journeys.plan.validate import checked_topology
from reconciler.model.diagnostic import SourceSpan
from reconciler.report.document.document import Document, ReportedFinding, findings
from reconciler.report.formats import FORMATS

PLACES = Path(__file__).parent / "places"

EXPECTED = (
    # what cannot be read
    ("wrong/orders.yaml", 4, 10, "XX501", "min_sever"),
    ("wrong/orders.yaml", 8, 5, "ST501", "subjectz"),
    ("wrong/orders.yaml", 9, 14, "ST502", "7 fortnights"),
    ("wrong/orders.yaml", 10, 16, "ST502", "plenty"),
    ("wrong/orders.yaml", 11, 16, "ST502", "forever"),
    ("wrong/orders.yaml", 13, 30, "CO502", "explicitly"),
    ("wrong/orders.yaml", 13, 55, "CO502", '"5x"'),
    ("wrong/orders.yaml", 15, 13, "ST504", "[payments.>]"),
    ("wrong/payments.yaml", 1, 13, "XX505", "2"),
    ("wrong/payments.yaml", 1, 13, "XX530", "2"),
    ("wrong/payments.yaml", 4, 5, "ST505", "ORDERS"),
    ("wrong/payments.yaml", 6, 19, "ST504", "ledger.>"),
    ("wrong/payments.yaml", 8, 13, "ST503", "{filter_subject"),
    ("wrong/payments.yaml", 9, 28, "ST501", "start"),
    ("wrong/payments.yaml", 11, 13, "XX503", "billing"),
    ("wrong/payments.yaml", 12, 49, "EG502", "three"),
    ("wrong/team/émile.yaml", 4, 3, "KV542", '"zähler"'),
    ("wrong/team/émile.yaml", 5, 12, "KV501", "histori"),
    ("wrong/team/émile.yaml", 5, 58, "KV501", "repicas"),
    ("wrong/team/émile.yaml", 7, 5, "XX503", "{address"),
    ("wrong/team/émile.yaml", 8, 15, "XX502", "streams"),
    ("wrong/team/émile.yaml", 9, 10, "XX502", "nothing"),
    # what a server would refuse, or what does no good
    ("judged/more/groups.yaml", 10, 41, "XX234", "others.*"),
    ("judged/more/groups.yaml", 10, 76, "EG544", "3"),
    ("judged/more/groups.yaml", 13, 18, "KV543", "65"),
    ("judged/orders.yaml", 5, 16, "XX201", "orders.>"),
    ("judged/orders.yaml", 5, 26, "ST543", "orders.eu.*"),
    ("judged/orders.yaml", 6, 19, "ST553", "2"),
    ("judged/orders.yaml", 12, 18, "CO549", "[1s"),
    ("judged/orders.yaml", 13, 52, "XX234", "elsewhere.>"),
    ("judged/queues.yaml", 7, 17, "CO582", "one"),
    ("judged/queues.yaml", 7, 46, "CO582", "two"),
    ("judged/queues.yaml", 10, 15, "ST546", "[copy.>]"),
    ("judged/queues.yaml", 11, 22, "XX201", '"orders.*"'),
)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Document:
    """What `validate` finds in each folder, as one report."""
    monkeypatch.chdir(PLACES)
    found = [one for folder in ("wrong", "judged") for one in checked_topology([Path(folder)]).diagnostics]
    return Document(command="validate", topology="places", diagnostics=tuple(found))


def _place(file: str, line: int, column: int) -> SourceSpan:
    return SourceSpan(file, line, column, 0, 0)


def _found(one: ReportedFinding) -> tuple[str, int, int, str]:
    assert one.place, f"{one.code} has no place"
    return one.place.file, one.place.line, one.place.column, one.code


def test_every_finding_stands_at_its_line_and_column(both: Document) -> None:
    assert sorted(map(_found, findings(both))) == sorted(expected[:4] for expected in EXPECTED)


def test_that_is_where_editors_find_it() -> None:
    """Counted in characters, also behind those that take several bytes."""
    for file, line, column, _code, text in EXPECTED:
        there = (PLACES / file).read_text(encoding="utf-8").splitlines()[line - 1][column - 1 :]
        assert there.startswith(text), f"{file}:{line}:{column} is {there!r}"


def test_text_says_the_places_as_compilers_do(both: Document) -> None:
    said = re.findall(r"^(\S+?):(\d+):(\d+) (?:error|warning) (\w+)", FORMATS["text"](both), re.MULTILINE)
    assert sorted((f, int(n), int(c), code) for f, n, c, code in said) == sorted(e[:4] for e in EXPECTED)


def test_annotations_point_at_the_places(both: Document) -> None:
    said = re.findall(r"^::\w+ file=(.+?),line=(\d+),col=(\d+),.*?title=(\w+) ", FORMATS["github"](both), re.MULTILINE)
    assert sorted((f, int(n), int(c), code) for f, n, c, code in said) == sorted(e[:4] for e in EXPECTED)


def test_sarif_points_at_the_places(both: Document) -> None:
    results = json.loads(FORMATS["sarif"](both))["runs"][0]["results"]
    places = [(one["locations"][0]["physicalLocation"], one["ruleId"]) for one in results]
    said = [
        (unquote(place["artifactLocation"]["uri"]), place["region"]["startLine"], place["region"]["startColumn"], code)
        for place, code in places
    ]
    assert sorted(said) == sorted(expected[:4] for expected in EXPECTED)


def test_junit_names_the_file_and_the_line_of_every_failure(both: Document) -> None:
    cases = ElementTree.fromstring(FORMATS["junit"](both)).iter("testcase")
    said = sorted((case.get("file"), int(case.get("line") or 0)) for case in cases)
    assert set(said) == {expected[:2] for expected in EXPECTED}


def test_markdown_and_html_show_every_place(both: Document) -> None:
    texts = [FORMATS[name](both) for name in ("markdown", "html")]
    places = [str(_place(*expected[:3])) for expected in EXPECTED]
    assert [place for place in places for text in texts if place not in text] == []
