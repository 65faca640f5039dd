"""Skew where there is little to show: nothing matches, nobody answers."""

from __future__ import annotations

from dataclasses import replace

from reconciler.cli import exits
from reconciler.cli.fleet_telling import code
from reconciler.report.fleet import text
from reconciler.report.fleet.found import Found
from reconciler.report.fleet.report import report_of
from reconciler.report.paper import Paper
from tests.report import fleets


def told(found: Found) -> str:
    return text.render(report_of(found), Paper(width=120))


def test_candidates_that_match_nothing_are_shown_as_such() -> None:
    spread = fleets.spread()
    nothing = {"total": 0, "missed": 800, "mean": None, "largest": None, "where": None, "ratio": None, "p99": None}
    rows = tuple({**one, **nothing} for one in spread.skew or () if one["membership"] is None)
    assert "nothing falls anywhere" in told(replace(spread, skew=rows, falls=(), moves=()))


def test_a_target_that_was_cut_off_is_told_beside_what_it_said_before() -> None:
    spread = fleets.spread()
    first = dict((spread.skew or ())[0])
    failed = {**dict.fromkeys(first), "target": first["target"], "error": "timeout"}
    said = told(replace(spread, skew=(*(spread.skew or ()), failed)))
    assert "timeout" in said
    assert "800 subjects" in said


def test_what_nobody_could_be_asked_is_a_failure() -> None:
    failed = {"target": "eu", "stream": None, "error": "timeout"}
    spread = fleets.spread()
    assert code(replace(spread, skew=(failed,))) == exits.FAILED
    assert code(replace(spread, skew=(*(spread.skew or ()), failed))) == exits.FINE
