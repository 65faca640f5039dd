"""The addresses of those that read a stream, whosever they are. Ephemeral consumers have none: nobody manages them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from reconciler.core.resource import Address, Json
from reconciler.core.rule import View

Consumers = Mapping[str, Mapping[str, Json]]


def streams(names: Iterable[str], view: View) -> list[Address]:
    """Of streams by their own names: those of buckets, stores and elastic groups are known as these."""
    return [known for name in names if (known := next(filter(_known(view).__contains__, _candidates(name)), None))]


def _candidates(name: str) -> Iterator[Address]:
    yield Address.of("stream", name)
    for kind, prefix in (("kv_bucket", "KV_"), ("object_store", "OBJ_")):
        if name.startswith(prefix):
            yield Address.of(kind, name.removeprefix(prefix))
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
    return next(filter(_known(view).__contains__, groups), None)


def everybody(stream: str, view: View) -> list[Address]:
    """All that consume it now."""
    return consumers(stream, view.snapshot.consumers.get(stream, {}) if view.snapshot else (), view)
