"""What a look found, where there is more of it than a report lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from reconciler.cli.fleet.running import findings_exit_code
from reconciler.cli.shared import exits
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.overview import totals_line
from reconciler.fleet.report.run_rows import SeenTarget
from reconciler.fleet.runs.looks import LOST, drift_found, with_lost_targets
from reconciler.server.connect.settings import Settings
from tests.fleet.drift_rows import Row, field, frame, look, night, undeclared, unremembered, whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTED = 8


@pytest.fixture(scope="module")
def crowded(spark: SparkSession) -> FleetFindings:
    """Two targets do not say which streams they have; three others strayed, each in more objects than one."""
    unknown = [whole(f"stream/S{n}", "unknown") for n in range(LISTED)]
    strayed = [field("stream/S", "max_age"), field("stream/S", "subjects"), field("stream/T", "max_age", ignored="so be it"),
               *(whole(f"stream/U{n}", "missing") for n in range(3))]  # fmt: skip
    found: dict[str, list[Row]] = dict.fromkeys(("eu", "us", "ap"), strayed) | dict.fromkeys(
        ("shut", "locked"), unknown
    )
    rows = [row for name, these in found.items() for row in look("r0", night(0), *these, target=name)]
    return found_in(spark, rows, most=LISTED)


def found_in(spark: SparkSession, rows: list[Row], **said: int) -> FleetFindings:
    return FleetFindings(command="drift", fleet="f", **drift_found(frame(spark, rows), **said))


def test_all_that_strayed_is_counted_however_much_is_listed(crowded: FleetFindings) -> None:
    assert crowded.drifted_by_target == {"eu": 4, "us": 4, "ap": 4}
    assert totals_line(crowded).startswith("drift on 3 of 5 targets: 9 missing, 3 changed · 16 unknown")


def test_what_is_not_listed_ends_as_drift_all_the_same(crowded: FleetFindings) -> None:
    known = replace(crowded, counts=tuple(count for count in crowded.counts if count.standing != "unknown"))
    assert findings_exit_code(known) == exits.DRIFT


def test_drift_does_not_hide_what_could_not_be_read(crowded: FleetFindings) -> None:
    assert findings_exit_code(crowded) == exits.FAILED


def test_what_strayed_is_listed_before_what_nobody_could_tell(crowded: FleetFindings) -> None:
    assert {one.standing for one in crowded.drift or ()} == {"missing"}
    assert len(crowded.drift or ()) + crowded.left_out["drift"] == 31


def test_an_object_whose_record_cannot_be_used_is_one_object_and_stands_as_it_does(spark: SparkSession) -> None:
    lost = whole("stream/S", "unremembered", reason="its record is torn", codes=["LE101"])
    (one,) = (
        found := found_in(spark, look("r0", night(0), lost, field("stream/S", "max_age"), target="eu"))
    ).drift or ()
    assert (one.standing, one.reason, [field.path for field in one.fields]) == (
        "changed",
        "its record is torn",
        ["max_age"],
    )
    assert totals_line(found) == "drift on 1 of 1 target: 1 changed · 0 targets as applied"
    assert findings_exit_code(found) == exits.DRIFT


def test_a_record_of_something_that_does_not_differ_fails_no_night(spark: SparkSession) -> None:
    found = found_in(spark, look("r0", night(0), whole("stream/S", "unremembered"), target="eu"))
    assert totals_line(found) == "no drift · 1 unremembered · 1 target as applied"
    assert findings_exit_code(found) == exits.FINE


def test_a_target_that_is_to_hold_nothing_is_not_among_those_compared(spark: SparkSession) -> None:
    found = found_in(spark, [*look("r0", night(0), target="eu"), *undeclared("r0", night(0), "us")])
    assert (found.compared, found.drift, found.counts) == (frozenset({"eu"}), (), ())


def test_a_target_whose_ledger_could_not_be_read_was_compared_all_the_same(spark: SparkSession) -> None:
    """With the file alone: what strayed is told, and nothing of it is as applied."""
    torn = look("r0", night(0), unremembered(), field("stream/S", "max_age"), target="eu")
    found = found_in(spark, torn + look("r0", night(0), target="us"))
    assert found.compared == {"eu", "us"}
    assert totals_line(found) == "drift on 1 of 2 targets: 1 changed · 1 unknown · 1 target as applied"


def test_a_target_of_which_no_row_is_kept_was_not_read() -> None:
    asked = [FleetTarget(name=name, settings=Settings(url="x"), labels={"env": name}) for name in ("eu", "us")]
    assert with_lost_targets(asked, [SeenTarget(name="us")]) == (
        SeenTarget(name="eu", labels={"env": "eu"}, error=LOST),
        SeenTarget(name="us"),
    )


def test_a_target_that_was_read_and_not_compared_is_neither_unread_nor_as_applied(spark: SparkSession) -> None:
    (fileless,) = undeclared("r0", night(0), "us")
    rows = [
        *look("r0", night(0), target="eu"),
        fileless | {"standing": "uncompared", "error": "shop.yaml does not exist"},
    ]
    found = found_in(spark, rows)
    assert (found.unread_targets, found.uncompared_targets, [*found.compared]) == ((), ("us",), ["eu"])
    assert totals_line(found) == "no drift found · 1 target not compared · 1 target as applied"
    assert findings_exit_code(found) == exits.FAILED


def test_what_differs_from_the_file_alone_is_counted_apart(spark: SparkSession) -> None:
    """Of U both fields differ, and a record tells of one."""
    plain = [field(f"stream/{name}", "max_age", **{"class": "plain"}) for name in ("S", "T", "U")]
    found = found_in(spark, look("r0", night(0), *plain, field("stream/U", "max_msgs"), target="eu"))
    (changed,) = found.counts
    assert (changed.standing, changed.drifted, changed.unrecorded) == ("changed", 3, 2)


def test_what_is_as_declared_without_a_record_is_not_as_applied(spark: SparkSession) -> None:
    (bare,) = look("r0", night(0), target="eu")
    (whole_again,) = look("r0", night(0), target="us")
    found = found_in(spark, [bare | {"quantities": {"in_sync": 4, "without_record": 3}}, whole_again])
    assert found.unrecorded == {"eu": 3}
    assert totals_line(found) == (
        "no drift · 1 target as applied · 1 target as declared (3 objects without a record of an apply)"
    )


def test_what_looks_say_besides_drift_is_told_of_each_target(spark: SparkSession) -> None:
    said = {"severity": "warning", "code": "DR102", "name": "ignore-expired", "message": "it ended", "fix": "remove it",
            "file": "shop.yaml", "line": 7}  # fmt: skip
    rows = [look("r0", night(0), target=name)[0] | {"diagnostics": [said]} for name in ("eu", "us")]
    told = found_in(spark, rows).diagnostics
    assert [(finding.target, finding.code, finding.place, finding.fix) for finding in told] == [
        ("eu", "DR102", "shop.yaml:7", "remove it"), ("us", "DR102", "shop.yaml:7", "remove it"),
    ]  # fmt: skip


@pytest.mark.parametrize(("severity", "ends"), [("error", exits.FAILED), ("warning", exits.FINE)])
def test_an_error_that_a_look_says_fails_the_night(spark: SparkSession, severity: str, ends: int) -> None:
    """As it fails `drift` of one account."""
    said = {"severity": severity, "code": "XX916", "name": "names-nothing", "message": "`forget` names nothing"}
    found = found_in(spark, [look("r0", night(0), target="eu")[0] | {"diagnostics": [said]}])
    assert findings_exit_code(found) == ends
