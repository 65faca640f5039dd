"""Who else reads the streams of a topology, and who owns those that it uses: other topologies of the same files, and those that
a ledger has recorded."""

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


def readers_in_files(owner: Topology, others: Iterable[Topology]) -> Iterator[Topology]:
    """Return what other topologies of the same place declare of the owner's streams: consumers, groups and copies."""
    streams = _streams(owner)
    for other in _topologies_of_same_account(owner, others):
        theirs = streams - _streams(other) - _streams_of_third_topologies(other, owner)
        if reading := tuple(_resources_reading(other, theirs)):
            yield replace(other, resources=reading, removed=(), forget=(), moved=())


def _topologies_of_same_account(topology: Topology, others: Iterable[Topology]) -> Iterator[Topology]:
    for other in others:
        is_same_account = other.environment in ("", topology.environment) and other.expect == topology.expect
        if other.name != topology.name and is_same_account:
            yield other


def owners_in_files(user: Topology, others: Iterable[Topology]) -> Iterator[Topology]:
    """Return what other topologies of the same place declare of the streams that this one uses."""
    used = used_streams(user)
    for other in _topologies_of_same_account(user, others):
        if own := tuple(resource for resource in other.resources if _own_stream(resource) in used):
            yield replace(other, resources=own, removed=(), forget=(), moved=())


def used_streams(topology: Topology | None) -> dict[str, str | None]:
    """The streams of others that it uses, with the topology that its files name as the owner."""
    resources = topology.resources if topology else ()
    return {resource.address.name: resource.owner for resource in resources if resource.external}


def _own_stream(declared: Declared) -> str | None:
    kind = REGISTRY.of(declared.address)
    return kind.stream(declared.address) if kind.backing is not None and not declared.external else None


def assumed_owners(user: Topology, owners: Iterable[Topology]) -> dict[Address, Owned]:
    """Return the records that the account should have of used streams whose owner is named, and that none of the known
    owners declares."""
    declared = {_own_stream(resource) for owner in owners for resource in owner.resources}
    return {
        Address("stream", (stream,)): Owned(topology=owner)
        for stream, owner in used_streams(user).items()
        if owner not in (None, user.name) and stream not in declared
    }


def _streams(topology: Topology) -> set[str]:
    """The streams that it manages, under any kind's name."""
    names = (
        REGISTRY.of(resource.address).stream(resource.address)
        for resource in topology.resources
        if not resource.external
    )
    return {name for name in names if name}


def _streams_of_third_topologies(other: Topology, owner: Topology) -> set[str]:
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


def records_in_ledger(entries: Entries, base: Topology | None, head: Topology | None) -> dict[str, Entry]:
    """Return the records of other topologies that read the streams of this one's older state, or own those that it
    uses."""
    names = {state.name for state in (base, head) if state}
    streams, used, records = _streams(base) if base else set(), {**used_streams(base), **used_streams(head)}, {}
    for key, entry in entries.items():
        address = decode_key(key)
        if address is None or entry.deleted or not REGISTRY.holds(address):
            continue
        owned = decode_owned(entry)
        if (
            isinstance(owned, Owned)
            and owned.topology not in names
            and (_reads_any_of(address, owned, streams) or REGISTRY.of(address).stream(address) in used)
        ):
            records[key] = entry
    return records


def _reads_any_of(address: Address, owned: Owned, streams: set[str]) -> bool:
    return any(read.stream in streams for read in REGISTRY.of(address).reads(address, owned.applied))
