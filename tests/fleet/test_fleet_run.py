"""What a report takes up of the tables: the newest and the worst, and times as they were, wherever this machine is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from reconciler.fleet.accounts.targets import Fleet
from reconciler.fleet.runs.fleet_run import MOST, FleetRun, collect_rows
from reconciler.fleet.tables.frames import with_columns_of
from reconciler.fleet.tables.store import store
from reconciler.fleet.tables.tables import ACTORS
from tests.fleet.conftest import Silent

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TWICE = (datetime(2026, 11, 1, 5, 30, tzinfo=UTC), datetime(2026, 11, 1, 6, 30, 0, 250_000, tzinfo=UTC))
"""Both are half past one in New York, where the clock goes back in between."""


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as there:
        there.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("new_york")
def test_times_are_told_in_utc_on_any_machine(spark: SparkSession) -> None:
    shape = (
        "at timestamp, within struct<at: timestamp, day: date>, by map<string, timestamp>, all array<timestamp>, n int"
    )
    early, late = TWICE
    rows = collect_rows(spark.createDataFrame([(early, (late, late.date()), {"late": late}, [early, late], 1)], shape))
    assert rows == (
        {"at": early, "within": {"at": late, "day": late.date()}, "by": {"late": late}, "all": [early, late], "n": 1},
    )
    at = rows[0]["at"]
    assert isinstance(at, datetime) and at.tzinfo is UTC


def test_what_a_report_has_no_room_for_is_the_oldest_and_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    fleet = Fleet(name="f", file=tmp_path / "fleet.yaml", targets=())
    look = FleetRun(
        spark=spark, fleet=fleet, store=store(spark, str(tmp_path)), run="a", day=date(2026, 11, 21), say=Silent()
    )
    deeds = spark.range(MOST + 5).select(F.timestamp_seconds("id").alias("at"), F.lit("eu").alias("target"))
    found = look.make_findings("events", look.report_rows(actors=with_columns_of(deeds, ACTORS)))
    assert found.left_out == {"actors": 5}
    assert [len(found.actors or ()), (found.actors or ())[-1]["at"].timestamp()] == [MOST, 5]
