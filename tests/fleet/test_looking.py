"""What a look found, where there is more of it than a report lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reconciler.cli import exits
from reconciler.cli.fleet_telling import code
from reconciler.fleet.runs.looking import strayed_of
from reconciler.report.fleet.found import Found
from reconciler.report.fleet.overview import totals
from tests.fleet.drift_rows import Row, field, frame, look, night, whole

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTED = 8


@pytest.fixture(scope="module")
def crowded(spark: SparkSession) -> Found:
    """Two targets do not say which streams they have; three others strayed, each in more objects than one."""
    unknown = [whole(f"stream/S{n}", "unknown") for n in range(LISTED)]
    strayed = [field("stream/S", "max_age"), field("stream/S", "subjects"), field("stream/T", "max_age", ignored="so be it"),
               *(whole(f"stream/U{n}", "missing") for n in range(3))]  # fmt: skip
    found: dict[str, list[Row]] = dict.fromkeys(("eu", "us", "ap"), strayed) | dict.fromkeys(
        ("shut", "locked"), unknown
    )
    rows = [row for name, these in found.items() for row in look("r0", night(0), *these, target=name)]
    return Found(command="drift", fleet="f", **strayed_of(frame(spark, rows), most=LISTED))


def test_all_that_strayed_is_counted_however_much_is_listed(crowded: Found) -> None:
    assert crowded.drifted_by_target == {"eu": 4, "us": 4, "ap": 4}
    assert totals(crowded).startswith("drift on 3 of 5 targets: 9 missing, 3 changed · 16 unknown")


def test_what_is_not_listed_ends_as_drift_all_the_same(crowded: Found) -> None:
    assert code(crowded) == exits.DRIFT


def test_what_strayed_is_listed_before_what_nobody_could_tell(crowded: Found) -> None:
    assert {one.standing for one in crowded.strayed or ()} == {"missing"}
    assert len(crowded.strayed or ()) + crowded.left_out["drift"] == 31
