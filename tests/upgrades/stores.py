"""Accounts as a version leaves them, with what its updates let slip in; and what another version makes of the same store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import nats
from nats.aio.client import Client

from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import NatsServer

Body = Mapping[str, Any]
S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """Streams by name with what makes them and what updates them, and consumers of the stream PLAIN."""

    streams: Mapping[str, tuple[Body, ...]]
    consumers: Mapping[str, Body]


LEFT: dict[str, Store] = {
    "2.11": Store(
        streams={
            "NEGATIVE": ({"max_msgs": -5, "max_bytes": -7, "max_consumers": -3, "max_msgs_per_subject": -9},),
            "MARKED": ({"subject_delete_marker_ttl": S}, {"subject_delete_marker_ttl": S, "sealed": True}),
            "REPLICATED": ({}, {"num_replicas": 3}),
        },
        consumers={
            "fine": {}, "unled": {"priority_groups": ["a"]}, "timed": {"priority_timeout": S},
            "waits": {"ack_wait": -5}, "backs": {"backoff": [-5]}, "counts": {"max_deliver": -7},
            "pinned": {"priority_policy": "pinned_client", "priority_groups": ["a"], "priority_timeout": -1},
        },
    ),
    "2.12": Store(
        streams={
            "BOTH": ({"allow_msg_counter": True, "allow_msg_schedules": True},),
            "REFUSING": ({"allow_msg_schedules": True, "discard": "new"},),
            "SEALED": ({"allow_msg_schedules": True}, {"allow_msg_schedules": True, "allow_rollup_hdrs": True, "sealed": True}),
            "MARKED": ({"subject_delete_marker_ttl": S}, {"subject_delete_marker_ttl": S, "sealed": True}),
            "COUNTING": ({"allow_msg_counter": True},),
            "LATER": ({"allow_msg_schedules": True},),
            "REPLICATED": ({}, {"num_replicas": 3}),
        },
        consumers={"ranked": {"priority_policy": "prioritized", "priority_groups": ["a"]}},
    ),
    "2.14": Store(
        streams={
            "BATCHED": ({"allow_batched": True},), "OPEN": ({"sealed": False},), "FED": ({"sources": [{"name": "PLAIN"}]},),
            "FED_AGED": ({"sources": [{"name": "PLAIN"}], "max_age": 60 * S},),
        },
        consumers={"flows": {"ack_policy": "flow_control", "deliver_subject": "to.flows", "flow_control": True,
                             "idle_heartbeat": S, "max_ack_pending": 10}},
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    server: NatsServer

    async def connect(self) -> Client:
        return await nats.connect(self.server.url)


def filled(server: NatsServer, store: Store) -> Snapshot:
    async def work(js: JetStream) -> Snapshot:
        await make_stream(js, "PLAIN", subjects=["plain.>"])
        await make_stream(js, "FORGOTTEN", subjects=["forgotten"], storage="memory")
        await make_consumer(js, "FORGOTTEN", "follows")
        await make_consumer(js, "PLAIN", "forgotten", mem_storage=True)
        for name, bodies in store.streams.items():
            first, *updates = ({"subjects": [f"{name.lower()}.>"], **body} for body in bodies)
            await make_stream(js, name, **first)
            for body in updates:
                done(await js.request(f"STREAM.UPDATE.{name}", {"name": name, **body}))
        for name, config in {**store.consumers, "swallowed": {"deliver_subject": "to.swallowed"}}.items():
            await make_consumer(js, "PLAIN", name, **config)
        wider = {"name": "PLAIN", "subjects": ["plain.>", "to.swallowed"]}
        done(await js.request("STREAM.UPDATE.PLAIN", wider))
        return await observe(js)

    return talk(Place(server), work)


def look(server: NatsServer) -> Snapshot:
    return talk(Place(server), observe)


def objects(snapshot: Snapshot) -> dict[str, Mapping[str, Any]]:
    """Every stream and consumer by address with its configuration, as raw as it comes."""
    found = {f"stream/{name}": info["config"] for name, info in snapshot.streams.items()}
    for stream, infos in snapshot.consumers.items():
        found |= {f"consumer/{stream}/{name}": info["config"] for name, info in infos.items()}
    return found


def rewritten(before: Mapping[str, Mapping[str, Any]], after: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """(address, field) of whatever both have and is no longer the same."""
    return {
        (address, field)
        for address in before.keys() & after.keys()
        for field in before[address].keys() | after[address].keys()
        if field != "metadata" and before[address].get(field) != after[address].get(field)
    }
