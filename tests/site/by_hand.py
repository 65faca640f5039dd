"""What a case says beside its files, done on a real server after its live objects were applied."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from reconciler.model.ledger.records import BUCKET, encode_key, encode_owned
from reconciler.model.resource import Address
from reconciler.server.wire.answers import Refusal, Stored
from reconciler.server.wire.api import JetStream
from tests.rules.examples import Example
from tests.support.jetstream import done
from tests.support.topologies import merge

Body = Mapping[str, Any]
DELETED = {"KV-Operation": "DEL"}


async def done_by_hand(js: JetStream, example: Example) -> None:
    """The objects first: what nobody has applied has no ledger either."""
    raw = example.case.get("raw", {})
    for name, over in raw.get("streams", {}).items():
        await _stream(js, name, example.applied.streams.get(name), over)
    for stream, consumers in raw.get("consumers", {}).items():
        for name, over in consumers.items():
            await _consumer(js, (stream, name), example.applied.consumers.get(stream, {}).get(name), over)
    for bucket, entries in raw.get("entries", {}).items():
        for key, value in entries.items():
            await _entry(js, bucket, key, value)
    rewritten = example.scene.ledger if "owner_source" in example.case else example.case.get("records", {})
    for address in map(str, rewritten):
        await _record(js, Address.parse(address), example)
    if example.case.get("owner", "") is None:
        done(await js.write(f"STREAM.DELETE.KV_{BUCKET}"))


async def _stream(js: JetStream, name: str, applied: Body | None, over: Body | None) -> None:
    if over is None:
        done(await js.write(f"STREAM.DELETE.{name}"))
    elif applied is None:
        if name != f"KV_{BUCKET}":  # the first apply has made it
            done(await js.write(f"STREAM.CREATE.{name}", {**over["config"], "name": name}))
    elif "config" in over:
        config = merge(done(await js.read(f"STREAM.INFO.{name}"))["config"], over["config"])
        if isinstance(await js.write(f"STREAM.UPDATE.{name}", config), Refusal):  # who wants that has to make it anew
            done(await js.write(f"STREAM.DELETE.{name}"))
            done(await js.write(f"STREAM.CREATE.{name}", config))


async def _consumer(js: JetStream, on: tuple[str, str], applied: Body | None, over: Body | None) -> None:
    if over is None:
        done(await js.write(f"CONSUMER.DELETE.{'.'.join(on)}"))
    elif applied is None:
        config = {"ack_policy": "explicit", **over.get("config", {}), "name": on[1]}
        done(await js.write(f"CONSUMER.CREATE.{'.'.join(on)}", {"stream_name": on[0], "config": config}))
    elif "config" in over:
        config = merge(done(await js.read(f"CONSUMER.INFO.{'.'.join(on)}"))["config"], over["config"])
        done(await js.write(f"CONSUMER.CREATE.{'.'.join(on)}", {"stream_name": on[0], "config": config}))


async def _entry(js: JetStream, bucket: str, key: str, value: str | None) -> None:
    headers = DELETED if value is None else None
    await _bucket(js, bucket)
    stored = await js.put_entry(bucket, key, (value or "").encode(), expected_revision=None, headers=headers)
    assert isinstance(stored, Stored), stored


async def _bucket(js: JetStream, name: str) -> None:
    """Makes it where nothing applied needed it."""
    if isinstance(await js.read(f"STREAM.INFO.KV_{name}"), Refusal):
        config = {
            "subjects": [f"$KV.{name}.>"],
            "max_msgs_per_subject": 1,
            "allow_rollup_hdrs": True,
            "deny_delete": True,
        }
        done(await js.write(f"STREAM.CREATE.KV_{name}", {"name": f"KV_{name}", "allow_direct": True, **config}))


async def _record(js: JetStream, address: Address, example: Example) -> None:
    """What the ledger says of it, under the owner that the case names."""
    await _entry(js, BUCKET, encode_key(address), json.dumps(encode_owned(example.scene.ledger[address])))
