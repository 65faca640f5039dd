"""Who was pinned for how long, and how often that changed."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from reconciler.fleet.events.events import pin_periods, pins_by_group
from reconciler.fleet.tables.tables import PINNINGS, PINS
from tests.fleet.told import after, event, events, said


def pinned(seconds: float, pin: str, **columns: Any) -> dict[str, Any]:
    return event(seconds, "consumer_group_pinned", group="g", pinned_id=pin, **columns)


def unpinned(seconds: float, reason: str, **columns: Any) -> dict[str, Any]:
    return event(seconds, "consumer_group_unpinned", group="g", reason=reason, **columns)


QUIET = [  # one pin, one time-out, and the next one goes on
    pinned(0, "A"), unpinned(10, "timeout"), pinned(12.5, "B"),
]  # fmt: skip
BUSY = [  # one after the other, told out of order
    pinned(60, "D", consumer="busy"), pinned(0, "A", consumer="busy"),
    unpinned(40, "admin", consumer="busy"), pinned(41, "C", consumer="busy"), pinned(20, "B", consumer="busy"),
]  # fmt: skip
GONE = [  # unpinned until its stream is deleted; and another one until it is deleted itself
    pinned(0, "A", stream="T"), unpinned(5, "timeout", stream="T"),
    event(30, "stream_action", stream="T", consumer=None, action="delete"),
    pinned(0, "A", stream="U"), event(8, "consumer_action", stream="U", action="delete"),
    pinned(50, "B", stream="U"), event(100, "consumer_ack"),
]  # fmt: skip


def test_a_pin_lasts_until_the_next_one_the_unpinning_or_the_deletion(spark: SparkSession) -> None:
    found = pin_periods(events(spark, *QUIET, *GONE)).orderBy("stream", "since")
    assert found.columns == PINNINGS.names
    assert said(found, "stream", "pinned_id", "since", "until", "seconds", "began", "ended") == [
        ("S", "A", after(0), after(10), 10.0, "pinned", "timeout"),
        ("S", None, after(10), after(12.5), 2.5, "timeout", "pinned"),
        ("S", "B", after(12.5), None, 87.5, "pinned", None),
        ("T", "A", after(0), after(5), 5.0, "pinned", "timeout"),
        ("T", None, after(5), after(30), 25.0, "timeout", "deleted"),
        ("U", "A", after(0), after(8), 8.0, "pinned", "deleted"),
        ("U", "B", after(50), None, 50.0, "pinned", None),
    ]


def test_a_group_has_its_switches_its_time_unpinned_and_whether_it_flaps(spark: SparkSession) -> None:
    found = pins_by_group(pin_periods(events(spark, *QUIET, *BUSY)), flapping=3, window=60).orderBy("consumer")
    assert found.columns == PINS.names
    assert said(found) == [
        ("east", "S", "busy", "g", after(0), after(60), "D", 3, 1, 1, 0, 1.0, 1.0, 3, True),
        ("east", "S", "c", "g", after(0), after(60), "B", 1, 1, 0, 1, 2.5, 2.5, 1, False),
    ]


def test_switches_further_apart_than_the_window_are_no_flapping(spark: SparkSession) -> None:
    found = pins_by_group(pin_periods(events(spark, *BUSY)), flapping=3, window=20)
    assert said(found, "switches", "most_switches", "flapping") == [(3, 2, False)]
