"""Messages of streams as a table: all that are there, or followed into a sink that has each of them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from reconciler.fleet.accounts.source import read_live
from reconciler.fleet.tables.tables import MESSAGES
from reconciler.server.wire.answers import answer_of
from reconciler.server.wire.api import JetStream
from tests.fleet.keeping import kept_up
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.servers import running

FleetFile = Callable[..., Path]
NOBODY = {"server": "nats://127.0.0.1:1"}


def publish(account: Account, *words: str) -> None:
    async def work(js: JetStream) -> None:
        await make_stream(js, "S", subjects=["s"], allow_direct=True)
        for word in words:
            done(answer_of(await js.pipeline.request("s", word.encode(), within=10)))

    talk(account, work)


def follow(spark: SparkSession, fleet: Path, folder: Path) -> list[tuple[str, int | None, str | None]]:
    """Everything that came since the last time, three messages at a time for the two targets, beside what was kept."""
    rows = kept_up(spark, fleet, str(folder), stream="S", most="6").collect()
    said = ((row.target, row.sequence, row.data and row.data.decode()) for row in rows)
    return sorted(said, key=lambda row: (row[0], row[1] or 0, row[2] or ""))


COMMITS, SINK = "S/checkpoint/commits", "S/messages/_spark_metadata"


def killed(folder: Path, *unnoted: str) -> None:
    """As whoever is killed leaves it: the last batch was begun, and here it was not noted any more that it is done."""
    for notes in unnoted:
        last = max((folder / notes).glob("[0-9]*"), key=lambda file: int(file.name.split(".")[0]))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink()


SECRET = "correct-horse-battery"
"""Of the user who is let in; the one who is not has another."""
ONE_USER = f"accounts {{A: {{jetstream: enabled, users: [{{user: u, password: {SECRET}}}]}}}}"


@pytest.fixture
def guarded() -> Iterator[Account]:
    with running(config=ONE_USER) as server:
        yield Account(server=server, user="u", password=SECRET)


def test_a_query_broken_off_anywhere_and_started_again_has_each_message_once(
    spark: SparkSession, fleet: FleetFile, guarded: Account, tmp_path: Path
) -> None:
    account, words = guarded, [f"w{n}" for n in range(1, 10)]
    file = fleet(east=account, west=replace(account, password=f"not-{SECRET}"))
    publish(account, *words[:5])
    follow(spark, file, tmp_path)
    killed(tmp_path, COMMITS, SINK)  # before its files counted
    publish(account, *words[5:7])  # while nobody followed
    follow(spark, file, tmp_path)
    killed(tmp_path, COMMITS)  # after that
    publish(account, *words[7:])
    found = follow(spark, file, tmp_path)
    expected = [("east", n, word) for n, word in enumerate(words, 1)]
    assert found == [*expected, *[("west", None, None)] * 3]  # who looks says once whom he did not reach
    assert [file for file in _written(tmp_path) if SECRET.encode() in file.read_bytes()] == []


def _written(folder: Path) -> list[Path]:
    return [file for file in (folder / "S").rglob("*") if file.is_file()]


def test_a_range_of_several_targets_is_read_at_once(
    spark: SparkSession, fleet: FleetFile, new_account: Callable[..., Account]
) -> None:
    east, west = new_account(), new_account()
    publish(east, "a", "b", "c", "d")
    publish(west, "e")
    found = read_live(spark, fleet(east=east, west=west, gone=NOBODY), "messages", stream="S", first="2", last="3")
    rows = sorted((row.target, row.sequence or 0, row.data or b"", bool(row.error)) for row in found.collect())
    assert found.schema == MESSAGES
    assert rows == [("east", 2, b"b", False), ("east", 3, b"c", False), ("gone", 0, b"", True)]


async def gone(js: JetStream) -> None:
    done(await js.request("STREAM.DELETE.S"))


def test_a_stream_that_loses_what_was_promised_is_a_row_and_the_query_goes_on(
    spark: SparkSession, fleet: FleetFile, new_account: Callable[..., Account], tmp_path: Path
) -> None:
    east, west = new_account(), new_account()
    file = fleet(east=east, west=west)
    publish(east, "a", "b")
    publish(west, "c")
    follow(spark, file, tmp_path)
    killed(tmp_path, COMMITS, SINK)
    talk(east, gone)
    publish(west, "d")
    follow(spark, file, tmp_path)
    publish(east, "new")
    rows = kept_up(spark, file, str(tmp_path), stream="S", most="6").collect()
    assert {row.error for row in rows if row.error} == {
        "stream S: stream not found (10059) (after message 0)",  # of what was promised
        "stream S: stream not found (10059)",  # as the next look has it
        "stream S was recreated or set back: it continues with another message 1",
    }
    found = sorted((row.target, row.sequence, row.data.decode()) for row in rows if row.data)
    assert found == [("east", 1, "new"), ("west", 1, "c"), ("west", 2, "d")]


def test_a_target_out_of_reach_ends_the_query_and_is_read_when_it_is_back(
    spark: SparkSession, fleet: FleetFile, guarded: Account, tmp_path: Path
) -> None:
    there = fleet(east=guarded)
    publish(guarded, "a", "b")
    follow(spark, there, tmp_path)
    killed(tmp_path, COMMITS, SINK)
    away = fleet(defaults={"deadline": "1s"}, east=NOBODY)
    with pytest.raises(StreamingQueryException, match=r"east: .*start the query again"):
        follow(spark, away, tmp_path)
    fleet(east=guarded)
    assert follow(spark, there, tmp_path) == [("east", 1, "a"), ("east", 2, "b")]
