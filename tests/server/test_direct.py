"""A mirror that answers direct gets of its origin is not taken for the origin, by anything that reads or counts."""

from __future__ import annotations

from typing import Any

from reconciler.model.ledger.records import BUCKET
from reconciler.model.wire.questions import MessagesFrom
from reconciler.server.read.messages import Range, pages
from reconciler.server.read.observe import ask
from reconciler.server.read.read_kv import entries
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import publish, reaches
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.versions import on_every_version

OFTEN = 12
"""Half of the answers come from the mirror: one in 4,000 runs would not notice that they are taken."""


async def mirrored(js: JetStream, name: str = "S", *, subjects: str = "s.>", half: str = "s.a", **more: Any) -> None:
    """A stream with ten messages, and a mirror of five of them, which answers direct gets for it."""
    await make_stream(js, name, **{"subjects": [subjects], "allow_direct": True, **more})
    await make_stream(js, "M", mirror={"name": name, "filter_subject": half}, mirror_direct=True)
    await publish(js, *(half, half[:-1] + "b") * 5)
    await reaches(5, js, "M")


@on_every_version
def test_messages_are_counted_in_the_stream_itself(account: Account) -> None:
    async def work(js: JetStream) -> list[Any]:
        await mirrored(js)
        question = MessagesFrom(stream="S", start=3)
        return [(await ask(js, [question]))[question] for _ in range(OFTEN)]

    assert talk(account, work) == [{"first": 3, "messages": 8}] * OFTEN


@on_every_version
def test_where_only_a_mirror_answers_nothing_is_counted_but_the_whole(account: Account) -> None:
    async def work(js: JetStream) -> list[Any]:
        await mirrored(js, allow_direct=False)
        asked = [MessagesFrom(stream="S", start=start) for start in (1, 3)]
        said = await ask(js, asked)
        return [said[one] for one in asked]

    assert talk(account, work) == [{"first": 1, "messages": 10}, {"first": 3, "most": 8}]


@on_every_version
def test_messages_are_read_from_the_stream_itself(account: Account) -> None:
    async def work(js: JetStream) -> list[list[int]]:
        await mirrored(js)
        wanted = Range(stream="S", after=0, upto=10)
        return [[one.sequence async for page in pages(js, wanted) for one in page] for _ in range(OFTEN)]

    assert talk(account, work) == [list(range(1, 11))] * OFTEN


@on_every_version
def test_records_are_read_from_the_bucket_itself(account: Account) -> None:
    """A mirror with a filter has the last entry, and not all others."""

    async def work(js: JetStream) -> list[Any]:
        kv = f"$KV.{BUCKET}"
        await mirrored(js, f"KV_{BUCKET}", subjects=f"{kv}.>", half=f"{kv}.a")
        info = done(await js.request(f"STREAM.INFO.KV_{BUCKET}"))
        return [sorted(await entries(js, BUCKET, info)) for _ in range(OFTEN)]  # type: ignore[arg-type]

    assert talk(account, work) == [["a", "b"]] * OFTEN
