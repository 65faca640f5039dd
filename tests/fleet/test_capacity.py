"""When streams are full, from what successive looks saw; and what is stored beside the payload, as a real server counts."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.fleet.capacity import capacity
from reconciler.fleet.rows import rows_of
from reconciler.fleet.tables import MESSAGES, SNAPSHOTS, SUBJECTS
from reconciler.server.api import JetStream
from reconciler.server.observe import observe
from tests.fleet.drift_rows import Row, night
from tests.support.accounts import Account, Pool
from tests.support.jetstream import make_stream, talk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

PAYLOAD = b"0123456789"
HEADERS = {"Nats-Msg-Id": "7", "Trace": "abc"}
MESSAGES_EACH = 3


def at(moment: datetime, target: str, *rows: Row) -> list[Row]:
    run = f"{moment:%Y-%m-%d}"
    return [{"target": target, "at": moment, "day": moment.date(), "run": run, **row} for row in rows]


def stream(name: str, messages: int, size: int, *, created: str = "2026", **config: Any) -> Row:
    said = {
        "created": created,
        "config": {"storage": "file", "num_replicas": 1, "max_bytes": -1, "max_msgs": -1, **config},
    }
    return {"row": "stream", "scope": name, "messages": messages, "bytes": size, "json": json.dumps(said)}


def account(used: int, most: int, **tiers: Any) -> Row:
    limits = {"max_storage": most, "max_memory": -1}
    usage = {"storage": used, "memory": 0, **({"tiers": tiers} if tiers else {})}
    return {"row": "target", "json": json.dumps({"limits": limits, "usage": usage})}


def growing() -> list[Row]:
    """Four looks; the second did not reach `eu`."""
    rows: list[Row] = []
    for n in (0, 2, 3):
        rows += at(
            night(n), "eu",
            account(10_000 + 100 * n, 11_300),
            stream("GROWS", 100 + 10 * n, 5_000 + 100 * n, max_bytes=6_300, max_msgs=1_130),
            stream("SHRINKS", 100 - n, 1_000 - n, max_bytes=2_000),
            stream("FULL", 10, 2_000, max_bytes=2_000, discard="new"),
            stream("ANEW", 10 * n, 900 - 300 * n if n < 2 else 100 * n, created="2026" if n < 2 else "2027", max_bytes=1_300),
            stream("R3", 1, 10 + n, num_replicas=3),
        )  # fmt: skip
    rows += at(night(1), "eu", {"row": "error", "error": "no answer within 5s"})
    tier = {"storage": 600, "memory": 0, "limits": {"max_storage": 1_000, "max_memory": 0}}
    return rows + at(
        night(3), "tiers", account(0, 0, R3=tier), stream("R3", 1, 200, num_replicas=3), stream("R1", 1, 200)
    )


@pytest.fixture(scope="module")
def measured() -> list[Row]:
    """Messages of ten bytes on a real server."""
    pool = Pool()
    try:
        place = pool.account()
        talk(place, _made)
        asyncio.run(_publish(place))
        return at(night(3), "real", *rows_of(talk(place, observe)))
    finally:
        pool.close()


async def _made(js: JetStream) -> None:
    for storage in ("file", "memory"):
        await make_stream(js, f"many_{storage}", subjects=[f"many.{storage}.*"], storage=storage)
        await make_stream(js, f"one_{storage}", subjects=[f"one.{storage}"], storage=storage)


async def _publish(place: Account) -> None:
    nc = await place.connect()
    for storage in ("file", "memory"):
        for n in range(MESSAGES_EACH):
            headers = HEADERS if n == 0 else None
            await nc.request(f"many.{storage}.{'x' * n}y", PAYLOAD, timeout=10, headers=headers)
            await nc.request(f"one.{storage}", PAYLOAD, timeout=10)
    await nc.close()


@pytest.fixture(scope="module")
def found(spark: SparkSession, measured: list[Row]) -> dict[tuple[str, str], Any]:
    subjects = [
        {"target": "real", "stream": f"many_{storage}", "subject": f"many.{storage}.{'x' * n}y", "messages": 1}
        for storage in ("file", "memory") for n in range(MESSAGES_EACH)
    ]  # fmt: skip
    messages = [
        {"target": "real", "stream": f"many_{storage}", "sequence": n, "headers": HEADERS if n == 1 else None}
        for storage in ("file", "memory") for n in (1, 2, 3)
    ]  # fmt: skip
    rows = capacity(
        _frame(spark, growing() + measured, SNAPSHOTS),
        _frame(spark, subjects, SUBJECTS),
        _frame(spark, messages, MESSAGES),
    )
    return {(row.target, row.stream): row for row in rows.collect()}


def _frame(spark: SparkSession, rows: list[Row], schema: StructType) -> DataFrame:
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in rows], schema)


def test_growth_is_the_line_through_the_looks_that_reached_it(found: dict[tuple[str, str], Any]) -> None:
    row = found["eu", "GROWS"]
    assert (row.messages, row.bytes, row.looks, row.since.day) == (130, 5_300, 3, 1)
    assert (row.messages_per_day, row.bytes_per_day) == (pytest.approx(10), pytest.approx(100))


def test_a_stream_is_full_at_the_limit_it_reaches_first(found: dict[tuple[str, str], Any]) -> None:
    row = found["eu", "GROWS"]
    assert row.days_to_max_messages == pytest.approx(100)
    assert row.days_to_max_bytes == pytest.approx(10)
    assert (row.account_bytes, row.account_limit, row.days_to_account_limit) == (10_300, 11_300, pytest.approx(10))
    assert row.days == pytest.approx(10)


def test_what_does_not_grow_has_all_the_time_there_is(found: dict[tuple[str, str], Any]) -> None:
    assert found["eu", "SHRINKS"].days_to_max_bytes is None
    assert found["eu", "R3"].max_bytes is None


def test_what_is_full_has_none_left(found: dict[tuple[str, str], Any]) -> None:
    assert (found["eu", "FULL"].days, found["eu", "FULL"].when_full) == (0, "new")


def test_a_stream_that_was_made_anew_begins_again(found: dict[tuple[str, str], Any]) -> None:
    row = found["eu", "ANEW"]
    assert (row.looks, row.bytes_per_day, row.days_to_max_bytes) == (2, pytest.approx(100), pytest.approx(10))


def test_one_look_tells_no_growth(found: dict[tuple[str, str], Any]) -> None:
    row = found["tiers", "R3"]
    assert (row.looks, row.bytes_per_day, row.days) == (1, None, None)


def test_where_an_account_has_tiers_the_limit_is_that_of_the_tier(found: dict[tuple[str, str], Any]) -> None:
    assert (found["tiers", "R3"].account_bytes, found["tiers", "R3"].account_limit) == (600, 1_000)
    assert found["tiers", "R1"].account_limit is None


@pytest.mark.parametrize("storage", ["file", "memory"])
@pytest.mark.parametrize(("name", "by"), [("many", "subjects"), ("one", "config")])
def test_what_is_stored_beside_the_payload_is_what_the_server_counts(
    found: dict[tuple[str, str], Any], name: str, by: str, storage: str
) -> None:
    row = found["real", f"{name}_{storage}"]
    assert (row.records, row.records_by) == (row.bytes - MESSAGES_EACH * len(PAYLOAD), by)


def test_without_a_count_of_subjects_it_is_at_least_the_record_itself(found: dict[tuple[str, str], Any]) -> None:
    assert (found["eu", "GROWS"].records, found["eu", "GROWS"].records_by) == (130 * 30, "least")
