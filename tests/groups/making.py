"""A group on a real server, piece by piece, so that a test can leave one out or make it wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.support.jetstream import done, make_bucket, make_stream

SECOND = 1_000_000_000
RECORD: dict[str, Any] = {
    "max_members": 4,
    "partitioning_filters": [{"filter": "j.*", "partitioning_wildcards": [1]}],
    "members": ["a", "b"],
}
STATIC: dict[str, Any] = {"max_members": 4, "members": ["a", "b"]}
OWNED = {"a": ["0.j.*", "1.j.*"], "b": ["2.j.*", "3.j.*"]}
STATICALLY_OWNED = {"a": ["0.>", "1.>"], "b": ["2.>", "3.>"]}


def source(partitions: int = 4, **more: Any) -> dict[str, Any]:
    dest = f"{{{{Partition({partitions},1)}}}}.j.{{{{Wildcard(1)}}}}"
    return {"name": "S", "subject_transforms": [{"src": "j.*", "dest": dest}], **more}


def queue(**changed: Any) -> dict[str, Any]:
    """As the reference makes it."""
    return {"retention": "workqueue", "discard": "new", "allow_direct": True, "sources": [source()], **changed}


async def put(js: JetStream, record: Mapping[str, Any] | str, type_: str = "elastic") -> None:
    text = record if isinstance(record, str) else json.dumps(record, separators=(",", ":"))
    said = await js.persistent().put_entry(  # in a cluster nobody listens yet, a moment after the bucket was made
        f"{type_}-consumer-groups", "S.g", text.encode(errors="surrogateescape"), expected_revision=None
    )
    assert isinstance(said, Stored), said


async def consumer(js: JetStream, name: str, filters: list[str], **changed: Any) -> None:
    """A member's consumer, as the reference makes it."""
    config = {
        "name": name, "ack_policy": "explicit", "ack_wait": 5 * SECOND, "filter_subjects": filters,
        "priority_groups": ["PCG"], "priority_policy": "pinned_client", "priority_timeout": 60 * SECOND,
        "inactive_threshold": 60 * SECOND, **changed,
    }  # fmt: skip
    body = {"stream_name": "S-g", "action": "create", "config": config}
    done(await js.request(f"CONSUMER.CREATE.S-g.{name}", body))


async def again(js: JetStream, name: str, filters: list[str], **changed: Any) -> None:
    """The same consumer, made anew in another way, with a client."""
    done(await js.request(f"CONSUMER.DELETE.S-g.{name}"))
    await consumer(js, name, filters, **changed)
    await pull(js, name)


async def pull(js: JetStream, name: str, stream: str = "S-g", **more: Any) -> None:
    """A client that waits for a message as an instance does, until the connection closes."""
    nc = js.pipeline.nc
    inbox = nc.new_inbox()
    await nc.subscribe(inbox)
    body = {"batch": 1, "expires": 60 * SECOND, "group": "PCG", **more}
    await nc.publish(f"{js.prefix}CONSUMER.MSG.NEXT.{stream}.{name}", json.dumps(body).encode(), reply=inbox)
    await nc.flush()


async def waited_for(js: JetStream, name: str, stream: str = "S-g") -> None:
    """Until the server knows that a client waits."""
    await until(js, lambda info: info["num_waiting"] > 0, f"CONSUMER.INFO.{stream}.{name}")


async def publish(js: JetStream, number: int = 1) -> None:
    for n in range(number):
        await js.pipeline.nc.request(f"j.k{n}", b"x", timeout=20)


async def sourced(js: JetStream, number: int) -> None:
    """Until the queue has taken in so many."""
    await until(js, lambda info: info["state"]["last_seq"] >= number)


async def taken(js: JetStream, *names: str) -> None:
    """Until the clients of these have the message they waited for: they are pinned by then."""
    for name in names:
        await until(js, lambda info: info["num_ack_pending"] == 1, f"CONSUMER.INFO.S-g.{name}")


async def until(js: JetStream, what: Callable[[Mapping[str, Any]], bool], where: str = "STREAM.INFO.S-g") -> None:
    """Until the server says so there; it announces nothing."""
    async with asyncio.timeout(60):
        while not what(done(await js.read(where))):  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.02)


async def elastic(js: JetStream) -> None:
    """A group in good health: two members, each with a client that waits."""
    await make_stream(js, "S", subjects=["j.*"])
    await make_bucket(js, "elastic-consumer-groups")
    await put(js, RECORD)
    await make_stream(js, "S-g", **queue())
    for name, filters in OWNED.items():
        await consumer(js, name, filters)
        await pull(js, name)
        await waited_for(js, name)


async def static(
    js: JetStream,
    record: Mapping[str, Any] = STATIC,
    owned: Mapping[str, list[str]] = STATICALLY_OWNED,
    **changed: Any,
) -> None:
    transform = {"src": "j.*", "dest": "{{partition(4,1)}}.j.{{wildcard(1)}}"}
    await make_stream(js, "S", **{"subjects": ["j.*"], "subject_transform": transform, **changed})
    await make_bucket(js, "static-consumer-groups")
    await put(js, record, "static")
    for name, filters in owned.items():
        config = {
            "durable_name": f"g-{name}", "ack_policy": "explicit", "filter_subjects": filters,
            "priority_groups": ["PCG"], "priority_policy": "pinned_client", "priority_timeout": 60 * SECOND,
        }  # fmt: skip
        body = {"stream_name": "S", "action": "create", "config": config}
        done(await js.request(f"CONSUMER.CREATE.S.g-{name}", body))
        await pull(js, f"g-{name}", "S")
        await waited_for(js, f"g-{name}", "S")
