"""What a consumer gave up at `max_deliver` stays in a work queue or an interest stream: what becomes of it was said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.changes.verdict import Verdict
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import applied, planned, publish, state, take
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, talk
from tests.support.versions import on_every_version

GIVEN_UP, PROCESSED, LEFT = 3, 2, 4


def text(retention: str, consumers: str, more: str = "", direct: str = "") -> str:
    return f"streams: {{S: {{subjects: [s.>], retention: {retention}{direct}, consumers: {{{consumers}}}}}}}\n{more}"


CONSUMER = "{ack_policy: explicit, ack_wait: 1s, max_deliver: 1}"


async def given_up(js: JetStream) -> None:
    """Of nine messages two are processed, the first and the fifth; the three between are given up, and four left."""
    await publish(js, *["s.a"] * (GIVEN_UP + PROCESSED + LEFT))
    await take(js, "S", "c", 1)
    await take(js, "S", "c", GIVEN_UP, acknowledge=False)
    await until(js, lambda info: info["num_ack_pending"] == 0, "CONSUMER.INFO.S.c")
    await take(js, "S", "c", 1)


async def pending(js: JetStream, name: str) -> int:
    return int(done(await js.request(f"CONSUMER.INFO.S.{name}"))["num_pending"])


@on_every_version
@pytest.mark.parametrize("direct", ["", ", allow_direct: true"])
def test_a_work_queue_gives_a_renamed_consumer_again_what_the_old_one_gave_up(
    account: Account, tmp_path: Path, direct: str
) -> None:
    async def work(js: JetStream) -> tuple[Verdict, int]:
        await applied(js, tmp_path, text("workqueue", f"c: {CONSUMER}", direct=direct))
        await given_up(js)
        moved = "moved: [{from: consumer/S/c, to: consumer/S/d, reason: r}]"
        said = await applied(js, tmp_path, text("workqueue", f"d: {CONSUMER}", moved, direct=direct))
        return said["CO330"], await pending(js, "d")

    said, coming = talk(account, work)
    assert coming - LEFT == GIVEN_UP == said.quantities["redelivered"]
    assert "messages given up at max_deliver." in said.message


@on_every_version
def test_an_interest_stream_deletes_or_gives_a_renamed_consumer_again_what_was_given_up(
    account: Account, tmp_path: Path
) -> None:
    """The ack floor decides, which servers move at different times."""

    async def work(js: JetStream) -> tuple[Verdict, int, int]:
        await applied(js, tmp_path, text("interest", f"c: {CONSUMER}", direct=", allow_direct: true"))
        await given_up(js)
        moved = "moved: [{from: consumer/S/c, to: consumer/S/d, reason: r}]"
        renamed = text("interest", f"d: {CONSUMER}", moved, direct=", allow_direct: true")
        said = (await applied(js, tmp_path, renamed, "CO330"))["CO330"]
        stays = GIVEN_UP + LEFT - said.quantities.get("dropped", 0)
        await until(js, lambda info: info["state"]["messages"] == stays, "STREAM.INFO.S")
        return said, stays, await pending(js, "d")

    said, stays, coming = talk(account, work)
    assert stays == coming
    again, dropped = said.quantities["redelivered"], said.quantities.get("dropped", 0)
    assert dropped == (0 if again else GIVEN_UP)
    assert coming - LEFT <= again
    assert ("It deletes up to 3 stored messages that no consumer is given any more." in said.message) is not bool(again)


@on_every_version
@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_a_limit_does_not_call_processed_what_was_given_up(account: Account, tmp_path: Path, retention: str) -> None:
    async def work(js: JetStream) -> Verdict:
        await applied(js, tmp_path, text(retention, f"c: {CONSUMER}", direct=", allow_direct: true"))
        await given_up(js)
        limit = f", allow_direct: true, max_msgs: {LEFT}"
        return (await planned(js, tmp_path, text(retention, f"c: {CONSUMER}", direct=limit)))["ST301"]

    said = talk(account, work)
    assert said.quantities["messages"] == GIVEN_UP
    assert said.quantities["unprocessed"] == GIVEN_UP
    assert "its consumer c has processed them" not in said.message


@on_every_version
@pytest.mark.parametrize(("other", "left"), [("", 0), ("o: {ack_policy: explicit}", GIVEN_UP + PROCESSED + LEFT)])
def test_and_with_a_consumer_that_is_removed(account: Account, tmp_path: Path, other: str, left: int) -> None:
    """Whoever wants all of it keeps all of it."""

    async def work(js: JetStream) -> tuple[Mapping[str, int], int]:
        await applied(js, tmp_path, text("interest", f"c: {CONSUMER}", direct=", allow_direct: true"))
        if other:
            await make_consumer(js, "S", "o")
        await given_up(js)
        removed = "removed: [{address: consumer/S/c, reason: r}]"
        said = await applied(js, tmp_path, text("interest", other, removed, direct=", allow_direct: true"))
        await until(js, lambda info: info["state"]["messages"] == left, "STREAM.INFO.S")
        return said["CO310"].quantities, (await state(js, "S"))["messages"]

    said, _ = talk(account, work)
    assert said.get("dropped", 0) == (LEFT if other else LEFT + GIVEN_UP)
