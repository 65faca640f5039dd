"""How long acknowledgements took, and what came more than once."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from reconciler.fleet.events.events import acks
from reconciler.fleet.tables.tables import ACKS
from tests.fleet.told import NOON, event, events, said


def sample(seconds: float, took: float, deliveries: int = 1, **columns: Any) -> dict[str, Any]:
    return event(seconds, "consumer_ack", ack_seconds=took, deliveries=deliveries, **columns)


def test_a_consumer_has_a_row_for_each_day(spark: SparkSession) -> None:
    told = [
        *(sample(n, n / 100) for n in range(1, 101)),
        sample(101, 9.0, 3), event(102, "nak", deliveries=7), event(103, "nak"), event(104, "terminated"),
        event(86_400, "max_deliver", deliveries=5), sample(86_401, 0.5, consumer="d"), event(86_402, "api_audit"),
    ]  # fmt: skip
    found = acks(events(spark, *told)).orderBy("day", "consumer")
    assert found.columns == ACKS.names
    today, tomorrow = NOON.date(), NOON.date().replace(day=NOON.day + 1)
    assert said(found) == [
        ("east", "S", "c", today, 101, 0.51, 0.91, 1.0, 9.0, 1, 3, 2, 1, 0),
        ("east", "S", "c", tomorrow, 0, None, None, None, None, 0, None, 0, 0, 1),
        ("east", "S", "d", tomorrow, 1, 0.5, 0.5, 0.5, 0.5, 0, 1, 0, 0, 0),
    ]
