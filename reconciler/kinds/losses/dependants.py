"""The addresses of everything that reads or copies a stream, whoever owns it. Ephemeral consumers have none: nobody
manages them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.stream_config import origins
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import intersections
from reconciler.model.resource import Address


def streams(names: Iterable[str], view: View) -> list[Address]:
    """Addresses of streams, given their own names. Streams of buckets, object stores and elastic groups have the
    address of these."""
    return [
        address
        for name in names
        if (address := next(filter(_known_addresses(view).__contains__, _possible_addresses(name, view)), None))
    ]


def _possible_addresses(name: str, view: View) -> Iterator[Address]:
    yield from view.backed_by(name)
    for index, letter in enumerate(name):
        if letter == "-":
            yield Address.of("elastic_group", name[:index], name[index + 1 :])


@lru_cache(maxsize=4)
def _known_addresses(view: View) -> frozenset[Address]:
    """Addresses that are live under some kind, or remembered."""
    return frozenset((*view.live, *view.ledger))


def consumers(stream: str, names: Iterable[str], view: View) -> list[Address]:
    """Addresses of consumers of one stream. Consumers that serve the members of a static group have the address of the
    group."""
    addresses = dict.fromkeys(address for name in names if (address := _consumer_address(stream, name, view)))
    return list(addresses)


def _consumer_address(stream: str, name: str, view: View) -> Address | None:
    if (address := Address.of("consumer", stream, name)) in _known_addresses(view):
        return address
    groups = (Address.of("static_group", stream, name[:index]) for index, letter in enumerate(name) if letter == "-")
    group = next(filter(_known_addresses(view).__contains__, groups), None)
    return group or (address if _is_durable_of_bucket(stream, name, view) else None)


def _is_durable_of_bucket(stream: str, consumer: str, view: View) -> bool:
    """A durable consumer of a bucket. No kind manages consumers of buckets, since most of them come and go."""
    info = view.snapshot.consumers.get(stream, {}).get(consumer)
    is_bucket = any(address.kind != "stream" and view.is_stream(address) for address in streams([stream], view))
    return is_bucket and info is not None and bool(info["config"].get("durable_name"))


def copies(stream: str, view: View) -> list[Address]:
    """Its mirrors, streams that source it, and groups whose queues do."""
    return streams(origins.copies_afterwards(stream, view), view)


def live_consumers(stream: str, view: View) -> list[Address]:
    """Everything that consumes it now."""
    return consumers(stream, view.snapshot.consumers.get(stream, {}), view)


def everybody(stream: str, view: View) -> list[Address]:
    """Everything that consumes or copies it now."""
    return [*live_consumers(stream, view), *copies(stream, view)]


def readers_of(subjects: Sequence[str], stream: str, view: View) -> list[Address]:
    """What consumes or copies some of these subjects of it now."""
    consumers_now = view.snapshot.consumers.get(stream, {})
    reading = [name for name, info in consumers_now.items() if intersections(filters_of(info["config"]), subjects)]
    copying = [
        name for name, taken in origins.copies_afterwards(stream, view).items() if intersections(taken, subjects)
    ]
    return [*consumers(stream, reading, view), *streams(copying, view)]


def groups(stream: str, view: View) -> list[Address]:
    """Static groups, whose members create consumers of the stream."""
    return [
        address for address in _known_addresses(view) if address.kind == "static_group" and address.stream == stream
    ]


def copying_through(change: Change, view: View) -> list[Address]:
    """Streams that copy their origin through the consumer that changes."""
    return streams(origins.copies_through(*(change.origin or change.address).names, view=view), view)
