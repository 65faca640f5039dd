"""What an API audit event tells, and who changed a value according to a row of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler.changes.kind import Raw
from reconciler.server.wire.audit import (
    UNKNOWN,
    Event,
    event_of,
    who_changed,
    who_deleted,
    who_deleted_before,
    who_made,
)

S = Raw("stream", ("S",))
C = Raw("consumer", ("S", "c"))


def said(endpoint: str, response: dict[str, Any], who: str = "alice", **client: Any) -> bytes:
    about = {
        "host": "10.0.0.5",
        "id": 7,
        "acc": "A",
        "user": "ops",
        "name": who,
        "server": "n1",
        "kind": "Client",
        **client,
    }
    return json.dumps(
        {"type": "io.nats.jetstream.advisory.v1.api_audit", "timestamp": "2026-06-01T10:00:00Z", "client": about,
         "subject": f"$JS.API.{endpoint}", "response": json.dumps(response)}
    ).encode()  # fmt: skip


def update(who: str, **config: Any) -> Event:
    found = event_of(said("STREAM.UPDATE.S", {"config": config}, who))
    assert found is not None
    return found


def gone(who: str, endpoint: str = "STREAM.DELETE.S") -> Event:
    found = event_of(said(endpoint, {"success": True}, who))
    assert found is not None
    return found


def author(events: list[Event], now: Any, before: Any = UNKNOWN, raw: Raw = S) -> str | None:
    found = who_changed(events, raw, lambda config: config.get("max_age"), now, before)
    return found.actor.client if found.actor else None


@pytest.mark.parametrize(
    "data",
    [
        said("STREAM.INFO.S", {"config": {}}), said("STREAM.UPDATE.S", {"error": {"err_code": 10052}}), b"", b"[]", b"{}",
        said("STREAM.PURGE.S", {"success": True}), b'{"subject":"$JS.API.STREAM.UPDATE.S","client":7,"response":"{}"}',
        said("CONSUMER.CREATE.S", {"config": {}}), b'{"subject":"x","client":{},"response":"not json"}',
    ],
)  # fmt: skip
def test_reads_refusals_and_whatever_is_no_audit_event_change_nothing(data: bytes) -> None:
    assert event_of(data) is None


@pytest.mark.parametrize(
    ("endpoint", "on"),
    [
        ("STREAM.CREATE.S", S), ("STREAM.RESTORE.S", S), ("CONSUMER.CREATE.S.c", C), ("CONSUMER.CREATE.S.c.s.*.x", C),
        ("CONSUMER.DURABLE.CREATE.S.c", C), ("CONSUMER.PAUSE.S.c", C), ("CONSUMER.DELETE.S.c", C),
    ],
)  # fmt: skip
def test_every_way_to_change_something_names_what_it_is(endpoint: str, on: Raw) -> None:
    found = event_of(said(endpoint, {"config": {}}))
    assert found is not None
    assert found.on == on


def test_the_last_one_after_whom_it_was_so_did_it() -> None:
    row = [update("alice", max_age=1), update("bob", max_age=2), update("carol", max_age=2, max_msgs=1)]
    assert author(row, now=2, before=7) == "bob"


def test_who_changed_it_away_and_back_is_who_changed_it_back() -> None:
    row = [update("alice", max_age=2), update("bob", max_age=1), update("carol", max_age=2)]
    assert author(row, now=2, before=7) == "carol"


def test_nobody_is_named_where_what_it_was_before_is_unknown() -> None:
    assert author([update("alice", max_age=2)], now=2) is None
    assert author([update("alice", max_age=1), update("bob", max_age=2)], now=2) == "bob"


def test_nobody_is_named_where_the_row_does_not_end_with_what_is_live() -> None:
    assert author([update("alice", max_age=2), update("bob", max_age=3)], now=2, before=7) is None
    assert author([], now=2, before=7) is None


def test_nobody_is_named_for_what_was_so_all_along() -> None:
    assert author([update("alice", max_age=2)], now=2, before=2) is None


def test_what_was_deleted_and_made_again_is_by_who_made_it() -> None:
    assert author([update("alice", max_age=2), gone("bob"), update("carol", max_age=2)], now=2, before=7) == "carol"


def test_a_deletion_is_by_the_last_who_asked_also_for_the_stream_around_it() -> None:
    assert (by := who_deleted([gone("alice"), update("bob"), gone("carol")], S)).actor
    assert by.actor.client == "carol"
    assert (by := who_deleted([gone("alice")], C)).actor
    assert by.actor.client == "alice"
    assert who_deleted([gone("alice"), update("bob")], S).actor is None


def test_who_made_it_anew_answers_for_this_very_creation_time() -> None:
    made = event_of(said("STREAM.CREATE.S", {"config": {}, "created": "T2"}, "bob"))
    again = event_of(said("STREAM.CREATE.S", {"config": {}, "created": "T2"}, "carol"))
    assert made is not None
    assert again is not None
    assert (by := who_made([gone("alice"), made, again], S, "T2")).actor
    assert by.actor.client == "bob"
    assert who_made([made, again], S, "T2").actor is None
    assert (before := who_deleted_before([gone("alice"), made, again, gone("carol")], S, "T2")) and before.actor
    assert before.actor.client == "alice"
    assert who_deleted_before([made, gone("alice")], S, "T2") is None, "that was a later one"
    assert who_made([gone("alice"), made], S, "T3").actor is None


def test_behind_a_leaf_node_the_server_knows_no_client() -> None:
    found = event_of(said("STREAM.UPDATE.S", {"config": {}}, "edge-1", kind="Leafnode"))
    assert found is not None
    assert found.actor.client == "somebody behind leaf node edge-1"


def test_a_pause_tells_nothing_of_other_fields() -> None:
    paused = event_of(said("CONSUMER.PAUSE.S.c", {"paused": True, "pause_until": "2099-01-01T00:00:00Z"}, "bob"))
    changed = event_of(said("CONSUMER.CREATE.S.c", {"name": "c", "config": {"max_age": 2}}, "alice"))
    assert paused is not None
    assert changed is not None
    assert author([changed, paused], now=2, before=7, raw=C) == "alice"
    assert author([paused, changed], now=2, before=7, raw=C) == "alice"
