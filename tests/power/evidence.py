"""What became of a message that nobody was given: where it is stored, and what each node says about stream and consumers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reconciler.server.wire.api import JetStream
from tests.power.recording import Clients
from tests.support.servers import NatsServer

HEAD = 22
"""Bytes of a stored message before its subject: length, sequence, time, length of the subject."""
HASH = 8
"""Bytes after it."""
TELLING = ("leader", "Catchup", "catchup", "truncat", "reset", "Reset", "WAL", "mismatch", "rror", "WRN")
"""Lines of a log that tell how a group of three agreed."""


async def told(
    lost: Sequence[str],
    clients: Clients,
    js: JetStream,
    nodes: Sequence[NatsServer],
    views: Mapping[str, Sequence[Mapping[str, Any]]],
) -> str:
    """Everything that tells whether a server has lost these messages, or nobody asked long enough."""
    streams = sorted({clients.kept[text].stream for text in lost})
    lines = [line for text in lost for line in await _message(text, clients, js, nodes)]
    lines += [line for stream in streams for line in await _answers(stream, js)]
    lines += [f"{node} {stream}: {_view(found, stream)}" for stream in streams for node, found in views.items()]
    lines += [f"{node.name} logged: {line}" for node in nodes for line in _log(node, streams)]
    return "\n  ".join(lines)


async def _message(text: str, clients: Clients, js: JetStream, nodes: Sequence[NatsServer]) -> list[str]:
    kept = clients.kept[text]
    there = {node.name: _on_disk(node.store, kept.stream, kept.subject, text) for node in nodes}
    now = await js.request(f"STREAM.MSG.GET.{kept.stream}", {"seq": kept.sequence})
    return [f"{text}: {kept}; on disk {there}; now at {kept.sequence}: {_short(now)}"]


async def _answers(stream: str, js: JetStream) -> list[str]:
    info = await js.request(f"STREAM.INFO.{stream}")
    names = await js.request(f"CONSUMER.LIST.{stream}")
    consumers = names.get("consumers", ()) if isinstance(names, Mapping) else (names,)
    return [f"STREAM.INFO.{stream} {_short(info)}", *(f"CONSUMER {_short(one)}" for one in consumers)]


def _short(said: Any) -> str:
    """Without what a server says about itself."""
    plain = (
        {key: value for key, value in said.items() if key not in ("type", "config")}
        if isinstance(said, Mapping)
        else said
    )
    return json.dumps(plain, default=str)


def _view(streams: Sequence[Mapping[str, Any]], name: str) -> str:
    keys = ("delivered", "ack_floor", "num_pending", "num_ack_pending", "cluster")
    for one in streams:
        if one["name"] == name:
            consumers = {
                each["name"]: {key: each.get(key) for key in keys} for each in one.get("consumer_detail") or ()
            }
            return _short({"state": one["state"], "cluster": one.get("cluster"), "consumers": consumers})
    return "no such stream"


def _on_disk(store: Path, stream: str, subject: str, text: str) -> list[int]:
    """The sequences at which a node's files hold it."""
    wanted, found = (subject + text).encode(), []
    for block in sorted(store.glob(f"jetstream/*/streams/{stream}/msgs/*.blk")):
        content, at = block.read_bytes(), 0
        while (at := content.find(wanted, at)) >= 0:
            if at >= HEAD and int.from_bytes(content[at - HEAD : at - HEAD + 4], "little") == HEAD + len(wanted) + HASH:
                found.append(int.from_bytes(content[at - HEAD + 4 : at - HEAD + 12], "little"))
            at += 1
    return found


def _log(node: NatsServer, streams: Sequence[str]) -> list[str]:
    about = [line for line in node.log.splitlines() if any(word in line for word in TELLING)]
    return [line for line in about if any(f"{stream}'" in line or f"> {stream}" in line for stream in streams)][-40:]
