"""What clients of a case did, as far as its raw answers and facts say: messages they published, took and still wait for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client

from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.rules.examples import Example
from tests.support.jetstream import done

Body = Mapping[str, Any]
SMALLEST = 60
"""Bytes that a stored message has beside its payload, at most."""
HOUR = 3_600_000_000_000


async def used_by_clients(nc: Client, js: JetStream, one: Example) -> None:
    """The live objects of the example as clients leave them. Those that wait do so as long as the connection lasts."""
    raw, facts = one.case.get("raw", {}), [fact for fact in one.case.get("facts", ()) if "stream" in fact]
    streams, consumers = raw.get("streams", {}), raw.get("consumers", {})
    configs = {name: info["config"] for name, info in one.applied.streams.items()}
    for name in sorted(configs, key=lambda name: bool(_origin(configs[name]))):
        await _fill(nc, js, name, configs, one)
    for stream, those in consumers.items():
        for name, over in those.items():
            if applied := one.applied.consumers.get(stream, {}).get(name):
                await _read(nc, (stream, name), applied["config"], over or {})
    for name, over in streams.items():
        await _delete_oldest(js, name, (over or {}).get("state", {}))
    for fact in facts:
        if "source" in fact:
            last = done(await js.read(f"STREAM.INFO.{fact['source']}"))["state"]["last_seq"]
            kept = streams[fact["stream"]]["state"]["messages"] - fact["answer"]["gone"]
            done(await js.write(f"STREAM.PURGE.{fact['source']}", {"seq": last - kept + 1}))


async def _fill(nc: Client, js: JetStream, name: str, configs: Mapping[str, Body], one: Example) -> None:
    """Messages for everything that is counted of this stream or of its consumers; a copy gets them from its origin."""
    number = _counted(name, one)
    if not number:
        return
    home = _origin(configs[name]) or name
    state = (one.case.get("raw", {}).get("streams", {}).get(name) or {}).get("state", {})
    payload = b"x" * max(1, state.get("bytes", 0) // max(1, state.get("messages", 0)) - SMALLEST)
    subjects = _subjects(home, configs[home], one)
    for published in range(_counted(home, one) if home != name else 0, number):
        subject = subjects[published % len(subjects)]
        await nc.publish(subject.format(f".k{published}" if published else ""), payload)
    await until(js, lambda info: info["state"]["last_seq"] >= number, f"STREAM.INFO.{name}")


def _origin(config: Body) -> str:
    copied = [config.get("mirror"), *(config.get("sources") or ())]
    return next((str(each["name"]) for each in copied if each), "")


def _counted(name: str, one: Example) -> int:
    """How many messages the stream has ever stored."""
    raw = one.case.get("raw", {})
    state = (raw.get("streams", {}).get(name) or {}).get("state", {})
    counted: list[int] = [state.get("messages", 0), state.get("last_seq", 0)]
    for over in filter(None, raw.get("consumers", {}).get(name, {}).values()):
        delivered = over.get("delivered", {}).get("stream_seq") or over.get("delivered", {}).get("consumer_seq", 0)
        counted.append(max(delivered, over.get("num_ack_pending", 0)) + over.get("num_pending", 0))
    return max(counted)


def _subjects(name: str, config: Body, one: Example) -> list[str]:
    """Where clients publish: what the facts count, else one for each pattern of the stream, each time another one if there is a `>`."""
    facts = (fact for fact in one.case.get("facts", ()) if fact.get("stream") == name and "start" not in fact)
    named = [subject for fact in facts if "source" not in fact for subject in fact["answer"] if "." in subject]
    return named or [pattern.replace(">", "x{}").replace("*", "x") for pattern in config.get("subjects") or ()]


async def _read(nc: Client, on: tuple[str, str], config: Body, over: Body) -> None:
    """A client takes what was delivered, acknowledges what is not in flight any more, and waits."""
    delivered, in_flight = over.get("delivered", {}), over.get("num_ack_pending", 0)
    number = max(delivered.get("stream_seq") or delivered.get("consumer_seq", 0), in_flight)
    if subject := config.get("deliver_subject"):
        if over.get("push_bound") or number:
            listening = await nc.subscribe(subject)
            await nc.flush()
            for _ in range(number):
                await listening.next_msg(timeout=10)
            if not over.get("push_bound"):
                await listening.unsubscribe()
                await nc.flush()
        return
    inbox = nc.new_inbox()
    messages = await nc.subscribe(inbox)
    if number:
        await _ask(nc, on, inbox, {"batch": number, "expires": HOUR})
        for taken in range(number):
            message = await messages.next_msg(timeout=10)
            if taken < number - in_flight and config.get("ack_policy", "none") != "none":
                await nc.request(message.reply, b"+ACK", timeout=10)
    for _ in range(over.get("num_waiting", 0)):
        await _ask(nc, on, inbox, {"batch": 1, "expires": HOUR})


async def _ask(nc: Client, on: tuple[str, str], inbox: str, request: Body) -> None:
    await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.{'.'.join(on)}", json.dumps(request).encode(), reply=inbox)
    await nc.flush()


async def _delete_oldest(js: JetStream, name: str, state: Body) -> None:
    """A stream that holds fewer messages than it has numbers has lost its first ones."""
    if 0 < state.get("messages", 0) < state.get("last_seq", 0):
        done(await js.write(f"STREAM.PURGE.{name}", {"keep": state["messages"]}))
