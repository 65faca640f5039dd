"""What readers try: pulls of every size and patience, priority groups, subscriptions, acknowledgements, and waiting for
redelivery."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from nats.aio.msg import Msg

from reconciler.changes.effect import Side
from reconciler.model.resource import Json
from reconciler.testbed.probes.client import Client, Delivery, sequence
from reconciler.testbed.probes.record import Notes
from reconciler.testbed.probes.scene import Body, Scene

MS, HOUR = 1_000_000, 3_600_000_000_000
AT_ONCE: Mapping[str, Json] = {"no_wait": True}
GROUP = "{group}"
"""The group that clients of a consumer know; for one without groups, any."""
Pulls = tuple[tuple[str, Mapping[str, Json]], ...]
PULLS: Pulls = (
    ("one", {"batch": 1, **AT_ONCE}),
    ("one within 100 ms", {"batch": 1, "expires": 100 * MS}),
    ("one within an hour", {"batch": 1, "expires": HOUR}),
    ("one of at most 1 MiB", {"batch": 1, "max_bytes": 1 << 20, **AT_ONCE}),
    ("one for a group", {"batch": 1, "group": GROUP, **AT_ONCE}),
    ("one for another group", {"batch": 1, "group": "unknown", **AT_ONCE}),
    ("one without a pin", {"batch": 1, "group": GROUP, "id": "", **AT_ONCE}),
    ("one with a wrong pin", {"batch": 1, "group": GROUP, "id": "wrong", **AT_ONCE}),
    ("one of a long queue", {"batch": 1, "group": GROUP, "min_pending": 1000, "expires": 100 * MS}),
    ("one of low priority", {"batch": 1, "group": GROUP, "priority": 5, **AT_ONCE}),
    ("100", {"batch": 100, **AT_ONCE}),
    ("100 for a group", {"batch": 100, "group": GROUP, **AT_ONCE}),
    ("1000", {"batch": 1000, **AT_ONCE}),
)
ANSWERS = {"one": b"+ACK", "one of at most 1 MiB": b"+TERM", "one for a group": b"+ACK"}
"""How a reader answers the first message of a pull; an unanswered one stays in flight."""
FAILS_ON = ("one within 100 ms", "one within an hour", "one of low priority")
"""Pulls whose message a reader refuses."""
NAKS = 4
"""How often a reader refuses the same message."""
FRESH: tuple[tuple[str, Body], ...] = (
    ("all", {"deliver_policy": "all"}),
    ("last of each subject", {"deliver_policy": "last_per_subject", "filter_subject": ">"}),
    ("with many in flight", {"ack_policy": "explicit", "max_ack_pending": 5000}),
    ("kept for ten minutes", {"ack_policy": "explicit", "inactive_threshold": 600_000 * MS}),
)
"""Readers that somebody starts again."""


FIRST, STANDBY = "", " as a standby"
"""Which of two clients of a consumer does something."""
WAITS: Pulls = (
    ("two of low priority", {"batch": 2, "expires": HOUR, "priority": 5}),
    ("two", {"batch": 2, "expires": HOUR}),
    ("two of a long queue", {"batch": 2, "expires": HOUR, "min_pending": 1000}),
)
"""Pulls that wait while something changes."""
Waits = Mapping[str, Delivery]


async def try_reads(
    client: Client, notes: Notes, stream: str, name: str, body: Body, pulls: Pulls, waits: Waits
) -> None:
    """Read by a consumer that existed before; `waits` says what clients get that already wait on it."""
    reader = f"by {stream}/{name}"
    if "deliver_subject" in body:
        await _try_subscribing(client, notes, reader, body)
        return await _try_handing_back(client, notes, stream, name, body, waits)
    group = (body.get("priority_groups") or ["a"])[0]
    for words, wanted in pulls:
        request = {key: group if value == GROUP else value for key, value in wanted.items()}
        delivery = await client.pull(stream, name, request)
        notes.add(f"read {words} {reader}", Side.READERS, str(delivery))
        if words in ANSWERS and delivery.messages:
            await _try_answering(client, notes, f"{words} {reader}", stream, delivery.messages[0], ANSWERS[words])
        if words in FAILS_ON and delivery.messages:
            await _try_refusing(client, notes, f"{words} {reader}", delivery.messages[0], stream, name, request)
    return await _try_handing_back(client, notes, stream, name, body, waits)


Contests = Mapping[str, Mapping[str, Mapping[str, Json]]]
CONTESTS: Contests = {
    "pinned_client": {FIRST: {}, STANDBY: {}},
    "overflow": {FIRST: {}, STANDBY: {"min_pending": 1000}},
    "prioritized": {FIRST: {"priority": 5}, STANDBY: {"priority": 1}},
}
"""What two clients of one priority group ask for, as its policy has it."""


@contextlib.asynccontextmanager
async def waiting_pulls(client: Client, scene: Scene) -> AsyncIterator[Waits]:
    """Record what clients get that wait meanwhile, each for the group that its consumer has at first."""
    async with contextlib.AsyncExitStack() as stack:
        deliveries: dict[str, Delivery] = {}
        for stream, name in scene.waits:
            groups = scene.consumers[stream, name].get("priority_groups")
            for who, puller in ((FIRST, client), (STANDBY, client.standby)):
                for words, request in WAITS:
                    pull_request = (
                        {**request, "group": groups[0]} if groups else {"batch": request["batch"], "expires": HOUR}
                    )
                    pull = puller.waiting_pull(stream, name, pull_request)
                    deliveries[f"wait for {words}{who} by {stream}/{name}"] = await stack.enter_async_context(pull)
        yield deliveries


@contextlib.asynccontextmanager
async def contending_pulls(client: Client, scene: Scene, contests: Contests) -> AsyncIterator[Waits]:
    """Record what two clients get that wait for the same group meanwhile, by the policy that they know."""
    async with contextlib.AsyncExitStack() as stack:
        deliveries: dict[str, Delivery] = {}
        for (stream, name), body in scene.consumers.items():
            for who, request in contests.get(str(body.get("priority_policy")), {}).items():
                pull_request = {"batch": 2, "expires": HOUR, "group": body["priority_groups"][0], **request}
                pull = (client.standby if who is STANDBY else client).waiting_pull(stream, name, pull_request)
                deliveries[f"contend for two{who} by {stream}/{name}"] = await stack.enter_async_context(pull)
        yield deliveries


async def read_later(
    client: Client, notes: Notes, stream: str, name: str, body: Body, *, waited: bool, follows: bool
) -> None:
    """Record what is redelivered after some time, also where others `waited` for the same meanwhile; and what was
    published, where it `follows` that it still exists."""
    reader = f"by {stream}/{name}"
    if body.get("priority_policy") == "pinned_client":
        takeover = await client.next(stream, name, body, batch=1, id="", **AT_ONCE)
        notes.add(f"take over a pin after a while {reader}", Side.READERS, str(takeover))
    delivery = await client.next(stream, name, body, batch=min(100, body.get("max_batch") or 100), **AT_ONCE)
    again = Delivery([message for message in delivery.messages if message.metadata.num_delivered > 1], delivery.status)
    notes.add(f"read again after a while {reader}", Side.READERS, str(again))
    given = ("publish ", "read ", f"stored after publishing in {stream}")
    if follows:
        notes.add(
            f"follow what is published {reader}", Side.READERS, delivery.end_text if waited else str(delivery), *given
        )


async def note_position(client: Client, notes: Notes, stream: str, name: str, when: str, *given: str) -> None:
    """Note how far a consumer has come, or why the server does not say."""
    info = await client.ask(f"CONSUMER.INFO.{stream}.{name}")
    notes.add(
        f"position {when} of {stream}/{name}",
        Side.POSITIONS,
        info if isinstance(info, str) else _position_text(info),
        *given,
    )


async def try_new_consumers(
    client: Client, notes: Notes, stream: str, readers: Iterable[tuple[str, Body]] = FRESH
) -> None:
    """Read by consumers that are created for it and deleted again. Each has its own name, because the previous one may
    still exist."""
    for number, (words, config) in enumerate(readers):
        name = f"probe-{number}"
        body = {"stream_name": stream, "config": {"name": name, **config}}
        answer = await client.ask(f"CONSUMER.CREATE.{stream}.{name}", body)
        if isinstance(answer, str):
            notes.add(f"start to read {words} from {stream}", Side.READERS, answer)
            continue
        delivery = await client.pull(stream, name, {"batch": 5, **AT_ONCE})
        notes.add(f"start to read {words} from {stream}", Side.READERS, str(delivery), f"stored at first in {stream}")
        await client.ask(f"CONSUMER.DELETE.{stream}.{name}")


async def _try_subscribing(client: Client, notes: Notes, reader: str, body: Body) -> None:
    subject = str(body["deliver_subject"])
    group = str(body.get("deliver_group") or "queue")
    for words, queue in (("by subscription", ""), ("by subscription in a group", group)):
        delivery = await client.subscribe(subject, queue)
        notes.add(f"read {words} {reader}", Side.READERS, str(delivery))
        for message in delivery.messages[:1]:
            notes.add(f"answer {words} {reader}", Side.READERS, await client.answer(message, b"+ACK"), f"read {words}")
        for message in delivery.messages[1:2]:
            await client.answer(message, b"-NAK")
    delivery = await client.subscribe(subject, str(body.get("deliver_group", "")))
    again = Delivery(
        [delivered for delivered in delivery.messages if delivered.metadata.num_delivered > 1], delivery.status
    )
    notes.add(f"refuse by subscription {reader}", Side.READERS, str(again), f"read by subscription {reader}")


async def _try_answering(client: Client, notes: Notes, read_name: str, stream: str, message: Msg, kind: bytes) -> None:
    read = f"read {read_name}"
    notes.add(f"answer {read_name}", Side.READERS, await client.answer(message, kind), read)
    stored = await client.ask(f"STREAM.MSG.GET.{stream}", {"seq": sequence(message)})
    notes.add(f"look for {read_name}", Side.STORED, stored if isinstance(stored, str) else "still stored", read)


async def _try_refusing(
    client: Client, notes: Notes, read_name: str, message: Msg, stream: str, name: str, request: Mapping[str, Json]
) -> None:
    """A reader that fails on the same message again and again. A busy server redelivers it a moment late, to whoever asks
    next."""
    refused: list[int] = []
    for _ in range(NAKS):
        if await client.answer(message, b"-NAK") != "taken":
            break
        delivery = await client.pull(stream, name, request)
        messages = delivery.messages or (await client.pull(stream, name, request)).messages
        if not messages:
            break
        message = messages[0]
        refused.append(sequence(message))
    notes.add(f"refuse {read_name}", Side.READERS, f"came next: {refused}", f"read {read_name}")


async def _try_handing_back(client: Client, notes: Notes, stream: str, name: str, body: Body, waits: Waits) -> None:
    """Messages in flight all the time are refused, and redelivered to the client that waits, or asks next."""
    for message in client.held.get((stream, name), [])[:1]:
        answer = await client.answer(message, b"-NAK")
        delivery_now = await client.next(stream, name, body, batch=1, **AT_ONCE)
        reader = f" by {stream}/{name}"
        waited = (
            delivered for words, delivery in waits.items() if words.endswith(reader) for delivered in delivery.messages
        )
        again = Delivery(
            [delivered for delivered in (*delivery_now.messages, *waited) if _is_redelivery(delivered, message)]
        )
        comes = (
            f"it is redelivered, {again.count_text}" if again.messages else delivery_now.status or "it does not come"
        )
        notes.add(f"refuse what was in flight by {stream}/{name}", Side.READERS, f"{answer}: {comes}")


def _is_redelivery(delivery: Msg, message: Msg) -> bool:
    """A later delivery of the same message."""
    return sequence(delivery) == sequence(message) and delivery.metadata.num_delivered > message.metadata.num_delivered


def _position_text(info: Mapping[str, Any]) -> str:
    """Describe how far a consumer has come. For last_per_subject, leave out what is to come: server 2.11 counts that
    again at any update, and only once of each subject, though it still delivers every message."""
    waiting_pulls = (
        "" if info["config"].get("deliver_policy") == "last_per_subject" else f"{info['num_pending']} to come, "
    )
    return (
        f"{waiting_pulls}{info['num_ack_pending']} in flight, "
        f"passed {info['delivered']['stream_seq']}, acknowledged up to {info['ack_floor']['stream_seq']}"
    )
