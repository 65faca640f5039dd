"""Drift over time, and from every side how long things stay broken: five nights of two targets, written out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reconciler.fleet.drift.history import drift_history
from reconciler.fleet.drift.summary import drift_by_run_and_target, repairs, trend
from reconciler.fleet.tables.tables import REPAIRS, TREND
from tests.fleet.drift_rows import Row, field, frame, look, night, unreachable, unremembered, wanted, whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AGE, SUBJECTS = field("stream/S", "max_age"), field("stream/S", "subjects")
GONE = whole("consumer/S/c", "missing", team=None)
EU: list[list[Row]] = [[AGE], [AGE, SUBJECTS], [SUBJECTS], [AGE], []]
US: list[list[Row] | None] = [[], [GONE], None, [GONE], [GONE]]


@pytest.fixture(scope="module")
def nights(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    rows: list[Row] = []
    for n, (eu, us) in enumerate(zip(EU, US, strict=True)):
        run, at = f"r{n}", night(n)
        rows += look(run, at, *eu, target="eu")
        rows += unreachable(run, at, "us") if us is None else look(run, at, *us, target="us")
    drift = frame(spark, rows)
    return drift, drift_history(drift, wanted(spark, [])).localCheckpoint()


def test_a_run_tells_what_opened_what_closed_and_what_it_could_not_look_at(nights: tuple[DataFrame, DataFrame]) -> None:
    rows = trend(*nights)
    assert rows.columns == TREND.names
    names = ("run", "compared", "unreachable", "opened", "closed", "open", "unseen", "objects")
    assert [tuple(row) for row in rows.orderBy("at").select(*names).collect()] == [
        ("r0", 2, 0, 1, 0, 1, 0, 1),
        ("r1", 2, 0, 2, 0, 3, 0, 2),
        ("r2", 1, 1, 0, 1, 2, 1, 1),
        ("r3", 2, 0, 1, 1, 2, 0, 2),
        ("r4", 2, 0, 0, 1, 1, 0, 1),
    ]


def test_what_a_run_could_not_tell_is_made_up_for_by_nothing_it_found(spark: SparkSession) -> None:
    """What is gone hides its fields, and was looked at; what differs from a file alone opens nothing."""
    other, gone = field("stream/T", "max_age"), whole("stream/S", "missing")
    rows = [*look("r0", night(0), AGE, SUBJECTS, target="eu"), *look("r0", night(0), AGE, SUBJECTS, target="us"),
            *unreachable("r1", night(1), "eu"), *look("r1", night(1), AGE, SUBJECTS, other, unremembered(), target="us"),
            *look("r2", night(2), gone, target="eu"),
            *look("r2", night(2), whole("stream/S", "unremembered"), AGE, SUBJECTS, target="us")]  # fmt: skip
    drift = frame(spark, rows)
    told = trend(drift, drift_history(drift, wanted(spark, [])).localCheckpoint())
    assert [tuple(row) for row in told.orderBy("at").select("run", "open", "unseen").collect()] == [
        ("r0", 4, 0), ("r1", 4, 4), ("r2", 5, 2),
    ]  # fmt: skip


def test_repairs_are_seen_from_every_side(nights: tuple[DataFrame, DataFrame]) -> None:
    rows = repairs(nights[1])
    assert rows.columns == REPAIRS.names
    names = ("dimension", "value", "episodes", "open", "repaired", "came_back", "median_seconds", "longest_seconds")
    day = 86_400.0
    mended: tuple[Any, ...] = (3, 0, 3, 1, 2 * day, 2 * day)
    assert sorted(tuple(row) for row in rows.select(*names).collect()) == [
        ("all", "", 4, 1, 3, 1, 2 * day, 2 * day),
        ("field", "consumer (the object)", 1, 1, 0, 0, None, None),
        ("field", "stream max_age", 2, 0, 2, 1, 1.5 * day, 2 * day),
        ("field", "stream subjects", 1, 0, 1, 0, 2 * day, 2 * day),
        ("kind", "consumer", 1, 1, 0, 0, None, None),
        ("kind", "stream", *mended),
        ("target", "eu", *mended),
        ("target", "us", 1, 1, 0, 0, None, None),
        ("team", "", 1, 1, 0, 0, None, None),
        ("team", "payments", *mended),
    ]


def test_cells_tell_the_targets_that_strayed_most_and_what_could_not_be_read(
    nights: tuple[DataFrame, DataFrame],
) -> None:
    runs = ["r1", "r2", "r3"]
    found = {(row.run, row.target): row.objects for row in drift_by_run_and_target(nights[0], runs, 2).collect()}
    assert found == {
        ("r1", "eu"): 1, ("r2", "eu"): 1, ("r3", "eu"): 1,
        ("r1", "us"): 1, ("r2", "us"): None, ("r3", "us"): 1,
    }  # fmt: skip
    assert {row.target for row in drift_by_run_and_target(nights[0], runs, 1).collect()} == {"eu"}
