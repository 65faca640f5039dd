"""Streams that end before what a consumer, a copy or the record knows of them: because they lost messages, or as a file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.kinds.across.went_back import consumer_beyond_end_warnings, went_back_warnings
from tests.support.topologies import scene

STATE = {"first_seq": 1, "last_seq": 100, "messages": 100}
STARTS = "streams: {S: {subjects: [s.*], consumers: {c: {deliver_policy: by_start_sequence, opt_start_seq: 300}}}}"
FIRST = "streams: {S: {subjects: [s.*], consumers: {c: {}}}}"


@pytest.mark.parametrize(
    ("file", "delivered", "said"),
    [
        (STARTS, {"consumer_seq": 0, "stream_seq": 299}, []),
        (STARTS, {"consumer_seq": 1, "stream_seq": 300}, ["it continues after sequence 300, but S ends at 100"]),
        (FIRST, {"consumer_seq": 120, "stream_seq": 120}, ["it continues after sequence 120, but S ends at 100"]),
        (FIRST, {"consumer_seq": 100, "stream_seq": 100}, []),
    ],
)
def test_only_what_the_file_does_not_ask_for_is_a_loss(
    file: str, delivered: dict[str, int], said: list[str], tmp_path: Path
) -> None:
    raw = {"streams": {"S": {"state": STATE}}, "consumers": {"S": {"c": {"delivered": delivered}}}}
    found = consumer_beyond_end_warnings(scene(tmp_path, file, file, raw=raw).snapshot)
    assert [one.message.partition(":")[0] for one in found] == said


COPIED = "streams: {O: {subjects: [o], storage: memory}, M: {mirror: {name: O}}, S: {sources: [{name: O}]}}"
READ, RESTED, BUSY = "2026-06-02T08:00:10Z", "2026-06-02T08:00:00Z", "2026-06-02T08:00:09Z"
EMPTY = {"messages": 0, "last_seq": 0}


def copy(last: int, stored: str = RESTED, seq: int = 0) -> dict[str, Any]:
    """A stream that holds so many copies; `seq`: what its server says of how far its source has come."""
    reported = {"sources": [{"name": "O", "lag": 0, "seq": seq}]} if seq else {}
    return {"state": {"messages": last, "last_seq": last, "last_ts": stored}, **reported}


BEYOND = "it has copied O up to sequence 10, but O ends at 0"


@pytest.mark.parametrize(
    ("origin", "raw", "said"),
    [
        (EMPTY, {"M": copy(10)}, {"stream/M": BEYOND}),
        (EMPTY, {"M": copy(10, BUSY)}, {}),
        (EMPTY, {"S": copy(15, seq=10)}, {"stream/S": BEYOND}),
        (EMPTY, {"S": copy(15)}, {}),
        ({"messages": 10, "last_seq": 10}, {"M": copy(10), "S": copy(15, seq=10)}, {}),
        (
            {"messages": 4, "last_seq": 4},
            {"M": copy(10)},
            {"stream/M": "it has copied O up to sequence 10, but O ends at 4"},
        ),
    ],
)
def test_a_copy_knows_a_later_message_than_its_origin(
    origin: dict[str, int], raw: dict[str, Any], said: dict[str, str], tmp_path: Path
) -> None:
    raw = {"streams": {"O": {"state": origin, "ts": READ, "created": "2026-06-01T08:00:00Z"}, **raw}}
    found = [*went_back_warnings(scene(tmp_path, COPIED, COPIED, raw=raw).view())]
    assert {one.address: one.message.partition(":")[0] for one in found} == said
    purge = "before anybody writes to it, run nats stream purge O --seq 11 --force"
    assert all((purge in (one.fix or "")) is (origin == EMPTY) for one in found)


def test_a_source_begins_again_with_a_stream_that_was_recreated_since(tmp_path: Path) -> None:
    raw = {"streams": {"O": {"state": EMPTY, "ts": READ, "created": "2026-06-02T08:00:05Z"}, "S": copy(15, seq=10)}}
    assert [*went_back_warnings(scene(tmp_path, COPIED, COPIED, raw=raw).view())] == []


@pytest.mark.parametrize(
    ("created", "last", "said"),
    [
        ("2026-06-01T08:00:00Z", 0, ["it ended at sequence 500 when it was recorded on 2026-06-02, and ends at 0 now"]),
        ("2026-06-01T08:00:00Z", 500, []),
        ("2026-06-03T08:00:00Z", 0, []),
    ],
)
def test_the_record_knows_a_later_message_than_the_stream(
    created: str, last: int, said: list[str], tmp_path: Path
) -> None:
    """One that was recreated since is told by rules."""
    file = "streams: {O: {subjects: [o], storage: memory}}"
    seen = {"created": "2026-06-01T08:00:00Z", "at": 500, "server": "2.15.1"}
    records = {"stream/O": {"written": "2026-06-02T08:00:00Z", "seen": seen}}
    raw = {"streams": {"O": {"created": created, "state": {"messages": last, "last_seq": last}}}}
    found = went_back_warnings(scene(tmp_path, file, file, raw=raw, records=records).view())
    assert [one.message.partition(":")[0] for one in found] == said


@pytest.mark.parametrize(
    ("mem_storage", "delivered", "said"),
    [
        ("true", 0, ["it had delivered 8 messages when it was recorded on 2026-06-02, and has delivered 0 now"]),
        ("true", 8, []),
        ("false", 0, []),
    ],
)
def test_the_record_knows_a_later_position_than_a_consumer_in_memory(
    mem_storage: str, delivered: int, said: list[str], tmp_path: Path
) -> None:
    file = f"streams: {{O: {{subjects: [o], consumers: {{m: {{mem_storage: {mem_storage}}}}}}}}}"
    created = "2026-06-01T08:00:00Z"
    records = {
        "consumer/O/m": {"written": "2026-06-02T08:00:00Z", "seen": {"created": created, "at": 8, "server": "2.15.1"}}
    }
    at = {"consumer_seq": delivered, "stream_seq": delivered}
    raw = {
        "streams": {"O": {"state": {"messages": 20, "last_seq": 20}}},
        "consumers": {"O": {"m": {"created": created, "delivered": at}}},
    }
    found = went_back_warnings(scene(tmp_path, file, file, raw=raw, records=records).view())
    assert [one.message.partition(":")[0] for one in found] == said
