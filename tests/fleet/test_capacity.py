"""When streams are full, from what successive looks saw; and what is stored beside the payload, as a real server counts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.fleet.accounts.rows import rows_of
from reconciler.fleet.events.capacity import capacity
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.fleet.drift_rows import Row, night
from tests.fleet.snapshot_rows import account, at, frame, stream
from tests.support.accounts import Account, Pool
from tests.support.jetstream import make_stream, talk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAYLOAD = b"0123456789"
HEADERS = {"Nats-Msg-Id": "7", "Trace": "abc"}
MESSAGES_EACH = 3


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
            stream("HELD", 10, 1_900, max_bytes=2_000, discard="new"),
            stream("EMPTY", 0, 0, max_bytes=2_000, discard="new"),
            stream("ANEW", 10 * n, 900 - 300 * n if n < 2 else 100 * n, created="2026" if n < 2 else "2027", max_bytes=1_300),
            stream("R3", 1, 10 + n, num_replicas=3),
        )  # fmt: skip
    rows += at(night(1), "eu", {"row": "error", "error": "no answer within 5s"})
    tier = {"storage": 600, "memory": 0, "limits": {"max_storage": 1_000, "max_memory": 0}}
    tiers = (account(0, 0, R3=tier), stream("R3", 1, 200, num_replicas=3), stream("R1", 1, 200))
    close = (account(1_500, 2_000), stream("R3", 1, 200, num_replicas=3), stream("R1", 1, 200))
    return rows + at(night(3), "tiers", *tiers) + at(night(3), "close", *close)


def gone() -> list[Row]:
    """What some look no longer sees, or cannot tell."""
    full: dict[str, Any] = {"max_bytes": 2_000}
    seen = [account(0, 0), stream("STAYS", 1, 1_900, **full), stream("GONE", 1, 1_900, **full)]
    stays = stream("STAYS", 1, 1_950, **full)
    hidden = {"row": "unknown", "scope": "stream/GONE", "error": "its leader did not answer"}
    unlisted = {"row": "unknown", "scope": "streams", "error": "STREAM.LIST: no permission"}
    silent = {"row": "error", "error": "no answer within 5s"}
    then = {"deleted": [account(0, 0), stays], "unsure": [account(0, 0), stays, hidden], "unlisted": [account(0, 0), unlisted],
            "emptied": [account(0, 0)], "unread": [silent], "half read": [account(0, 0), stays, silent],
            "half listed": [account(0, 0), stays, unlisted]}  # fmt: skip
    return [row for name, rows in then.items() for row in at(night(1), name, *seen) + at(night(2), name, *rows)]


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
            await nc.request(f"many.{storage}.{'x' * n}y", PAYLOAD, timeout=30, headers=headers)
            await nc.request(f"one.{storage}", PAYLOAD, timeout=30)
    await nc.close()


@pytest.fixture(scope="module")
def found(spark: SparkSession, measured: list[Row]) -> dict[tuple[str, str], Any]:
    rows = capacity(frame(spark, growing() + measured + gone()))
    return {(row.target, row.stream): row for row in rows.collect()}


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


def test_what_has_no_room_for_another_message_of_its_size_is_full(found: dict[tuple[str, str], Any]) -> None:
    """Whoever is refused stays below the limit for ever."""
    assert (found["eu", "HELD"].days_to_max_bytes, found["eu", "EMPTY"].days_to_max_bytes) == (0, None)


def test_a_stream_that_was_made_anew_begins_again(found: dict[tuple[str, str], Any]) -> None:
    row = found["eu", "ANEW"]
    assert (row.looks, row.bytes_per_day, row.days_to_max_bytes) == (2, pytest.approx(100), pytest.approx(10))


def test_one_look_tells_no_growth(found: dict[tuple[str, str], Any]) -> None:
    row = found["tiers", "R3"]
    assert (row.looks, row.bytes_per_day, row.days) == (1, None, None)


def test_where_an_account_has_tiers_the_limit_is_that_of_the_tier_for_each_replica(
    found: dict[tuple[str, str], Any],
) -> None:
    assert (found["tiers", "R3"].account_bytes, found["tiers", "R3"].account_limit) == (600, 3_000)
    assert found["tiers", "R1"].account_limit is None


def test_another_message_needs_room_in_the_account_for_each_replica(found: dict[tuple[str, str], Any]) -> None:
    """500 bytes are left, and it has 200."""
    assert (found["close", "R3"].account_limit, found["close", "R3"].days_to_account_limit) == (2_000, 0)
    assert found["close", "R1"].days_to_account_limit is None


@pytest.mark.parametrize(
    ("target", "streams"),
    [
        ("deleted", {"STAYS": 1_950}),
        ("emptied", {}),
        ("unsure", {"STAYS": 1_950, "GONE": 1_900}),
        ("unlisted", {"STAYS": 1_900, "GONE": 1_900}),
        ("unread", {"STAYS": 1_900, "GONE": 1_900}),
        ("half read", {"STAYS": 1_950, "GONE": 1_900}),
        ("half listed", {"STAYS": 1_950, "GONE": 1_900}),
    ],
)
def test_what_the_newest_look_no_longer_sees_is_not_about_to_be_full(
    found: dict[tuple[str, str], Any], target: str, streams: dict[str, int]
) -> None:
    """A look that could not tell is none that did not see it."""
    assert {stream: row.bytes for (name, stream), row in found.items() if name == target} == streams


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_what_is_stored_beside_the_payload_is_what_the_server_counts(
    found: dict[tuple[str, str], Any], storage: str
) -> None:
    """Where there is but one subject, and no header."""
    row = found["real", f"one_{storage}"]
    assert row.records == row.bytes - MESSAGES_EACH * len(PAYLOAD)


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_longer_subjects_and_headers_come_on_top(found: dict[tuple[str, str], Any], storage: str) -> None:
    row, one = found["real", f"many_{storage}"], {"file": 30, "memory": 16}[storage]
    assert row.records == MESSAGES_EACH * (one + len(f"many.{storage}.*")) < row.bytes - MESSAGES_EACH * len(PAYLOAD)


def test_without_subjects_of_its_own_it_is_at_least_the_record_itself(found: dict[tuple[str, str], Any]) -> None:
    assert found["eu", "GROWS"].records == 130 * 30
