"""Who else reads the streams of a topology: other topologies of the same files, and those that a ledger has recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from reconciler.kinds import REGISTRY
from reconciler.model.records import Owned, decode_key, decode_owned
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
            if reading := tuple(_reading(other, theirs)):
                yield replace(other, resources=reading, removed=(), forget=(), moved=())


def _streams(topology: Topology) -> set[str]:
    """The streams that it manages, under any kind's name."""
    names = (REGISTRY.of(one.address).stream(one.address) for one in topology.resources if not one.external)
    return {name for name in names if name}


def _of_somebody_else(other: Topology, owner: Topology) -> set[str]:
    """Streams that it uses from yet another topology, which happen to have the same name."""
    return {one.address.name for one in other.resources if one.owner not in (None, owner.name)}


def _reading(topology: Topology, streams: set[str]) -> Iterator[Declared]:
    """The external streams themselves, which stand before their consumers and groups, and whatever reads them."""
    for one in topology.resources:
        is_used = one.external and one.address.name in streams
        if is_used or any(read in streams for read in _read_by(one)):
            yield one


def _read_by(one: Declared) -> Iterator[str]:
    if not one.external:
        said = one.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)
        yield from (read.stream for read in REGISTRY.of(one.address).reads(one.address, said))


def in_ledger(entries: Entries, owner: Topology, also: str) -> dict[str, Entry]:
    """Return the records of what other topologies than these two read of the owner's streams."""
    streams, found = _streams(owner), {}
    for key, one in entries.items():
        address = decode_key(key)
        if address is None or one.deleted or not REGISTRY.holds(address):
            continue
        owned = decode_owned(one)
        if isinstance(owned, Owned) and owned.topology not in (owner.name, also) and _reads(address, owned, streams):
            found[key] = one
    return found


def _reads(address: Address, owned: Owned, streams: set[str]) -> bool:
    return any(one.stream in streams for one in REGISTRY.of(address).reads(address, owned.applied))
