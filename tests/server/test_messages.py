"""A range of a stream is read to its end, each message once: in direct batches, or one by one where those are closed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from reconciler.server.read import messages
from reconciler.server.read.messages import (
    Gone,
    Message,
    Range,
    first_message_since,
    last_message,
    next_message_after,
    pages,
)
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.versions import on_every_version


async def filled(js: JetStream, number: int, **config: Any) -> None:
    """Stream S, with messages s.0, s.1, s.0, … that hold their number."""
    await make_stream(js, "S", subjects=["s.*"], storage="memory", **config)
    await asyncio.gather(*(js.pipeline.request(f"s.{n % 2}", b"%d" % n, within=5) for n in range(number)))


async def read(js: JetStream, after: int, upto: int, matching: str = ">") -> list[int]:
    wanted = Range(stream="S", after=after, upto=upto, matching=matching)
    return [one.sequence async for page in pages(js, wanted) for one in page]


async def without(js: JetStream, *sequences: int) -> None:
    for sequence in sequences:
        done(await js.request("STREAM.MSG.DELETE.S", {"seq": sequence}))


@on_every_version
@pytest.mark.parametrize("allow_direct", [True, False])
def test_what_is_there_between_two_sequences_is_read_once_and_in_order(account: Account, allow_direct: bool) -> None:
    async def work(js: JetStream) -> None:
        await filled(js, 4500, allow_direct=allow_direct)
        await without(js, 1, 7, 4100)
        expected = [n for n in range(1, 4101) if n not in (1, 7, 4100)]
        assert await read(js, 0, 4100) == expected
        assert await read(js, 4098, 4102) == [4099, 4101, 4102]
        assert await read(js, 0, 10, "s.1") == [2, 4, 6, 8, 10]

    talk(account, work)


def test_messages_come_with_their_own_headers_and_time(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await make_stream(js, "S", subjects=["s.*"], allow_direct=True)
        await js.pipeline.request("s.a", b"\xff\x00", within=5, headers={"Team": "billing", "Status": "503"})
        (direct,) = [one async for page in pages(js, Range(stream="S", after=0, upto=1)) for one in page]
        assert (direct.subject, direct.data, direct.headers) == (
            "s.a",
            b"\xff\x00",
            {"Team": "billing", "Status": "503"},
        )
        assert await last_message(js, "S") == direct

    talk(account, work)


def test_an_end_that_is_gone_by_now_is_no_reason_to_stop_earlier_or_to_wait(account: Account) -> None:
    async def work(js: JetStream) -> None:
        await filled(js, 10, allow_direct=True)
        await without(js, 9, 10)
        assert await read(js, 0, 10) == [*range(1, 9)]
        assert await last_message(js, "S") is None  # as servers have it: the message at the end is gone
        await js.request("STREAM.PURGE.S")
        assert await read(js, 0, 10) == []

    talk(account, work)


@pytest.mark.parametrize("allow_direct", [True, False])
def test_a_stream_that_does_not_get_as_far_as_was_seen_is_not_all_there_is(
    account: Account, allow_direct: bool
) -> None:
    async def work(js: JetStream) -> None:
        await filled(js, 3, allow_direct=allow_direct)
        with pytest.raises(Gone, match="ends at 3, but message 5 had been seen"):
            await read(js, 0, 5)

    talk(account, work)


def test_a_stream_that_is_not_there_says_so(account: Account) -> None:
    async def work(js: JetStream) -> None:
        with pytest.raises(Gone, match=r"stream S: stream not found"):
            await read(js, 0, 5)
        assert isinstance(await next_message_after(js, "S", 0), Refusal | NoAnswer)

    talk(account, work)


def test_what_a_copy_has_not_got_yet_the_leader_gives(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy here is one that knows only what was stored when it was asked first."""

    async def work(js: JetStream) -> None:
        await filled(js, 5, allow_direct=True)
        honest, withheld = messages._batch, 0

        async def late(js: JetStream, wanted: Range, after: int) -> list[Message] | None:
            nonlocal withheld
            found = await honest(js, wanted, after)
            had = [one for one in found or () if one.sequence <= 3 or after >= 4]
            withheld += len(found or ()) - len(had)
            return None if found is None else had

        monkeypatch.setattr(messages, "_batch", late)
        assert await read(js, 0, 5) == [1, 2, 3, 4, 5]
        assert withheld

    talk(account, work)


def test_looking_at_messages_leaves_no_audit_event(account: Account) -> None:
    """A message of ours before and one after, both acknowledged: an event between them would have a sequence."""

    async def work(js: JetStream) -> None:
        async def publish() -> int:
            reply = await js.pipeline.request("s", b"", within=10)
            assert isinstance(reply, Reply)
            sequence: int = json.loads(reply.data)["seq"]
            return sequence

        events = await js.pipeline.nc.subscribe("$JS.EVENT.ADVISORY.API")
        await make_stream(js, "S", subjects=["s", "$JS.EVENT.ADVISORY.API"], allow_direct=True)
        await events.next_msg(timeout=10)
        before = await publish()
        seen = await last_message(js, "S")
        assert isinstance(seen, Message)
        assert await read(js, 0, before) == [*range(1, before + 1)]
        assert await first_message_since(js, "S", seen.time) == seen
        assert await publish() == before + 1

    talk(account, work)
