"""What a report says of streams that fill up: those that refuse messages are news, those that drop their oldest are not."""

from __future__ import annotations

from typing import Any

from reconciler.fleet.report.findings import FleetFindings
from reconciler.fleet.report.outliers_and_capacity import capacity_part
from reconciler.fleet.report.overview import overview
from reconciler.report.document.pieces import Grid, Prose, Tiles

Row = dict[str, Any]


def stream(target: str, name: str, when_full: str, days: float, **limits: float) -> Row:
    own = limits or {"days_to_max_bytes": days}
    return {
        "target": target,
        "stream": name,
        "when_full": when_full,
        "bytes": 9,
        "bytes_per_day": 1.0,
        "days": days,
        **own,
    }


def rings(count: int = 40) -> tuple[Row, ...]:
    return tuple(stream("eu", f"RING_{n}", "old", 0.0) for n in range(count))


def told(*rows: Row) -> tuple[str, str, list[str]]:
    """Value and tone of the tile, and the sentences."""
    tiles, said = overview(FleetFindings(command="history", fleet="f", capacity=rows, drift=())).pieces
    assert isinstance(tiles, Tiles) and isinstance(said, Prose)
    (room,) = [one for one in tiles.tiles if one.label == "Room"]
    return room.value, room.tone, [line for line in said.lines if "full" in line]


def test_streams_that_drop_their_oldest_are_no_alarm() -> None:
    assert told(*rings()) == ("–", "good", [])


def test_a_stream_that_refuses_soon_stands_before_all_that_drop_their_oldest_now() -> None:
    rows = (*rings(), stream("eu", "ORDERS", "new", 3.0))
    grid = next(one for one in capacity_part(rows).pieces if isinstance(one, Grid))
    assert [cell.text for cell in grid.rows[0]][1:4] == ["ORDERS", "3 days", "max_bytes, refuses then"]
    assert told(*rows)[2] == [
        "`ORDERS` on `eu` is full in about 3 days at the growth of the last looks, and refuses new messages then."
    ]


def test_the_limit_of_the_account_counts_for_those_that_drop_their_oldest_too() -> None:
    row = stream("eu", "RING", "old", 0.0, days_to_max_bytes=0.0, days_to_account_limit=4.0)
    assert told(row) == (
        "4 days",
        "bad",
        ["`RING` on `eu` is full in about 4 days at the growth of the last looks, and refuses new messages then."],
    )


def test_what_is_full_by_now_is_not_told_as_full_in_some_time() -> None:
    rows = [
        stream(target, "ORDERS", "new", days) for target, days in (("eu", 0.0), ("us", 0.0), ("ap", 5.0), ("in", 7.0))
    ]
    assert told(*rows)[2] == [
        "`ORDERS` on `eu`, `us` is full and refuses new messages.",
        "`ORDERS` on `ap`, `in` is full first in about 5 days at the growth of the last looks, and refuses new messages then.",
    ]


def test_how_many_drop_their_oldest_is_told_once() -> None:
    lead = capacity_part(rings(2)).lead
    assert lead == (
        "No stream refuses messages within 14 days at the growth of the last looks. "
        "2 streams will be dropping the oldest messages by then, as configured."
    )
