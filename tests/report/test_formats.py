"""Whatever a format is, it shows what others wrote and never obeys it."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import get_args

import pytest

from reconciler.cli.shared.reporting import ReportFormat
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.report.codec.json import json_line, json_text
from reconciler.report.document.document import Document
from reconciler.report.document.pieces import (
    Aside,
    Fold,
    Folds,
    Piece,
    Prose,
    ReportPart,
)
from reconciler.report.formats import FORMATS
from reconciler.report.words.visible import inert
from tests.report.hostile import HUGE, TRICKS, every_piece, hostile
from tests.report.plans import create, everything, plan

every_format = pytest.mark.parametrize("name", FORMATS)
every_trick = pytest.mark.parametrize("trick", TRICKS, ids=range(len(TRICKS)))


def test_the_command_line_offers_every_format() -> None:
    assert [one.value for one in ReportFormat] == [*FORMATS]


@every_format
@every_trick
def test_nothing_that_a_terminal_obeys_or_hides_comes_through(name: str, trick: str) -> None:
    text = FORMATS[name](hostile(trick))
    hidden = [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"]
    assert hidden == []


@every_format
@every_trick
def test_no_line_is_a_workflow_command_that_others_wrote(name: str, trick: str) -> None:
    lines = FORMATS[name](hostile(trick)).splitlines()
    commands = {line.split(" ")[0] for line in lines if line.lstrip().startswith("::")}
    assert commands <= ({"::error", "::warning", "::notice"} if name == "github" else set())


@every_format
@every_trick
def test_a_report_without_a_plan_obeys_nobody_either(name: str, trick: str) -> None:
    found = Document(topology=trick, summary=f"{trick}: 1 resource\n")
    for text in (FORMATS[name](found), FORMATS[name].render_several([found, found])):
        assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"] == []
        assert [line for line in text.splitlines() if line.lstrip().startswith("::")] == []


@every_format
@every_trick
def test_the_parts_of_a_report_obey_nobody_either(name: str, trick: str) -> None:
    pieces = every_piece(trick)
    fold = Fold(mark="~", word="changed", name=trick, about=trick, place=trick, pieces=pieces)
    aside = Aside(title=trick, pieces=pieces)
    part = ReportPart(title=trick, lead=trick, verdict=trick, pieces=(Folds(folds=(fold,)), aside, *pieces))
    assert {type(piece) for piece in part.pieces} == {*get_args(Piece)}
    text = FORMATS[name](Document(title=trick, parts=(part,)))
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"] == []
    assert [line for line in text.splitlines() if line.lstrip().startswith("::")] == []
    assert "##[" not in text


@every_format
def test_no_format_holds_what_a_runner_obeys_anywhere_in_a_line(name: str) -> None:
    found = Document(topology="##[add-mask]x", plan=plan(create("stream/##[error]x"), topology="##[add-mask]x"))
    assert "##[" not in FORMATS[name](found)


@every_trick
def test_the_last_words_are_visible_line_by_line(trick: str) -> None:
    text = FORMATS["text"](Document(plan=everything(), closing=f"first\nsecond {trick.replace(chr(10), '')}"))
    assert "first\nsecond " in text
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"] == []


@every_format
def test_a_last_line_ends_without_a_trace_of_its_end(name: str) -> None:
    text = FORMATS[name](Document(topology="orders", summary="1 resource can be planned\n"))
    assert "\\n" not in text


def test_json_of_ours_holds_nothing_that_a_runner_obeys_and_reads_as_it_was() -> None:
    data = {"##[add-mask]x": ["##[error]", "a [list] # of ## things"]}
    for text in (json_text(data), json_line(data)):
        assert inert(text) == text
        assert json.loads(text) == data


@every_format
def test_a_report_is_the_same_every_time(name: str) -> None:
    one = Document(topology="orders", plan=everything())
    assert FORMATS[name](one) == FORMATS[name](one)


@every_format
def test_a_report_ends_in_one_newline(name: str) -> None:
    text = FORMATS[name](Document(topology="orders", plan=everything()))
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@every_format
@every_trick
def test_reports_of_several_topologies_are_one_text(name: str, trick: str) -> None:
    text = FORMATS[name].render_several([hostile(trick), Document(topology="second", plan=everything()), Document()])
    assert "ORDERS/dispatch" in text
    assert [c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"] == []


@every_format
def test_there_is_a_report_of_nothing(name: str) -> None:
    assert FORMATS[name](Document(topology="orders", plan=plan(kept=3)))
    assert FORMATS[name](Document(summary="fine\n"))


@every_format
def test_what_keeps_files_from_being_read_is_reported(name: str) -> None:
    wrong = Diagnostic(severity=Severity.ERROR, code="XX510", name="yaml-syntax", message="a tab stands here")
    assert "tab stands here" in FORMATS[name](Document(command="validate", diagnostics=(wrong,)))


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("text", "json")])
def test_a_description_of_100_kilobytes_is_cut(name: str) -> None:
    assert len(FORMATS[name](hostile("x"))) < len(HUGE)


def test_viewers_of_findings_get_those_that_parts_tell_and_readers_of_parts_get_them_once() -> None:
    told = Diagnostic(
        severity=Severity.ERROR, code="DR201", name="drift", message="somebody changed it", address="stream/S"
    )
    fold = Fold(
        mark="~",
        word="changed",
        name="stream/S",
        addresses=("stream/S",),
        pieces=(Prose(lines=("as a part says it",)),),
    )
    found = Document(shown_in_parts=(told,), parts=(ReportPart(title="", pieces=(Folds(folds=(fold,)),)),))
    for name in ("github", "sarif", "junit"):
        assert "omebody changed it" in FORMATS[name](found)
    for name in ("text", "markdown", "html"):
        text = FORMATS[name](found)
        assert ("as a part says it" in text, "omebody changed it" in text) == (True, False)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "github"])
def test_the_same_plan_for_two_environments_is_two_reports(name: str) -> None:
    """GitHub shows annotations by their places and has no name for a report."""
    of_nowhere = plan(create("stream/ORDERS"), kept=1)
    texts = [
        FORMATS[name](Document(topology="orders", plan=replace(of_nowhere, environment=one)))
        for one in ("", "dev", "prod")
    ]
    assert len({*texts}) == 3
    assert "dev" in texts[1] and "prod" in texts[2]
