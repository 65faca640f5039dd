"""What real servers of every version tell, captured by a stream of theirs, as events, pins, acks and actors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from reconciler.fleet.accounts.messages import message_rows
from reconciler.fleet.events.events import acks, actors, events, pin_periods, pins_by_group
from reconciler.fleet.tables.tables import ACKS, ACTORS, EVENTS, MESSAGES, PINNINGS, PINS
from reconciler.server.read.messages import Message
from reconciler.server.wire import audit
from tests.fleet.told import kept, provoke
from tests.support.accounts import Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import talk


@dataclass(frozen=True)
class Told:
    """By a server of each version; the target is named like it."""

    messages: dict[str, list[Message]]
    tables: dict[str, list[Row]]

    def of(self, table: str, minor: str, *columns: str) -> list[tuple[Any, ...]]:
        """In the order in which it happened, as far as the table tells."""
        found = [row for row in self.tables[table] if row.target == minor]
        return [tuple(row[column] for column in columns) for row in found]


def _frame(spark: SparkSession, told: dict[str, list[Message]]) -> DataFrame:
    columns = [_row(minor, one.sequence, one.subject, one.data) for minor, all_ in told.items() for one in all_]
    twice = [*columns, *columns]  # as two streams capture the same
    strange = [_row("2.15", 0, "s", data) for data in (b"", b"\xff", b"[]", b'{"type": 5}', None)]
    requests = [_row("hub", n, "s", _audited(n, *said)) for n, said in enumerate(REQUESTS)]
    return spark.createDataFrame([*twice, *strange, *requests], MESSAGES)


def _row(target: str, sequence: int, subject: str, data: bytes | None) -> tuple[Any, ...]:
    return (target, "EVENTS", sequence, None, subject, {}, data, None)


REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("$JS.hub.API.CONSUMER.CREATE.S.c.orders.west", {"name": "c", "config": {}}),
    ("$JS.API.CONSUMER.CREATE.S", {"name": "xK3", "config": {}}),
    ("$JS.API.CONSUMER.DURABLE.CREATE.S.d", {"config": {}}),
    ("$JS.API.CONSUMER.PAUSE.S.c", {"paused": False, "pause_until": "0001-01-01T00:00:00Z"}),
    ("$JS.API.STREAM.MSG.DELETE.UPDATE", {"success": True}),
    ("$JS.API.STREAM.UPDATE.S", {"error": {"code": 500, "err_code": 10052, "description": "maximum is 100%"}}),
    ("$JS.API.STREAM.INFO.S", {"config": {"name": "S"}}),
    ("$JS.API.STREAM.UPDATE.S", {}),
]
LEAF = {"name": "branch", "kind": "Leafnode", "acc": "A", "user": ""}


def _audited(n: int, subject: str, response: dict[str, Any]) -> bytes:
    """As in a cluster, where the request is left out."""
    told = {"type": "io.nats.jetstream.advisory.v1.api_audit", "id": str(n), "timestamp": f"2026-11-20T12:00:0{n}Z"}
    client = {"client": LEAF} if n == len(REQUESTS) - 1 else {"client": {"lang": "go", "ver": "1.9", "name": ""}}
    return json.dumps({**told, **client, "subject": subject, "response": json.dumps(response)}).encode()


@pytest.fixture(scope="module")
def told(spark: SparkSession, pool: Pool) -> Iterator[Told]:
    messages: dict[str, list[Message]] = {}
    for minor in MINORS:
        account = pool.account(minor)
        provoke(account)
        messages[minor] = talk(account, kept)
    known = events(_frame(spark, messages)).cache()
    stretches = pin_periods(known)
    found = {
        "events": known.orderBy("at", "sequence"),
        "pinnings": stretches.orderBy("since"),
        "pins": pins_by_group(stretches),
        "acks": acks(known),
        "actors": actors(known).orderBy("at"),
    }
    wanted = {"events": EVENTS, "pinnings": PINNINGS, "pins": PINS, "acks": ACKS, "actors": ACTORS}
    assert {name: frame.columns for name, frame in found.items()} == {name: one.names for name, one in wanted.items()}
    yield Told(messages, {name: frame.collect() for name, frame in found.items()})
    known.unpersist()


@pytest.mark.parametrize("minor", MINORS)
def test_every_event_is_there_once_with_its_type_and_time(told: Told, minor: str) -> None:
    found = told.of("events", minor, "type", "at", "id")
    assert len({identity for _, _, identity in found}) == len(found) == len(told.messages[minor])
    assert all(at for _, at, _ in found)
    assert {kind for kind, _, _ in found} == {
        "stream_action", "consumer_action", "api_audit", "consumer_group_pinned", "consumer_group_unpinned",
        "consumer_ack", "nak", "terminated", "max_deliver",
    }  # fmt: skip


@pytest.mark.parametrize("minor", MINORS)
def test_pins_follow_one_another_until_the_consumer_is_gone(told: Told, minor: str) -> None:
    assert told.of("pinnings", minor, "stream", "consumer", "group", "began", "ended") == [
        ("S", "c", "g", "pinned", "admin"),
        ("S", "c", "g", "admin", "pinned"),
        ("S", "c", "g", "pinned", "timeout"),
        ("S", "c", "g", "timeout", "deleted"),
    ]
    assert [pin is not None for (pin,) in told.of("pinnings", minor, "pinned_id")] == [True, False, True, False]
    assert told.of("pins", minor, "switches", "unpinned", "by_admin", "by_timeout") == [(1, 2, 1, 1)]


@pytest.mark.parametrize("minor", MINORS)
def test_one_ack_is_sampled_and_everything_else_counted(told: Told, minor: str) -> None:
    ((*counts, took),) = told.of("acks", minor, "samples", "naks", "terminated", "redelivered", "longest_seconds")
    assert counts == [1, 1, 1, 0]
    assert 0 < took < 60
    assert told.of("acks", minor, "given_up")[0][0] >= 1


@pytest.mark.parametrize("minor", MINORS)
def test_whoever_changed_something_is_named_with_what_it_was(told: Told, minor: str) -> None:
    found = told.of("actors", minor, "deed", "address", "changed")
    assert found == [
        ("create", "stream/EVENTS", None),
        ("create", "stream/S", None),
        ("create", "consumer/S/c", None),
        ("unpin", "consumer/S/c", None),
        ("update", "consumer/S/c", ["ack_wait", "priority_timeout"]),
        ("update", "stream/S", ["max_age"]),
        ("delete", "consumer/S/c", None),
    ]


@pytest.mark.parametrize("minor", MINORS)
def test_actors_are_those_that_drift_names(told: Told, minor: str) -> None:
    """By the same requests: those that change what an object is. The table has them by the time they tell; a server that
    answers requests on several threads stores two that follow one another in either order."""
    named = [one.actor for message in told.messages[minor] if (one := audit.event_of(message.data)) is not None]
    expected = [(one.request, one.client, one.user, one.host) for one in sorted(named, key=lambda one: one.at)]
    found = told.of("actors", minor, "request", "client", "user", "host")
    assert [one for one in found if ".UNPIN." not in one[0]] == expected


def test_requests_are_read_in_all_their_spellings(told: Told) -> None:
    assert told.of("events", "hub", "deed", "stream", "consumer", "config", "refused") == [
        ("create", "S", "c", "{}", None),
        ("create", "S", "xK3", "{}", None),
        ("create", "S", "d", "{}", None),
        ("resume", "S", "c", None, None),
        ("delete message", "UPDATE", None, None, None),
        ("update", "S", None, None, "maximum is 100% (10052)"),
        (None, None, None, None, None),
        ("update", "S", None, None, None),
    ]


def test_a_client_goes_by_its_name_its_language_or_the_leaf_node_it_came_through(told: Told) -> None:
    names = [client for (client,) in told.of("events", "hub", "client")]
    assert (names[0], names[-1]) == ("go 1.9", "somebody behind leaf node branch")
    assert told.of("events", "hub", "user")[-1] == (None,)


def test_rows_of_messages_keep_microseconds() -> None:
    from reconciler.fleet.accounts.messages import StreamPiece
    from tests.fleet.test_message_ranges import EAST

    page = [Message(sequence=1, time="2026-11-21T06:40:06.728740131Z", subject="s"),
            Message(sequence=2, time="2026-11-21T06:40:06Z", subject="s")]  # fmt: skip
    times = message_rows(StreamPiece(target=EAST, stream="S"), page).column("time").to_pylist()
    assert [str(time) for time in times] == ["2026-11-21 06:40:06.728740+00:00", "2026-11-21 06:40:06+00:00"]
