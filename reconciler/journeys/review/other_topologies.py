"""Who else reads the streams of a topology: other topologies of the same files, and those that a ledger has recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from reconciler.kinds import REGISTRY
from reconciler.model.ledger.records import Owned, decode_key, decode_owned
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry

Entries = Mapping[str, Entry]
"""The entries of bucket `reconciler`, by their keys."""
WORDS = ("external", "mirror", "sources")
"""One of these stands in every file that reads a stream of another topology."""


def in_files(owner: Topology, others: Iterable[Topology]) -> Iterator[Topology]:
    """Return what other topologies of the same place declare of the owner's streams: consumers, groups and copies."""
    streams = _streams(owner)
    for other in others:
        meets = other.environment in ("", owner.environment) and other.expect == owner.expect
        if other.name != owner.name and meets:
            theirs = streams - _streams(other) - _of_somebody_else(other, owner)
            if reading := tuple(_resources_reading(other, theirs)):
                yield replace(other, resources=reading, removed=(), forget=(), moved=())


def _streams(topology: Topology) -> set[str]:
    """The streams that it manages, under any kind's name."""
    names = (
        REGISTRY.of(resource.address).stream(resource.address)
        for resource in topology.resources
        if not resource.external
    )
    return {name for name in names if name}


def _of_somebody_else(other: Topology, owner: Topology) -> set[str]:
    """Streams that it uses from yet another topology, which happen to have the same name."""
    return {resource.address.name for resource in other.resources if resource.owner not in (None, owner.name)}


def _resources_reading(topology: Topology, streams: set[str]) -> Iterator[Declared]:
    """The external streams themselves, which stand before their consumers and groups, and whatever reads them."""
    for resource in topology.resources:
        is_used = resource.external and resource.address.name in streams
        if is_used or any(read in streams for read in _streams_read_by(resource)):
            yield resource


def _streams_read_by(resource: Declared) -> Iterator[str]:
    if not resource.external:
        config = resource.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
        yield from (read.stream for read in REGISTRY.of(resource.address).reads(resource.address, config))


def in_ledger(entries: Entries, owner: Topology, also: str) -> dict[str, Entry]:
    """Return the records of what other topologies than these two read of the owner's streams."""
    streams, readers = _streams(owner), {}
    for key, entry in entries.items():
        address = decode_key(key)
        if address is None or entry.deleted or not REGISTRY.holds(address):
            continue
        owned = decode_owned(entry)
        if (
            isinstance(owned, Owned)
            and owned.topology not in (owner.name, also)
            and _reads_any_of(address, owned, streams)
        ):
            readers[key] = entry
    return readers


def _reads_any_of(address: Address, owned: Owned, streams: set[str]) -> bool:
    return any(read.stream in streams for read in REGISTRY.of(address).reads(address, owned.applied))
