"""One Spark session for all tests of this folder: starting its JVM costs more than most of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = {
    "spark.driver.memory": "768m",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",  # plans of a few rows only get slower by it
    "spark.sql.codegen.wholeStage": "false",  # as by code compiled for each of them
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First of all: a worker's first tests are never given to another one, which would start a JVM of its own."""
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two partitions, nothing but what a test puts there."""
    from reconciler.fleet.session import session

    started = session("local[2]", settings=SMALL)
    yield started
    started.stop()
