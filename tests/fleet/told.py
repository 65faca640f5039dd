"""Events written by hand, and events that real servers tell when they are provoked."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from pyspark.sql import DataFrame, SparkSession

from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import EVENTS
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.connect.settings import Settings
from reconciler.server.read.messages import Message, Range, last_message, pages
from reconciler.server.wire.answers import answer_of
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream, talk

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SECOND = 1_000_000_000
PATIENCE = 30
"""Seconds in which a server, however busy, gives or tells what there is."""


def after(seconds: float) -> datetime:
    """So long after noon."""
    return NOON + timedelta(seconds=seconds)


def event(seconds: float, kind: str, **columns: Any) -> dict[str, Any]:
    """One of target east about consumer S/c, so long after noon."""
    at = after(seconds)
    usual = {"target": "east", "stream": "S", "consumer": "c", "day": at.date(), "sequence": int(seconds * 1000)}
    return {**usual, "type": kind, "at": at, "id": f"{kind}{seconds}", **columns}


def audit(seconds: float, deed: str, config: Mapping[str, Any] | None = None, **columns: Any) -> dict[str, Any]:
    told = {"consumer": None, "client": "alice", "config": None if config is None else json.dumps(config)}
    return event(seconds, "api_audit", deed=deed, **{**told, **columns})


def events(spark: SparkSession, *told: dict[str, Any]) -> DataFrame:
    return frame_of(spark, told, EVENTS)


def said(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """The rows, in their order; all columns where none is named."""
    rows = (frame.select(*columns) if columns else frame).collect()
    return [tuple(_in_utc(value) for value in row) for row in rows]


def _in_utc(value: Any) -> Any:
    """Spark gives times as this machine's clock on the wall shows them."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def reached(account: Account, name: str, **more: Any) -> FleetTarget:
    """The account as a target of a fleet."""
    settings = Settings(url=account.url, user=account.user, password=account.password)
    return FleetTarget(name=name, settings=settings, **more)


class Odd(FleetTarget):
    """Reaching it ends in an error that nobody foresaw."""

    def options(self, environ: Mapping[str, str] = os.environ) -> ConnectOptions:  # noqa: ARG002 - as any target has it
        raise KeyError("odd")


def provoke(account: Account) -> None:
    """Stream EVENTS keeps what the server tells; then everything happens to consumer S/c that it tells of."""
    talk(account, _provoke)


async def _provoke(js: JetStream) -> None:
    await make_stream(js, "EVENTS", subjects=["$JS.EVENT.>"], allow_direct=True)
    told = Heard(await js.pipeline.nc.subscribe("$JS.EVENT.>"))
    await make_stream(js, "S", subjects=["s"])
    usual = {"priority_policy": "pinned_client", "priority_groups": ["g"], "priority_timeout": 60 * SECOND}
    consumer = await make_consumer(js, "S", "c", **usual, sample_freq="100", max_deliver=1, ack_wait=60 * SECOND)
    for _ in range(4):
        done(answer_of(await js.pipeline.request("s", b"", within=PATIENCE)))
    pinned = await _pulled(js)
    same = {"id": (pinned.headers or {})["Nats-Pin-Id"]}
    await pinned.respond(b"+ACK")
    await (await _pulled(js, **same)).respond(b"-NAK")
    await (await _pulled(js, **same)).respond(b"+TERM")
    await told.until("MSG_TERMINATED")
    done(await js.request("CONSUMER.UNPIN.S.c", {"group": "g"}))
    await told.until("UNPINNED")
    hasty = {**consumer["config"], "priority_timeout": SECOND // 2, "ack_wait": SECOND // 5}
    done(await js.request("CONSUMER.CREATE.S.c", {"stream_name": "S", "action": "update", "config": hasty}))
    await _pulled(js)  # by another one, who is never heard of again
    await told.until("MAX_DELIVERIES", '"reason":"timeout"')
    config = done(await js.request("STREAM.INFO.S"))["config"]
    done(await js.request("STREAM.UPDATE.S", {**config, "max_age": SECOND * 3600}))
    done(await js.request("CONSUMER.DELETE.S.c"))
    await js.request("STREAM.DELETE.NOBODY")
    await told.until("STREAM.UPDATED.S", "API.STREAM.UPDATE.S", "CONSUMER.DELETED", "API.CONSUMER.DELETE.S.c",
                     "API.STREAM.DELETE.NOBODY")  # fmt: skip
    done(
        answer_of(await js.pipeline.request("$JS.EVENT.MARK", b"", within=PATIENCE))
    )  # stored, as all that was told before it


async def kept(js: JetStream) -> list[Message]:
    """By stream EVENTS."""
    end = await last_message(js, "EVENTS")
    assert isinstance(end, Message)
    return [one async for page in pages(js, Range(stream="EVENTS", after=0, upto=end.sequence - 1)) for one in page]


async def _pulled(js: JetStream, **more: Any) -> Msg:
    nc = js.pipeline.nc
    inbox = nc.new_inbox()
    answers = await nc.subscribe(inbox)
    wanted = {"batch": 1, "expires": PATIENCE * SECOND, "group": "g", **more}
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", json.dumps(wanted).encode(), reply=inbox)
    return await answers.next_msg(PATIENCE)


@dataclass(frozen=True, slots=True)
class Heard:
    """Servers tell a moment after they have done it, and in no certain order."""

    subscription: Subscription

    async def until(self, *words: str) -> None:
        """Each of them was in the subject or the text of an event that came since."""
        wanted = set(words)
        async with asyncio.timeout(PATIENCE):
            while wanted:
                message = await self.subscription.next_msg(PATIENCE)
                wanted -= {word for word in wanted if word in f"{message.subject} {message.data.decode()}"}
