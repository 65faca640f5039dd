"""Skew where there is little to show: nothing matches, nobody answers."""

from __future__ import annotations

from dataclasses import replace

from reconciler.cli.fleet.running import findings_exit_code
from reconciler.cli.shared import exits
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.json import findings_document
from reconciler.fleet.report.report import report_of
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from tests.report import fleets


def told(found: FleetFindings) -> str:
    return FORMATS["text"](replace(report_of(found), paper=Paper(width=120)))


def test_candidates_that_match_nothing_are_shown_as_such() -> None:
    spread = fleets.spread()
    nothing = {"total": 0, "missed": 800, "mean": None, "largest": None, "where": None, "ratio": None, "p99": None}
    rows = tuple({**one, **nothing} for one in spread.skew or () if one["membership"] is None)
    assert "no partition has anything" in told(replace(spread, skew=rows, falls=(), moves=()))


def test_a_candidate_that_leaves_subjects_out_is_not_called_the_least_even() -> None:
    spread = fleets.spread()
    partitions = [row for row in spread.skew or () if row["membership"] is None]
    even = min(row["ratio"] for row in partitions)
    rows = tuple({**row, "missed": 1} if row["ratio"] == even else row for row in partitions)
    lead = told(replace(spread, skew=rows, falls=(), moves=())).replace("\n", " ")
    assert f"the least even: the fullest has {max(row['ratio'] for row in partitions):.2f} times the mean" in lead
    assert f"the least even: the fullest has {even:.2f}" not in lead


def test_a_target_that_was_cut_off_is_told_beside_what_it_said_before() -> None:
    spread = fleets.spread()
    first = dict((spread.skew or ())[0])
    failed = {**dict.fromkeys(first), "target": first["target"], "stream": first["stream"], "error": "timeout"}
    cut = replace(spread, skew=(*({**one, "error": "timeout"} for one in spread.skew or ()), failed))
    said = told(cut)
    assert "only the subjects that were read before the others could not be:\n  timeout" in said
    assert "800 subjects" in said
    assert "3 candidates for 1 stream · 1 target not read completely" in said
    assert findings_document(cut).unread == ("eu-1",)
    assert findings_exit_code(cut) == exits.FAILED


def test_what_has_no_room_is_not_passed_over_where_it_could_not_be_read() -> None:
    spread = fleets.spread()
    rows = ({**one, "target": f"t{number}", "error": "timeout" if number == 9 else None}
            for number in range(10) for one in spread.skew or ())  # fmt: skip
    assert "2 more streams, 1 of them not read completely; the table skew" in told(replace(spread, skew=tuple(rows)))


def test_what_nobody_could_be_asked_is_a_failure() -> None:
    failed = {"target": "eu", "stream": "ORDERS", "error": "timeout"}
    spread = fleets.spread()
    assert findings_exit_code(replace(spread, skew=(failed,))) == exits.FAILED
    assert findings_exit_code(replace(spread, skew=(*(spread.skew or ()), failed))) == exits.FAILED
    assert findings_exit_code(spread) == exits.FINE


def test_what_an_earlier_look_could_not_read_is_no_failure_of_a_report() -> None:
    failed = {"target": "eu", "stream": "ORDERS", "error": "timeout"}
    told_again = replace(fleets.well(), command="report", skew=(failed,))
    assert (told_again.unread_targets, findings_exit_code(told_again)) == (fleets.well().unread_targets, exits.FINE)
