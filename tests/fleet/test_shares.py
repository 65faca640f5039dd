"""What each task reads: targets are dealt out, large ones in parts, and requests are divided between the tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.fleet.messages import shared
from reconciler.fleet.pieces import Piece
from reconciler.fleet.reading import REQUESTS, Part, dealt
from reconciler.fleet.snapshots import heavy
from reconciler.fleet.source import TargetsReader, split
from reconciler.fleet.tables import CONFIGS, SUBJECTS
from reconciler.fleet.targets import HEAVY, Target
from reconciler.server.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def target(name: str = "eu", parts: int = 1) -> Target:
    return Target(name=name, settings=Settings(url="x", no_context=True), parts=parts)


def names(parts: tuple[Part, ...]) -> list[tuple[str, int]]:
    return [(part.target.name, part.number) for part in parts]


def test_parts_of_one_target_go_to_different_tasks() -> None:
    parts = [*split(target("big", parts=2), 0), *split(target("small"), 0)]
    assert [names(some) for some, _ in dealt(parts, 2)] == [[("big", 0), ("small", 0)], [("big", 1)]]


def test_no_more_tasks_than_there_is_to_read_nor_none() -> None:
    assert len(list(dealt(list(split(target(), 0)), 8))) == 1
    assert [names(some) for some, _ in dealt([], 8)] == [[]]


def test_requests_of_all_tasks_together_are_bounded() -> None:
    for tasks in (1, 2, 7, 400, 5000):
        requests = [found for _, found in dealt(range(1000), tasks)]
        assert sum(requests) <= REQUESTS
        assert min(requests) > 0


def test_messages_are_asked_for_within_the_same_bounds() -> None:
    pieces = [Piece(target=target(), stream="S") for _ in range(5000)]
    found = shared(pieces, 400, is_followed=True)
    assert sum(part.requests for part in found) <= REQUESTS
    assert sum(len(part.value) for part in found) == 5000


def test_what_was_large_at_the_last_look_is_split() -> None:
    assert [len(list(split(target(), objects))) for objects in (0, 30_000, 100_000, 10_000_000)] == [1, 1, 5, 16]


def test_how_large_is_counted_run_by_run(spark: SparkSession) -> None:
    rows = spark.range(HEAVY + 5).selectExpr(f"if(id < {HEAVY}, 'big', 'small') as target", "'2' as run")
    earlier = spark.range(3 * HEAVY).selectExpr("'small' as target", "'1' as run")
    assert [tuple(row) for row in heavy(rows.union(earlier), "2").collect()] == [("big", HEAVY)]


def test_subjects_of_a_stream_are_read_once(fleet: Callable[..., Path]) -> None:
    file = fleet(big={"server": "nats://x", "parts": 4})
    options = {"fleet": str(file), "sizes": json.dumps({"big": 1_000_000}), "tasks": "4", "stream": "S"}
    for table, expected in ((CONFIGS, 4), (SUBJECTS, 1)):
        name = "configs" if table is CONFIGS else "subjects"
        assert len(TargetsReader({**options, "table": name}, table).partitions()) == expected
