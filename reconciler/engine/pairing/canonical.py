"""The two sides of a comparison in canonical form: every live resource under the kind that owns it, and every declared
one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from reconciler.changes.diff import rebase
from reconciler.changes.kind import Context, Kind, Raw, Registry, as_found
from reconciler.model.resource import Address, Resource
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot


def recognised_resources(
    snapshot: Snapshot,
    registry: Registry,
    declared: Collection[Address] = (),
    known_as: Collection[Address] = (),
    external: Collection[Address] = (),
) -> dict[Address, Resource]:
    """Every live resource, under the one kind that owns its raw object: the kind it is declared as, else the kind it is
    `known_as` (remembered, or to be removed), else the kind that it looks like. An `external` stream also appears as
    that stream, whatever it is to its owner: the stream behind a bucket has consumers of its own."""
    claims = {raw: kind.name for kind in registry.kinds for raw in kind.claims(snapshot)}
    wanted = {*declared}
    for address in (*(known for known in known_as if known not in wanted), *declared):
        kind = registry.of(address)
        claims[kind.primary(address)] = kind.name
        claims.update(dict.fromkeys(kind.derived(address), kind.name))
    elsewhere = {registry.of(address).primary(address) for address in external}
    return {
        resource.address: resource
        for kind in registry.kinds
        for resource in kind.recognise(snapshot)
        if _is_own_object(kind, resource.address, claims, elsewhere, registry)
    }


def _is_own_object(
    kind: Kind, address: Address, claims: Mapping[Raw, str], elsewhere: Collection[Raw], registry: Registry
) -> bool:
    """Is the raw object itself claimed by no other kind, and the stream that it belongs to no part of something else?"""
    raw = kind.primary(address)
    if kind.place.within:
        stream = Raw("stream", address.names[:1])
        holder = claims.get(stream, kind.place.within)
        if stream not in elsewhere and registry[holder].backing is None:
            return False
    return raw in elsewhere or claims.get(raw, kind.name) == kind.name


def settle_declared(
    topology: Topology, snapshot: Snapshot, registry: Registry, live: Mapping[Address, Resource]
) -> dict[Address, Resource]:
    """Every declared resource in canonical form, parents first. A child is settled under its parent as that will be."""
    kinds = [registry.of(item.address) for item in topology.resources]
    declared = [
        (as_found(item, live.get(item.address), kind), kind)
        for item, kind in zip(topology.resources, kinds, strict=True)
    ]
    lent = {stream: lendings for item, kind in declared if kind.lends for stream, lendings in kind.lends(item).items()}
    at_the_top = Context(target=snapshot.target, snapshot=snapshot, lent=lent)
    desired = {item.address: kind.settle(item, at_the_top) for item, kind in declared if not kind.place.within}
    parents = {
        address: _parent_afterwards(item, live.get(address), registry.of(address)) for address, item in desired.items()
    }
    parents |= dict(_streams_of_buckets(desired, parents, registry))
    below = {address: replace(at_the_top, parent=item) for address, item in parents.items()}
    for item, kind in declared:
        if above := registry.parent_of(item.address):
            desired[item.address] = kind.settle(item, below.get(above, at_the_top))
    return {item.address: desired[item.address] for item, _ in declared} | dict(_with_uses(topology, desired, registry))


def _streams_of_buckets(
    desired: Mapping[Address, Resource], parents: Mapping[Address, Resource], registry: Registry
) -> Iterator[tuple[Address, Resource]]:
    """Streams that buckets of the same files decide, and which stand there as `external`, for their consumers."""
    for address, resource in desired.items():
        for bucket in registry.backed_by(address.name) if resource.external else ():
            if bucket != address and bucket in parents:
                body = registry.of(bucket).as_stream(parents[bucket])
                yield address, replace(parents[address], config=body)


def _with_uses(
    topology: Topology, desired: Mapping[Address, Resource], registry: Registry
) -> Iterator[tuple[Address, Resource]]:
    """Resources that read a stream of another topology, if the files name that topology."""
    owners = {declared.address.name: declared.owner for declared in topology.resources if declared.owner}
    for address, resource in desired.items() if owners else ():
        streams = {reads.stream for reads in registry.of(address).reads(address, resource.config)}
        if uses := {stream: owners[stream] for stream in sorted(streams & owners.keys())}:
            yield address, replace(resource, uses=uses)


def _parent_afterwards(desired: Resource, live: Resource | None, kind: Kind) -> Resource:
    """A parent that someone else manages, and fields that are left as found, stay as they are live."""
    if live is None:
        return desired
    return live if desired.external else replace(desired, config=rebase(desired, live, None, kind.fields))
