"""What a report takes up of the tables: times as they were, wherever this machine is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from reconciler.fleet.runs.look import collected

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
    rows = collected(spark.createDataFrame([(early, (late, late.date()), {"late": late}, [early, late], 1)], shape))
    assert rows == (
        {"at": early, "within": {"at": late, "day": late.date()}, "by": {"late": late}, "all": [early, late], "n": 1},
    )
    assert rows[0]["at"].tzinfo is UTC
