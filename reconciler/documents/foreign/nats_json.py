"""What the `nats` CLI writes: `stream info --json`, `consumer info --json`, lists of both, configurations,
`backup.json`.

All of it is the server's own JSON, so nothing has to be translated.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.documents.foreign.translation import Findings, ForeignObject
from reconciler.model.resource import Json, Where

LISTS = ("streams", "consumers")


def is_nats(said: Json) -> bool:
    """Does this look like an INFO reply, a stream's configuration, or a list of streams or consumers?"""
    if not isinstance(said, Mapping):
        return False
    return isinstance(said.get("config"), Mapping) or _is_configuration(said) or any(_items(said))


def _is_configuration(said: Mapping[str, Json]) -> bool:
    return isinstance(said.get("name"), str) and bool({"retention", "storage", "subjects"} & said.keys())


def _items(said: Mapping[str, Json]) -> list[tuple[str, Json]]:
    named = ((name, said.get(name)) for name in LISTS)
    return [(f"{name}[{n}].", item) for name, found in named if isinstance(found, list) for n, item in enumerate(found)]


def read_nats(said: Mapping[str, Json], where: Where, into: Findings, prefix: str = "") -> None:
    """Add every stream and consumer in it to `into`, including those in lists."""
    if isinstance(said.get("config"), Mapping):
        _read_info(said, where, into, prefix)
    elif _is_configuration(said):
        into.found.append(ForeignObject(on=(said["name"],), config=said, where=_below(where, prefix)))
    for path, item in _items(said):
        if isinstance(item, Mapping):
            read_nats(item, where, into, prefix + path)


def _read_info(said: Mapping[str, Json], where: Where, into: Findings, prefix: str) -> None:
    config, here = said["config"], _below(where, f"{prefix}config.")
    name, stream = config.get("name") or said.get("name"), said.get("stream_name")
    if isinstance(stream, str):
        _read_consumer(stream, config.get("durable_name"), said, here, into)
    elif isinstance(config.get("name"), str) and "durable_name" not in config:
        into.found.append(ForeignObject(on=(config["name"],), config=config, where=here))
        _lose_archived(said, where, into)
    else:
        into.wrong(where, prefix, f"consumer {name} does not name its stream; give its `info --json`")


def _read_consumer(stream: str, durable: Json, said: Mapping[str, Json], here: Where, into: Findings) -> None:
    if isinstance(durable, str) and durable:
        into.found.append(ForeignObject(on=(stream, durable), config=said["config"], where=here))
    else:
        message = "an ephemeral consumer disappears with its client, so no file declares it"
        into.lost(here, "", message, about=f"consumer/{stream}/{said.get('name')}")


def _lose_archived(said: Mapping[str, Json], where: Where, into: Findings) -> None:
    """Report the consumers of a backup, which are in the archive beside it. Unlike an info, a backup has no creation
    time."""
    state = said.get("state")
    if "created" not in said and isinstance(state, Mapping) and state.get("consumer_count"):
        message = f"its consumers ({state['consumer_count']}) are in the archive of the backup, and were left out"
        fix = "restore it somewhere and give `nats consumer info --json` of each consumer, or export from there"
        into.lost(where, "state.consumer_count", message, about=f"stream/{said['config']['name']}", fix=fix)


def _below(where: Where, prefix: str) -> Where:
    return lambda path: where(f"{prefix}{path}".rstrip("."))
