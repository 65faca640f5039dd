"""The addresses of those that read or copy a stream, whosever they are. Ephemeral consumers have none: nobody manages them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from reconciler.changes.diff import Change
from reconciler.changes.view import View
from reconciler.kinds.stream_config import origins
from reconciler.model.resource import Address, Json

Consumers = Mapping[str, Mapping[str, Json]]


def streams(names: Iterable[str], view: View) -> list[Address]:
    """Of streams by their own names: those of buckets, stores and elastic groups are known as these."""
    return [
        known for name in names if (known := next(filter(_known(view).__contains__, _candidates(name, view)), None))
    ]


def _candidates(name: str, view: View) -> Iterator[Address]:
    yield from view.backed_by(name)
    for index, letter in enumerate(name):
        if letter == "-":
            yield Address.of("elastic_group", name[:index], name[index + 1 :])


@lru_cache(maxsize=4)
def _known(view: View) -> frozenset[Address]:
    """Live under some kind, or remembered."""
    return frozenset((*view.live, *view.ledger))


def consumers(stream: str, names: Iterable[str], view: View) -> list[Address]:
    """Of consumers of one stream; those that serve the members of a static group are that group's."""
    found = dict.fromkeys(known for name in names if (known := _consumer(stream, name, view)))
    return list(found)


def _consumer(stream: str, name: str, view: View) -> Address | None:
    if (address := Address.of("consumer", stream, name)) in _known(view):
        return address
    groups = (Address.of("static_group", stream, name[:index]) for index, one in enumerate(name) if one == "-")
    group = next(filter(_known(view).__contains__, groups), None)
    return group or (address if _is_of_a_bucket(stream, name, view) else None)


def _is_of_a_bucket(stream: str, consumer: str, view: View) -> bool:
    """One that lasts. Kinds know nothing of consumers of buckets, where most come and go."""
    info = view.snapshot.consumers.get(stream, {}).get(consumer)
    is_bucket = any(one.kind != "stream" and view.is_stream(one) for one in streams([stream], view))
    return is_bucket and info is not None and bool(info["config"].get("durable_name"))


def copies(stream: str, view: View) -> list[Address]:
    """Of its mirrors, of streams that source it, and of groups whose queues do."""
    return streams(origins.copying_on(stream, view), view)


def consuming(stream: str, view: View) -> list[Address]:
    """All that consume it now."""
    return consumers(stream, view.snapshot.consumers.get(stream, {}), view)


def everybody(stream: str, view: View) -> list[Address]:
    """All that consume or copy it now."""
    return [*consuming(stream, view), *copies(stream, view)]


def groups(stream: str, view: View) -> list[Address]:
    """Static groups, whose members make consumers of it."""
    return [one for one in _known(view) if one.kind == "static_group" and one.stream == stream]


def copying_through(change: Change, view: View) -> list[Address]:
    """Streams that copy their origin through the consumer that changes."""
    return streams(origins.through(*(change.origin or change.address).names, view=view), view)
