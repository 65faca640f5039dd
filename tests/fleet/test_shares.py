"""What each task reads: targets are dealt out, large ones in parts, and requests are divided between the tasks."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.fleet.accounts.messages import StreamPiece, share_pieces
from reconciler.fleet.accounts.reading import REQUESTS, TargetPart, share_among_tasks
from reconciler.fleet.accounts.source import TargetsReader, heavy_targets, target_parts
from reconciler.fleet.accounts.targets import HEAVY, FleetTarget
from reconciler.fleet.tables.tables import CONFIGS, SUBJECTS
from reconciler.server.connect.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def target(name: str = "eu", parts: int = 1) -> FleetTarget:
    return FleetTarget(name=name, settings=Settings(url="x", no_context=True), parts=parts)


def names(parts: tuple[TargetPart, ...]) -> list[tuple[str, int]]:
    return [(part.target.name, part.number) for part in parts]


def test_parts_of_one_target_go_to_different_tasks() -> None:
    parts = [*target_parts(target("big", parts=2), 0), *target_parts(target("small"), 0)]
    assert [names(some) for some, _ in share_among_tasks(parts, 2)] == [[("big", 0), ("small", 0)], [("big", 1)]]


def test_no_more_tasks_than_there_is_to_read_nor_none() -> None:
    assert len(list(share_among_tasks(list(target_parts(target(), 0)), 8))) == 1
    nothing: list[TargetPart] = []
    assert [names(some) for some, _ in share_among_tasks(nothing, 8)] == [[]]


def test_requests_of_all_tasks_together_are_bounded() -> None:
    for tasks in (1, 2, 7, 400, 5000):
        requests = [found for _, found in share_among_tasks(range(1000), tasks)]
        assert sum(requests) <= REQUESTS
        assert min(requests) > 0


def test_messages_are_asked_for_within_the_same_bounds() -> None:
    pieces = [StreamPiece(target=target(), stream="S") for _ in range(5000)]
    found = share_pieces(pieces, 400, is_followed=True)
    assert sum(part.requests for part in found) <= REQUESTS
    assert sum(len(part.value) for part in found) == 5000


def test_what_was_large_at_the_last_look_is_split() -> None:
    assert [len(list(target_parts(target(), objects))) for objects in (0, 30_000, 100_000, 10_000_000)] == [1, 1, 5, 16]


def test_how_large_a_target_is_tells_its_newest_look_that_read_all_of_it(spark: SparkSession) -> None:
    """Whatever runs are called."""

    def look(name: str, run: str, day: int, objects: int, *, failed: bool = False) -> DataFrame:
        rows = f"if({failed} and id = 0, 'error', 'stream') as row"
        on = f"date'2026-11-{day:02}' as day, timestamp'2026-11-{day:02} 02:00' as at"
        return spark.range(objects).selectExpr(f"'{name}' as target", f"'{run}' as run", rows, *on.split(", "))

    looks = [
        look("big", "test", 10, 5), look("big", "2026-11-19", 19, HEAVY), look("big", "2026-11-20", 20, 1, failed=True),
        look("shrunk", "z", 18, HEAVY), look("shrunk", "a", 19, HEAVY - 1),
        look("long ago", "2026-11-01", 1, HEAVY),
    ]  # fmt: skip
    found = heavy_targets(reduce(type(looks[0]).unionByName, looks), since=date(2026, 11, 7))
    assert [tuple(row) for row in found.collect()] == [("big", HEAVY)]


def test_subjects_of_a_stream_are_read_once(fleet: Callable[..., Path]) -> None:
    file = fleet(big={"server": "nats://x", "parts": 4})
    options = {"fleet": str(file), "sizes": json.dumps({"big": 1_000_000}), "tasks": "4", "stream": "S"}
    for table, expected in ((CONFIGS, 4), (SUBJECTS, 1)):
        name = "configs" if table is CONFIGS else "subjects"
        assert len(TargetsReader({**options, "table": name}, table).partitions()) == expected
