"""What the `nats` CLI writes: `stream info --json`, `consumer info --json`, lists of both, configurations,
`backup.json`.

All of it is the server's own JSON, so nothing has to be translated.
"""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.documents.foreign.translation import Findings, ForeignObject, places_below
from reconciler.model.resource import Json, Where

LISTS = ("streams", "consumers")


def is_nats(document: Json) -> bool:
    """Does this look like an INFO reply, a stream's configuration, or a list of streams or consumers?"""
    if not isinstance(document, Mapping):
        return False
    return isinstance(document.get("config"), Mapping) or _is_configuration(document) or any(_listed_objects(document))


def _is_configuration(document: Mapping[str, Json]) -> bool:
    return isinstance(document.get("name"), str) and bool({"retention", "storage", "subjects"} & document.keys())


def _listed_objects(document: Mapping[str, Json]) -> list[tuple[str, Json]]:
    lists = ((name, document.get(name)) for name in LISTS)
    return [
        (f"{name}[{n}].", item)
        for name, objects in lists
        if isinstance(objects, list)
        for n, item in enumerate(objects)
    ]


def read_nats(document: Mapping[str, Json], where: Where, findings: Findings, prefix: str = "") -> None:
    """Add every stream and consumer in it to `into`, including those in lists."""
    if isinstance(document.get("config"), Mapping):
        _read_info(document, where, findings, prefix)
    elif _is_configuration(document):
        findings.found.append(ForeignObject(on=(document["name"],), config=document, where=places_below(where, prefix)))
    for path, item in _listed_objects(document):
        if isinstance(item, Mapping):
            read_nats(item, where, findings, prefix + path)


def _read_info(info: Mapping[str, Json], where: Where, findings: Findings, prefix: str) -> None:
    config, place_in_config = info["config"], places_below(where, f"{prefix}config.")
    name, stream = config.get("name") or info.get("name"), info.get("stream_name")
    if isinstance(stream, str):
        _read_consumer(stream, config.get("durable_name"), info, place_in_config, findings)
    elif isinstance(config.get("name"), str) and "durable_name" not in config:
        findings.found.append(ForeignObject(on=(config["name"],), config=config, where=place_in_config))
        _report_archived_consumers(info, where, findings)
    else:
        findings.add_unreadable(where, prefix, f"consumer {name} does not name its stream; give its `info --json`")


def _read_consumer(
    stream: str, durable: Json, info: Mapping[str, Json], place_in_config: Where, findings: Findings
) -> None:
    if isinstance(durable, str) and durable:
        findings.found.append(ForeignObject(on=(stream, durable), config=info["config"], where=place_in_config))
    else:
        message = "an ephemeral consumer disappears with its client, so no file declares it"
        findings.add_left_out(place_in_config, "", message, about=f"consumer/{stream}/{info.get('name')}")


def _report_archived_consumers(info: Mapping[str, Json], where: Where, findings: Findings) -> None:
    """Report the consumers of a backup, which are in the archive beside it. Unlike an info, a backup has no creation
    time."""
    state = info.get("state")
    if "created" not in info and isinstance(state, Mapping) and state.get("consumer_count"):
        message = f"its consumers ({state['consumer_count']}) are in the archive of the backup, and were left out"
        fix = "restore it somewhere and give `nats consumer info --json` of each consumer, or export from there"
        findings.add_left_out(where, "state.consumer_count", message, about=f"stream/{info['config']['name']}", fix=fix)
