"""A session works, and shows nothing of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_session_counts(spark: SparkSession) -> None:
    assert spark.range(10).selectExpr("sum(id) as total").collect()[0]["total"] == 45


def test_it_thinks_in_utc(spark: SparkSession) -> None:
    assert spark.sql("select string(timestamp_seconds(0))").collect()[0][0] == "1970-01-01 00:00:00"
