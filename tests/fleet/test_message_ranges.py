"""A batch is what lies between two offsets, and reading it gives all of it or says that it did not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from reconciler.fleet.accounts import messages
from reconciler.fleet.accounts.messages import Pieces, StreamPiece, batches, pieces_between, share_pieces
from reconciler.fleet.accounts.messages import read_pieces as read_all
from reconciler.fleet.accounts.reading import REQUESTS
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.server.connect.settings import Settings
from reconciler.server.read.messages import Unreadable
from tests.fleet.told import Odd, reached
from tests.support.accounts import Account
from tests.support.jetstream import make_stream, talk

EAST = FleetTarget(name="east", settings=Settings(url="nats://127.0.0.1:1"), deadline=0.3)
GOT_TO_5 = {"after": 2, "sequence": 5, "time": "t5"}


def between(was: dict[str, Any], now: dict[str, Any]) -> list[tuple[int, int] | str]:
    found = pieces_between((EAST,), {"east": {"S": was}}, {"east": {"S": now}})
    return [piece.error or (piece.after, piece.upto) for piece in found]


def test_a_piece_goes_from_where_it_begins_to_where_it_ends() -> None:
    assert between({}, GOT_TO_5) == [(2, 5)]
    assert between(GOT_TO_5, {"after": 5, "sequence": 6, "time": "t6"}) == [(5, 6)]


def test_the_same_offset_twice_is_nothing() -> None:
    assert between(GOT_TO_5, GOT_TO_5) == []


def test_an_outage_is_told_when_it_begins_and_not_again() -> None:
    away = {**GOT_TO_5, "error": "gone", "at": "2026-11-21T07:00:00+00:00"}
    assert between(GOT_TO_5, away) == ["gone"]
    assert between(away, away) == []
    assert between(away, GOT_TO_5) == []
    assert between(away, {**away, "error": "still", "at": "2026-11-22T07:00:00+00:00"}) == ["still"]  # the next night
    assert between(away, {"after": 5, "sequence": 9, "time": "t9"}) == [(5, 9)]


def test_a_stream_made_anew_says_so_before_its_messages() -> None:
    anew = {"after": 0, "sequence": 5, "time": "2026-11-21T07:00:00Z", "restarted": True}
    assert between(GOT_TO_5, anew) == [
        "stream S was recreated or set back: it continues with another message 1",
        (0, 5),
    ]


def test_a_large_stream_is_shared_by_tasks_and_so_is_the_window_of_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "PIECE", 10)
    found = share_pieces(
        pieces_between((EAST,), {}, {"east": {"S": {"after": 0, "sequence": 35, "time": ""}}}), 3, is_followed=True
    )
    assert [[(one.after, one.upto) for one in part.value] for part in found] == [
        [(0, 10), (30, 35)],
        [(10, 20)],
        [(20, 30)],
    ]
    assert {part.requests for part in found} == {REQUESTS // 3}


def test_without_anything_to_read_there_is_a_task_that_reads_nothing() -> None:
    (part,) = share_pieces([], 4, is_followed=False)  # without one, Spark asks for a part of its own making
    assert list(read_all(part)) == []


def read(piece: StreamPiece, *, must: bool) -> list[dict[str, Any]]:
    async def work() -> list[dict[str, Any]]:
        return [row async for batch in batches(piece, asyncio.Semaphore(64), must=must) for row in batch.to_pylist()]

    return asyncio.run(work())


def test_messages_become_rows(account: Account) -> None:
    async def work(js: Any) -> None:
        await make_stream(js, "S", subjects=["s"], allow_direct=True)
        await js.pipeline.request("s", b"one", within=30, headers={"a": "b"})
        await js.pipeline.request("s", b"two", within=30)

    talk(account, work)
    one, two = read(StreamPiece(target=reached(account, "east"), stream="S", upto=2), must=True)
    del one["time"], two["time"]
    same = {"target": "east", "stream": "S", "subject": "s", "error": None}
    assert one == {**same, "sequence": 1, "headers": [("a", "b")], "data": b"one"}
    assert two == {**same, "sequence": 2, "headers": [], "data": b"two"}


def test_a_look_at_a_target_that_is_gone_is_a_row() -> None:
    (row,) = read(StreamPiece(target=EAST, stream="S", after=7, upto=9), must=False)
    assert (row["target"], row["stream"], row["sequence"]) == ("east", "S", 7)
    assert "(after message 7)" in row["error"]


def test_what_must_be_read_is_read_again_later_rather_than_left_out() -> None:
    with pytest.raises(Unreadable, match=r"^east: .*\(after message 7\); start the query again"):
        read(StreamPiece(target=EAST, stream="S", after=7, upto=9), must=True)


def test_what_is_gone_for_good_is_a_row_after_what_was_there(account: Account) -> None:
    async def work(js: Any) -> None:
        await make_stream(js, "S", subjects=["s"], allow_direct=True)
        await js.pipeline.request("s", b"one", within=30)

    talk(account, work)
    one, none = read(StreamPiece(target=reached(account, "east"), stream="S", upto=5), must=True)
    assert (one["sequence"], one["data"]) == (1, b"one")
    assert (none["sequence"], none["error"]) == (1, "stream S ends at 1, but message 5 had been seen (after message 1)")


def test_whatever_goes_wrong_with_one_piece_is_a_row() -> None:
    odd = Odd(name="east", settings=EAST.settings, deadline=0.1)
    (row,) = read(StreamPiece(target=odd, stream="S", upto=1), must=False)
    assert row["error"] == "KeyError: 'odd' (after message 0)"


def test_pieces_travel(account: Account) -> None:
    import pickle

    part = share_pieces([StreamPiece(target=reached(account, "east"), stream="S", upto=2)], 1, is_followed=True)[0]
    there = pickle.loads(pickle.dumps(part))
    assert isinstance(there, Pieces)
    assert there.value == part.value
