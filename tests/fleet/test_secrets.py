"""Credentials are looked up where a connection is made, and stand nowhere that Spark writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reconciler.fleet.source import live
from tests.support.servers import NatsServer, running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECRET = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def guarded() -> Iterator[NatsServer]:
    with running(config=f"authorization {{user: planted, password: {SECRET}}}") as server:
        yield server


@pytest.fixture
def look(spark: SparkSession, fleet: Callable[..., Path], guarded: NatsServer, tmp_path: Path) -> DataFrame:
    """Of a target that lets us in, and of one that does not."""
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    (tmp_path / "wrong").write_text(f"{SECRET}!", encoding="utf-8")
    there = {"server": guarded.url, "user": "planted"}
    targets = {name: {**there, "password": f"file://{tmp_path / name}"} for name in ("secret", "wrong")}
    return live(spark, fleet(**targets))


def test_no_plan_shows_them(look: DataFrame) -> None:
    assert SECRET not in look._jdf.queryExecution().toString()
    assert SECRET not in repr(look.schema)


def test_no_table_holds_them(look: DataFrame, tmp_path: Path) -> None:
    look.write.option("compression", "none").parquet(str(tmp_path / "table"))
    written = b"".join(file.read_bytes() for file in (tmp_path / "table").rglob("*") if file.is_file())
    assert b"Cannot log in to" in written
    assert SECRET.encode() not in written


def test_no_event_log_holds_them(look: DataFrame, event_log: Path) -> None:
    assert {row["row"] for row in look.collect()} == {"target", "error"}
    logged = b"".join(file.read_bytes() for file in event_log.rglob("*") if file.is_file())
    assert b"SparkListenerJobStart" in logged
    assert SECRET.encode() not in logged
