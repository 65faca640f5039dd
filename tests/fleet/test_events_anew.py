"""`fleet events`, night after night: only what came since is read, nothing is lost, whatever became of the streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from reconciler.cli.run import run
from reconciler.fleet.accounts.source import read_live
from reconciler.fleet.events.events import merged_events, positions, up_to_gaps
from reconciler.fleet.report.json import fleet_schema
from reconciler.fleet.tables.store import store
from reconciler.fleet.tables.tables import MESSAGES
from reconciler.server.wire.answers import answer_of
from reconciler.server.wire.api import JetStream
from tests.fleet.told import Heard, audit, event, events
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOWN = {"server": "nats://127.0.0.1:1", "timeout": "1s"}


@dataclass(frozen=True, slots=True)
class Nights:
    """A fleet of one account that captures its events, and one that nobody reaches."""

    account: Account
    file: Path
    spark: SparkSession
    capsys: pytest.CaptureFixture[str]

    def told(self, *options: str, exit_: int = 0) -> dict[str, Any]:
        """By the command; tables are kept beside the fleet."""
        assert run(("fleet", "events", str(self.file), *options, "--format", "json")) == exit_
        said: dict[str, Any] = json.loads(self.capsys.readouterr().out)
        assert [*Draft202012Validator(json.loads(fleet_schema("events"))).iter_errors(said)] == []
        return said

    def deeds(self) -> set[str]:
        return {f"{one['deed']} {one['address']}" for one in self.told()["actors"]}

    def unread(self) -> list[str]:
        """Subjects of what the next night will read."""
        known = store(self.spark, str(self.file.parent / "fleet-data" / "test")).read("events")
        since = json.dumps(positions(known))
        rows = read_live(self.spark, self.file, "messages", since=since, targets='["eu"]').collect()
        assert [row.error for row in rows if row.error] == []
        return [row.subject.removeprefix("$JS.EVENT.ADVISORY.") for row in rows]


@pytest.fixture
def nights(
    spark: SparkSession, new_account: Callable[[], Account], fleet: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> Nights:  # fmt: skip
    account = new_account()
    return Nights(account, fleet(eu=account, down=DOWN), spark, capsys)


def told(account: Account, *names: str, anew: bool = False) -> None:
    """Streams of these names are made, and stream TOLD has kept what the server says about it."""

    async def work(js: JetStream) -> None:
        if anew:
            done(await js.request("STREAM.DELETE.TOLD"))
        await make_stream(js, "TOLD", subjects=["$JS.EVENT.ADVISORY.>"], allow_direct=True)
        heard = Heard(await js.pipeline.nc.subscribe("$JS.EVENT.ADVISORY.>"))
        for name in names:
            await make_stream(js, name, subjects=[name])
        said = ("API.STREAM.CREATE", "STREAM.CREATED")
        await heard.until(*(f"{words}.{name}" for words in said for name in names))
        await _stored(js)
        done(await js.request("STREAM.NAMES"))  # is told when all of that is stored, so that only this is read again
        await heard.until("API.STREAM.NAMES")
        await _stored(js)

    talk(account, work)


async def _stored(js: JetStream) -> None:
    """Is all that was told before."""
    done(answer_of(await js.pipeline.request("$JS.EVENT.ADVISORY.MARK", b"", within=10)))


def test_each_night_reads_what_came_since_the_last_one(nights: Nights) -> None:
    told(nights.account, "A")
    assert "create stream/A" in nights.deeds()
    assert not any("CREATED.A" in subject for subject in nights.unread())
    told(nights.account, "B")
    assert any("CREATED.B" in subject for subject in nights.unread())
    assert not any("CREATED.A" in subject for subject in nights.unread())
    assert {"create stream/A", "create stream/B"} <= nights.deeds()


def test_a_stream_that_is_made_anew_is_read_from_its_beginning(nights: Nights) -> None:
    told(nights.account, "A", "B", "C", "D")
    nights.deeds()
    told(nights.account, "E", anew=True)
    assert {f"create stream/{name}" for name in "ABCDE"} <= nights.deeds()


def test_who_told_nothing_is_named_and_nothing_from_anybody_is_a_failure(nights: Nights) -> None:
    told(nights.account, "A")
    said = nights.told()
    assert said["unread"] == [*said["silent"]] == ["down"]
    alone = nights.told("--target", "down", exit_=1)
    assert alone["unread"] == ["down"]
    assert "127.0.0.1:1" in alone["targets"][0]["error"]


def test_the_place_to_go_on_from_is_the_newest_event_of_each_stream(spark: SparkSession) -> None:
    """Not the highest sequence: those of a stream that was made anew begin with 1."""
    rows = ((1, "api_audit", 900), (3, "api_audit", 2), (2, "api_audit", 1))
    known = events(spark, *(event(at, kind, sequence=sequence, capture="T") for at, kind, sequence in rows))
    assert positions(known) == {"east": {"T": {"sequence": 2, "time": "2026-11-20T12:00:03.000000Z"}}}
    assert positions(events(spark)) == {}


def test_of_what_was_merely_looked_at_only_the_newest_is_kept(spark: SparkSession) -> None:
    """By that one the next night knows how far was read."""
    before = events(spark, audit(1, "create", capture="T"), event(2, "api_audit", capture="T"))
    tonight = events(
        spark, event(3, "api_audit", capture="T"), event(4, "api_audit", capture="T"), event(1, "nak", capture="T")
    )
    known = merged_events(before, tonight)
    assert sorted((row.type, row.sequence) for row in known.collect()) == [
        ("api_audit", 1000), ("api_audit", 4000), ("nak", 1000),
    ]  # fmt: skip
    assert positions(known)["east"]["T"]["sequence"] == 4000


def test_what_lies_behind_a_gap_is_left_for_the_next_night(spark: SparkSession) -> None:
    def rows(*said: tuple[str | None, int | None, str | None]) -> Iterable[tuple[Any, ...]]:
        return [("east", stream, sequence, None, "s", {}, b"", error) for stream, sequence, error in said]

    read = rows(
        ("T", 1, None), ("T", 2, None), ("T", 2, "broken off"), ("T", 9, None), ("U", 9, None), (None, None, "?")
    )
    left = up_to_gaps(spark.createDataFrame([*read], MESSAGES)).where("error is null").collect()
    assert {(row.stream, row.sequence) for row in left} == {("T", 1), ("T", 2), ("U", 9)}
