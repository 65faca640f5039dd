"""Turns what other tools' files describe into a topology: reads it as an account that holds it, and exports that
account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from reconciler.documents.foreign.read import read_foreign
from reconciler.documents.foreign.translation import Findings, ForeignObject
from reconciler.documents.write.dump import dump
from reconciler.documents.write.order import document_order, in_order
from reconciler.journeys.export.sections import Writer
from reconciler.kinds import REGISTRY
from reconciler.kinds.consumer_config import consumer_config
from reconciler.kinds.fields.canonical_form import Settled
from reconciler.kinds.stream_config import stream_config
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, ordered
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import SUPPORTED, Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    text: str
    count: int
    """How many resources it holds."""
    problems: tuple[Diagnostic, ...] = ()


def import_files(paths: Sequence[Path], topology: str = "imported") -> Imported:
    """Return a topology file that declares what these files describe; `problems` lists what could not be carried
    over."""
    read = read_foreign(paths)
    sound = list(_valid_objects(read))
    streams = {item.on[0]: item for item in sound if len(item.on) == 1}
    snapshot = _snapshot(sound, streams)
    writer = Writer(snapshot, REGISTRY, {a: item.beside for item in sound for a in _addresses_it_may_have(item)})
    ours = [address for address in writer.addresses if address.kind != "stream" or address.name in streams]
    _add_left_out(sound, set(ours), read)
    sections = writer.sections(set(ours).__contains__)
    _add_unmanaged(sections, sound, read)
    text = dump(topology, in_order(sections, document_order(REGISTRY)))
    return Imported(text=text, count=len(ours), problems=tuple(ordered(read.problems)))


def _addresses_it_may_have(foreign_object: ForeignObject) -> Iterator[Address]:
    """The addresses it may have: a stream may also be a bucket."""
    if len(foreign_object.on) == 2:
        yield Address("consumer", foreign_object.on)
        return
    yield from REGISTRY.backed_by(foreign_object.on[0])


def _valid_objects(read: Findings) -> Iterator[ForeignObject]:
    """Keep what is valid and described once."""
    seen: dict[tuple[str, ...], ForeignObject] = {}
    for foreign_object in read.found:
        if foreign_object.on in seen:
            first_place = seen[foreign_object.on].where("")
            read.add_unreadable(
                foreign_object.where,
                "",
                f"it is described here and at {first_place}; give only one of them",
                about=foreign_object.address,
            )
        elif why := _why_unusable(foreign_object):
            read.add_unreadable(
                foreign_object.where, "", f"no server knows such a configuration: {why}", about=foreign_object.address
            )
        else:
            seen[foreign_object.on] = foreign_object
            yield foreign_object


def _why_unusable(foreign_object: ForeignObject) -> str | None:
    if not all(foreign_object.on) or not all(address.name for address in REGISTRY.backed_by(foreign_object.on[0])):
        return "it has no name"
    try:
        Writer(_snapshot([foreign_object], {}), REGISTRY).sections()
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except (TypeError, AttributeError, KeyError, ValueError):
        return "a value has the wrong type"
    return None


def _snapshot(objects: Sequence[ForeignObject], streams: Mapping[str, ForeignObject]) -> Snapshot:
    """Build an account that holds all of it, with the streams that only their consumers mention."""
    held: dict[str, Any] = {}
    consumers: dict[str, dict[str, Any]] = {}
    target = Target(version=_version(objects))
    for item in objects:
        config = dict(item.config)
        if len(item.on) == 1:
            held[item.on[0]] = {"config": config, "state": {}, "created": ""}
        else:
            info = {"stream_name": item.on[0], "name": item.on[1], "config": config, "created": ""}
            consumers.setdefault(item.on[0], {})[item.on[1]] = info
    for name in consumers.keys() - held.keys() - streams.keys():
        held[name] = {"config": {"name": name, "subjects": [name]}, "state": {}, "created": ""}
    for name, info in held.items():
        config = info["config"]
        origin = held.get((config.get("mirror") or {}).get("name", ""))
        lent = stream_config.canonical(origin["config"]) if origin else None
        _fill_in(config, stream_config.settle(config, target, name=name, origin=lent))
        for item in consumers.get(name, {}).values():
            parent = stream_config.canonical(config)
            _fill_in(item["config"], consumer_config.settle(item["config"], target, parent=parent))
    return Snapshot(target=target, streams=held, consumers=consumers)


def _fill_in(config: dict[str, Any], settled: Settled) -> None:
    """Add the values that the server fills in where the tool leaves them out."""
    config |= {name: default.value for name, default in settled.filled.items() if default.value is not None}


def _version(objects: Sequence[ForeignObject]) -> Version:
    """Return the oldest server that wrote any of it; where none did, the newest."""
    versions = (str((foreign_object.config.get("metadata") or {}).get("_nats.ver", "")) for foreign_object in objects)
    return min((Version.parse(text) for text in versions if text), default=SUPPORTED[-1])


def _add_left_out(objects: Sequence[ForeignObject], written: set[Address], read: Findings) -> None:
    for foreign_object in objects:
        if not written & set(_addresses_it_may_have(foreign_object)):
            message = (
                "left out: it is reserved, part of a bucket, or not a durable consumer, and no file declares "
                "such an object"
            )
            read.add_left_out(foreign_object.where, "", message, about=foreign_object.address)


def _add_unmanaged(sections: Mapping[str, Any], objects: Sequence[ForeignObject], read: Findings) -> None:
    entries = {("stream", name): entry for name, entry in sections.get("streams", {}).items()}
    for foreign_object in objects:
        parent = entries.get(("stream", foreign_object.on[0]), {})
        entry = parent if len(foreign_object.on) == 1 else parent.get("consumers", {}).get(foreign_object.on[1], {})
        for path in entry.get("unmanaged", ()):
            message = f"no file can express {path}, so it is left as found (`unmanaged`)"
            read.add_left_out(foreign_object.where, path, message, about=foreign_object.address)
