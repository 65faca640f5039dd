"""Changes that every server takes at once and that hurt: a plan speaks of each, with its quantity, on a real server in use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.agreement.harm import pull
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account

QUEUE = "retention: workqueue, "


@dataclass(frozen=True, slots=True, kw_only=True)
class Hurts:
    """A stream of 30 messages and its consumer, of which 20 are in flight: as they are, and as they become."""

    code: str
    says: str
    stream: tuple[str, str] = ("", "")
    consumer: tuple[str, str] | None = None
    quantities: tuple[tuple[str, int], ...] = ()
    size: int = 0

    def text(self, side: int) -> str:
        consumer = (
            f"consumers: {{c: {{ack_policy: explicit{self.consumer[side]}}}}}" if self.consumer else "consumers: {}"
        )
        return f"streams: {{S: {{subjects: [s], {self.stream[side]}{consumer}}}}}"


HURTING = {
    "payloads withheld": Hurts(
        code="CO601", consumer=("", ", headers_only: true"), says="unless acknowledged in time, then 10 pending"),
    "pulls of many refused": Hurts(code="CO602", consumer=("", ", max_batch: 5"), says="refuses pulls for more than 5 messages (409)"),
    "long pulls refused": Hurts(code="CO602", consumer=("", ", max_expires: 2s"), says="refuses pulls that wait for longer than 2s (409)"),
    "large pulls refused": Hurts(code="CO602", consumer=("", ", max_bytes: 1KiB"), says="refuses pulls for more than 1KiB (409)"),
    "full of messages": Hurts(
        code="ST601", stream=("discard: new, ", "discard: new, max_msgs: 10, "), quantities=(("over", 21),),
        says="30 messages are stored, and max_msgs becomes 10 messages: the server refuses every publish (10077) until 21 messages "
        "are gone"),
    "full of bytes": Hurts(
        code="ST601", stream=("discard: new, ", "discard: new, max_bytes: 100, "), says="the server refuses every publish (10077) until"),
    "too large": Hurts(
        code="ST601", stream=("", "max_msg_size: 100, "), size=500, quantities=(("larger", 30),),
        says="30 of the last 30 messages are larger than 100 bytes"),
    "no answer": Hurts(code="ST602", stream=("", "no_ack: true, "), says="publishers that wait for an answer get none"),
    "a queue that drops": Hurts(
        code="ST603", stream=(f"{QUEUE}discard: new, max_msgs: 30, ", f"{QUEUE}discard: old, max_msgs: 30, "),
        says="30 messages are stored, and max_msgs is 30 messages: each publish deletes the oldest message"),
    "nobody gets them again": Hurts(
        code="CO603", stream=(QUEUE, QUEUE), consumer=("", ", max_deliver: 1"), quantities=(("messages", 20),),
        says="20 of 20 messages in flight were already delivered once: unless clients acknowledge them in time, this "
        "consumer never redelivers them, and they stay stored until another consumer takes them, or somebody deletes them"),
    "a durable that vanishes": Hurts(
        code="CO604", consumer=("", ", inactive_threshold: 5s"), says="the server deletes this consumer with its position after 5s "
        "without a client, or 35s while messages are in flight, and 30 messages lose their reader"),
    "one that vanishes by a limit it takes over": Hurts(
        code="CO604", consumer=("", ", max_ack_pending: 50"),
        stream=("", "consumer_limits: {inactive_threshold: 5s, max_ack_pending: 100}, "), says="after 5s (from consumer_limits)"),
    "deduplication shortened": Hurts(
        code="ST604", stream=("duplicate_window: 2m, ", "duplicate_window: 1s, "),
        says="a message id that is repeated between 1s and 2m later may be stored twice"),
    "direct gets refused": Hurts(
        code="ST605", stream=("allow_direct: true, ", ""), says="(no responders): clients can then read 30 stored messages only"),
    "rollups refused": Hurts(
        code="ST606", stream=("allow_rollup_hdrs: true, ", ""), says="from then on the server refuses messages with Nats-Rollup"),
    "everything twice": Hurts(
        code="CO605", consumer=("", ", ack_wait: 1ms"), quantities=(("redelivered", 20),), says="redelivers 20 of 20 messages in flight"),
    "what was given up on": Hurts(
        code="CO605", consumer=(", max_deliver: 1", ", max_deliver: 2"), quantities=(("redelivered", 20),),
        says="redelivers up to 20 of 20 messages in flight, which it has already delivered once"),
    "nothing more": Hurts(
        code="CO606", consumer=("", ", max_ack_pending: 10"), quantities=(("over", 11),),
        says="20 messages are in flight: nothing new is delivered until 11 of them are acknowledged"),
}  # fmt: skip


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


@pytest.mark.parametrize("name", HURTING)
def test_a_change_that_hurts_is_foretold_with_its_quantity(someone: Someone, name: str) -> None:
    one = HURTING[name]

    async def used(js: JetStream) -> None:
        for _ in range(30):
            await js.pipeline.request("s", b"x" * one.size, within=20)
        for _ in range(20 if one.consumer else 0):
            assert await pull(js.pipeline.nc, "S", "c") is not None

    someone.applied(one.text(0))
    someone.ask(used)
    plan = json.loads(someone.plan(one.text(1), "--format", "json").out)
    said = [verdict for change in plan["changes"] for verdict in change["verdicts"] if verdict["code"] == one.code]
    assert [one.says in verdict["message"] for verdict in said] == [True], said
    assert dict(one.quantities).items() <= said[0].get("quantities", {}).items()
