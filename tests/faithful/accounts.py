"""Raw reading and writing of an account, without anything of the engine's: what is compared is what servers say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any

from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.faithful.drawing import GROUP_BUCKET, NEIGHBOURS, Drawn, as_stored
from tests.primitives.bodies import Body
from tests.support.accounts import Account

On = tuple[str, ...]
GROUPS = ("static-consumer-groups", "elastic-consumer-groups")


class Live:
    """One account of a real server, used from plain functions."""

    def __init__(self, account: Account) -> None:
        self.version = Version.parse(account.version)
        self._account, self._runner = account, asyncio.Runner()

    def __enter__(self) -> Live:
        self._runner.run(self._open())
        return self

    async def _open(self) -> None:
        self._nc = await self._account.connect()
        self.js = await JetStream.open(self._nc, within=20)

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._runner.run(self._close())
        self._runner.close()

    async def _close(self) -> None:
        await self.js.close()
        await self._nc.close()

    def run(self, work: Any) -> Any:
        return self._runner.run(work)

    def snapshot(self) -> Snapshot:
        found: Snapshot = self.run(observe(self.js))
        return found

    def make(self, objects: Iterable[Drawn]) -> list[Drawn]:
        """Those of them that the server takes."""
        made: list[Drawn] = self.run(self._make([*objects]))
        return made

    async def _make(self, objects: list[Drawn]) -> list[Drawn]:
        usual = {f"KV_{name}": {"subjects": [f"$KV.{name}.>"], **GROUP_BUCKET} for name in GROUPS}
        for name, body in {**NEIGHBOURS, **usual}.items():
            await self.js.write(f"STREAM.CREATE.{name}", {"name": name, "storage": "memory", **body})
        made: list[Drawn] = []
        for stage in ([one for one in objects if not one.parent], [one for one in objects if one.parent]):
            there = {one.on[0] for one in made}
            possible = [one for one in stage if not one.parent or one.parent in there]
            said = await asyncio.gather(*(self._make_one(one) for one in possible))
            made += [one for one, is_made in zip(possible, said, strict=True) if is_made]
        return made

    async def _make_one(self, one: Drawn) -> bool:
        if one.on[0] in GROUPS:
            return await self._put(one.on, one.body)
        if len(one.on) == 1:
            return isinstance(
                await self.js.write(f"STREAM.CREATE.{one.on[0]}", {"name": one.on[0], **one.body}), Mapping
            )
        stream, name = one.on
        body = {"stream_name": stream, "action": "create", "config": {"durable_name": name, "name": name, **one.body}}
        return isinstance(await self.js.write(f"CONSUMER.CREATE.{stream}.{name}", body), Mapping)

    async def _put(self, on: On, record: Body) -> bool:
        bucket, key = on
        said = await self.js.put_entry(bucket, key, as_stored(record).encode(), expected_revision=None)
        return hasattr(said, "revision")

    def touch(self, wanted: Mapping[On, Body]) -> None:
        """One update of each; what the server refuses stays as it is."""
        self.run(self._touch(wanted))

    async def _touch(self, wanted: Mapping[On, Body]) -> None:
        before = await observe(self.js)
        await asyncio.gather(*(self._touch_one(on, fields, before) for on, fields in wanted.items()))

    async def _touch_one(self, on: On, fields: Body, before: Snapshot) -> None:
        if on[0] in GROUPS:
            record = json.loads(before.entries[on[0]][on[1]].value)
            changed = {**record, **fields}
            await self._put(on, {key: value for key, value in changed.items() if value != []})
        elif len(on) == 1:
            await self.js.write(f"STREAM.UPDATE.{on[0]}", {**before.streams[on[0]]["config"], **fields})
        elif "pause_until" in fields:
            await self.js.write(f"CONSUMER.PAUSE.{on[0]}.{on[1]}", {"pause_until": fields["pause_until"]})
        elif on[1] in before.consumers.get(on[0], {}):  # else nobody used it for too long, and it is gone
            config = {**before.consumers[on[0]][on[1]]["config"], **fields}
            await self.js.write(
                f"CONSUMER.CREATE.{on[0]}.{on[1]}", {"stream_name": on[0], "action": "update", "config": config}
            )


def configurations(snapshot: Snapshot) -> dict[On, Body]:
    """Everything people configured, by what the server calls it."""
    found: dict[On, Body] = {}
    for name, info in snapshot.streams.items():
        if name not in ("KV_reconciler", *(f"KV_{bucket}" for bucket in GROUPS)):
            found[name,] = plain(info["config"])
    for stream, consumers in snapshot.consumers.items():
        found |= {(stream, name): plain(info["config"]) for name, info in consumers.items()}
    for bucket in GROUPS:
        for key, entry in snapshot.entries.get(bucket, {}).items():
            if not entry.deleted:
                found[bucket, key] = json.loads(entry.value)
    return found


def plain(config: Body) -> Body:
    """Without what says nothing: names, the server's own metadata, empty values; -7 says as much as -1."""
    said = {key: _plain(value) for key, value in config.items() if key not in ("name", "durable_name")}
    said = {key: value for key, value in said.items() if not str(value).startswith("0001-01-01")}  # no time at all
    if said.get("mirror"):
        said.pop("duplicate_window", None)  # servers forget it when they start
    said["metadata"] = {k: v for k, v in (config.get("metadata") or {}).items() if not k.startswith("_nats.")}
    return {key: value for key, value in said.items() if value not in (None, "", 0, False, [], {}, -1)}


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str | dict | list):
        return value
    if isinstance(value, int):
        return max(value, -1)
    if isinstance(value, str):
        return _moment(value)
    if isinstance(value, dict):
        return {key: inner for key, one in value.items() if (inner := _plain(one)) not in (None, "", 0, False, [], {})}
    return [_plain(one) for one in value]


def _moment(text: str) -> str:
    """Times in any zone, as the moment they are."""
    try:
        return datetime.fromisoformat(text).astimezone().isoformat() if "T" in text and ":" in text else text
    except ValueError:
        return text
