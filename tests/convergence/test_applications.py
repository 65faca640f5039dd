"""We are invisible to applications: what they create at start-up they can create again, in the same words, after us."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import nats.js
import pytest

from reconciler.changes.change import Action
from reconciler.model.resource import Address
from tests.convergence.drawing import Wishes, topology
from tests.convergence.running import Real
from tests.primitives.bodies import Body
from tests.support.accounts import Account
from tests.support.versions import on_every_version

STREAM: Body = {
    "name": "S",
    "subjects": ["s.>"],
    "max_age": 60_000_000_000,
    "storage": "memory",
    "metadata": {"a": "b"},
}
DURABLE: Body = {
    "durable_name": "c",
    "name": "c",
    "ack_policy": "explicit",
    "filter_subject": "s.a",
    "metadata": {"a": "b"},
}
NATS_GO_BUCKET: Body = {
    "name": "KV_B", "subjects": ["$KV.B.>"], "retention": "limits", "max_consumers": -1, "max_msgs": -1, "max_bytes": -1,
    "discard": "new", "max_age": 0, "max_msgs_per_subject": 5, "max_msg_size": -1, "storage": "file", "num_replicas": 1,
    "duplicate_window": 120_000_000_000, "compression": "none", "sealed": False, "deny_delete": True,
    "deny_purge": False, "allow_rollup_hdrs": True, "allow_direct": True, "mirror_direct": False,
}  # fmt: skip
NATS_GO_OBJECTS: Body = {
    "name": "OBJ_O", "subjects": ["$O.O.C.>", "$O.O.M.>"], "retention": "limits", "max_consumers": 0, "max_msgs": 0,
    "max_bytes": -1, "discard": "new", "max_age": 0, "storage": "file", "num_replicas": 1, "allow_rollup_hdrs": True,
    "allow_direct": True, "compression": "none",
}  # fmt: skip
QUEUE: Body = {
    "name": "S-g", "retention": "workqueue", "discard": "new", "storage": "memory", "num_replicas": 1,
    "max_msgs": 100, "max_bytes": 0, "allow_direct": True,
    "sources": [{
        "name": "S",
        "subject_transforms": [{"src": "s.*", "dest": "{{Partition(4,1)}}.s.{{Wildcard(1)}}"}],
    }],
}  # fmt: skip
RECORD = (
    '{"max_members":4,"partitioning_filters":[{"filter":"s.*","partitioning_wildcards":[1]}],'
    '"max_buffered_msg":100,"members":["m1"]}'
)
BUCKET_OF_GROUPS: Body = {
    **NATS_GO_BUCKET,
    "name": "KV_elastic-consumer-groups",
    "subjects": ["$KV.elastic-consumer-groups.>"],
}


def create(body: Body) -> tuple[str, Body]:
    return f"STREAM.CREATE.{body['name']}", body


def create_durable(body: Body) -> tuple[str, Body]:
    return "CONSUMER.CREATE.S.c", {"stream_name": "S", "action": "create", "config": body}


STREAM_FILE: Wishes = {
    Address.of("stream", "S"): {"subjects": ["s.>"], "max_age": "1m", "storage": "memory", "metadata": {"a": "b"}}
}
APPLICATIONS: Mapping[str, tuple[list[tuple[str, Body]], Wishes]] = {
    "a stream": ([create(STREAM)], STREAM_FILE),
    "a durable consumer": (
        [create(STREAM), create_durable(DURABLE)],
        {
            **STREAM_FILE,
            Address.of("consumer", "S", "c"): {
                "ack_policy": "explicit", "filter_subject": "s.a", "metadata": {"a": "b"},
            },
        },
    ),
    "a bucket of nats.go": ([create(NATS_GO_BUCKET)], {Address.of("kv_bucket", "B"): {"history": 5}}),
    "an object store of nats.go": ([create(NATS_GO_OBJECTS)], {Address.of("object_store", "O"): {}}),
}  # fmt: skip


@on_every_version
@pytest.mark.parametrize("who", APPLICATIONS)
def test_an_application_can_create_its_own_again_after_it_was_adopted(account: Account, who: str) -> None:
    requests, wishes = APPLICATIONS[who]
    with Real(account) as real:
        first = [real.write(api, body) for api, body in requests]
        adopted(real, wishes)
        again = [real.write(api, body) for api, body in requests]
    assert [_config(answer) for answer in again] == [_config(answer) for answer in first]


@on_every_version
def test_the_reference_can_create_a_group_again_after_it_was_adopted(account: Account) -> None:
    group = {
        "max_members": 4, "partitioning_filters": [{"filter": "s.*", "partitioning_wildcards": [1]}],
        "max_buffered_msg": 100, "members": ["m1"],
    }  # fmt: skip
    with Real(account) as real:
        for body in (STREAM, BUCKET_OF_GROUPS):
            _config(real.write(*create(body)))
        real.put("elastic-consumer-groups", "S.g", RECORD)
        first = real.write(*create(QUEUE))
        adopted(real, {**STREAM_FILE, Address.of("elastic_group", "S", "g"): group})
        assert _config(real.write(*create(QUEUE))) == _config(first)
        assert real.snapshot().entries["elastic-consumer-groups"]["S.g"].value == RECORD.encode()


@on_every_version
def test_the_reference_finds_a_group_we_made_as_it_would_make_it(account: Account) -> None:
    group = {**json.loads(RECORD)}
    with Real(account) as real:
        real.apply(real.plan(topology("t", {**STREAM_FILE, Address.of("elastic_group", "S", "g"): group})))
        for body in (BUCKET_OF_GROUPS | {"max_msgs_per_subject": 1}, QUEUE):
            _config(real.write(*create(body)))
        assert real.snapshot().entries["elastic-consumer-groups"]["S.g"].value == RECORD.encode()


Make = Callable[[nats.js.JetStreamContext], Awaitable[Any]]
NATS_PY: Mapping[str, tuple[Make, Wishes]] = {
    "key_value": (
        lambda js: js.create_key_value(bucket="B", history=3),
        {Address.of("kv_bucket", "B"): {"history": 3, "allow_direct": False, "allow_msg_ttl": True}},
    ),
    "object_store": (lambda js: js.create_object_store("O"), {Address.of("object_store", "O"): {}}),
}


@on_every_version
@pytest.mark.parametrize("what", NATS_PY)
def test_nats_py_can_create_its_own_again_after_it_was_adopted(account: Account, what: str) -> None:
    make, wishes = NATS_PY[what]

    async def create_it() -> None:
        nc = await account.connect()
        await make(nc.jetstream())
        await nc.close()

    asyncio.run(create_it())
    with Real(account) as real:
        adopted(real, wishes)
    asyncio.run(create_it())


def adopted(real: Real, wishes: Wishes) -> None:
    """Everything in the file is there already, and becomes ours without a step."""
    made = real.plan(topology("t", wishes))
    assert {change.address: change.action for change in made.plan.changes} == {str(a): Action.ADOPT for a in wishes}
    assert real.apply(made).is_success
    assert not real.plan(topology("t", wishes)).plan.changes


def _config(answer: Any) -> Body:
    assert isinstance(answer, Mapping), answer
    return dict(answer["config"])
