"""What a cluster before 2.15 lets happen to consumers when their stream gets fewer replicas, shown: the reason why we are stricter.

Where a consumer has its copy is up to the server, so that many are made: by chance some are where they lose, and some where not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.agreement.harm import change, change_consumer, publish, pull, shows, status
from tests.support.accounts import Pool
from tests.support.jetstream import make_consumer, make_stream, talk

STREAMS = [f"S{n}" for n in range(12)]
SECOND = 1_000_000_000

before_the_state_is_handed_over = pytest.mark.parametrize("minor", ["2.11", "2.12", "2.14"])


async def _info(js: JetStream, kind: str, *names: str) -> Mapping[str, Any]:
    """When somebody leads it: before that, it is not told where it is. A copy that is new tells of no cluster at all."""
    until = asyncio.get_running_loop().time() + 60
    while True:
        said = await js.read(f"{kind}.INFO.{'.'.join(names)}")
        if isinstance(said, Mapping) and said.get("cluster", {}).get("leader"):
            return said
        assert asyncio.get_running_loop().time() < until, said
        await asyncio.sleep(0.1)  # nothing announces a leader


async def _two_in_flight(js: JetStream, name: str, **config: Any) -> bool:
    """Of ten messages eight are acknowledged. Is its copy where its stream is led?"""
    await make_stream(js, name, subjects=[name], num_replicas=3)
    await publish(js, *[name] * 10)
    await make_consumer(js, name, "c", ack_wait=SECOND, **config)
    for number in range(10):
        message = await pull(js.pipeline.nc, name, "c")
        assert message and status(message) == "200", status(message)
        if number < 8:
            await js.pipeline.nc.request(message.reply, b"+ACK", timeout=20)
    return await _is_there(js, name)


async def _is_there(js: JetStream, name: str) -> bool:
    stream, consumer = await _info(js, "STREAM", name), await _info(js, "CONSUMER", name, "c")
    return bool(stream["cluster"]["leader"] == consumer["cluster"]["leader"])


async def _lowered(js: JetStream, name: str) -> None:
    """Until the consumer is where its stream is."""
    await change(js, name, num_replicas=1)
    until = asyncio.get_running_loop().time() + 60
    while (await _info(js, "STREAM", name))["cluster"].get("replicas") or not await _is_there(js, name):
        assert asyncio.get_running_loop().time() < until, name
        await asyncio.sleep(0.1)  # nothing announces that the others are gone


async def _next(js: JetStream, name: str) -> int:
    """The sequence of what is delivered after `ack_wait`; 0: nothing is."""
    message = await pull(js.pipeline.nc, name, "c", within=3)
    return message.metadata.sequence.stream if message and status(message) == "200" else 0


async def _followed(js: JetStream, name: str) -> None:
    """Until all copies of the consumer are current."""
    await change_consumer(js, name, "c", num_replicas=0)
    until = asyncio.get_running_loop().time() + 60
    while [one["current"] for one in (await _info(js, "CONSUMER", name, "c"))["cluster"].get("replicas") or ()] != [
        True,
        True,
    ]:
        assert asyncio.get_running_loop().time() < until, name
        await asyncio.sleep(0.1)  # nothing announces that a copy is current


async def _delivered_next(
    js: JetStream, *, is_told_to_follow: bool = False, **config: Any
) -> tuple[set[int], set[int]]:
    """What consumers get next whose copy was elsewhere, and those whose copy was there."""
    there = {name: await _two_in_flight(js, name, **config) for name in STREAMS}
    if is_told_to_follow:
        await asyncio.gather(*(_followed(js, name) for name in STREAMS))
    for name in STREAMS:
        await _lowered(js, name)
    await asyncio.sleep(1)  # `ack_wait`
    came = dict(zip(STREAMS, await asyncio.gather(*(_next(js, name) for name in STREAMS)), strict=True))
    return {came[name] for name in STREAMS if not there[name]}, {came[name] for name in STREAMS if there[name]}


@shows("ST306", "KV306", "OB306")
@before_the_state_is_handed_over
def test_a_consumer_with_its_only_copy_elsewhere_loses_what_is_in_flight(pool: Pool, minor: str) -> str:
    elsewhere, there = talk(pool.clustered(minor), lambda js: _delivered_next(js, num_replicas=1))
    assert 0 in elsewhere
    assert 0 not in there
    return (
        "In a cluster, num_replicas: 3 → 1, 2 messages in flight: a durable consumer with its only copy on another server than the "
        "stream's leader never gets them again. One with its copy on the leader does."
    )


@shows("ST306")
@before_the_state_is_handed_over
def test_an_ephemeral_consumer_elsewhere_starts_over(pool: Pool, minor: str) -> str:
    passing: dict[str, Any] = {"durable_name": None, "inactive_threshold": 600 * SECOND}
    elsewhere, there = talk(pool.clustered(minor), lambda js: _delivered_next(js, **passing))
    assert 1 in elsewhere
    assert 1 not in there
    return (
        "In a cluster, num_replicas: 3 → 1, 10 messages delivered, 8 of them acknowledged: an ephemeral consumer on another server "
        "than the stream's leader gets message 1 again. One on the leader does not."
    )


@pytest.mark.parametrize("minor", ["2.11", "2.14", "2.15"])
def test_a_consumer_that_follows_its_stream_keeps_what_is_in_flight(pool: Pool, minor: str) -> None:
    """What we say of those that the rule is silent about."""
    elsewhere, there = talk(pool.clustered(minor), _delivered_next)
    assert elsewhere | there == {9}


@pytest.mark.parametrize("minor", ["2.11", "2.15"])
def test_a_consumer_that_follows_its_stream_first_loses_nothing(pool: Pool, minor: str) -> None:
    """The way out that we name."""
    elsewhere, there = talk(
        pool.clustered(minor), lambda js: _delivered_next(js, is_told_to_follow=True, num_replicas=1)
    )
    assert elsewhere | there == {9}
