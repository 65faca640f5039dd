"""Which resources a pattern names: `stream/TENANT-*` by address, `team=orders` by label."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import takewhile

from reconciler.model.resource import Address
from reconciler.model.spelling import likeness, meant_choice

Labels = Mapping[str, str]
WILDCARDS = "*?["
SHORT = 2
"""Letters in which another one more is no slip."""


def is_label(pattern: str) -> bool:
    """The pattern has the form `label=value`; a `/` before the first `=` makes it an address."""
    name, equals, _ = pattern.partition("=")
    return bool(equals) and "/" not in name


def selects(pattern: str, address: Address, labels: Labels) -> bool:
    """Is this one of those that the pattern names?"""
    if is_label(pattern):
        name, _, value = pattern.partition("=")
        return labels.get(name) == value
    return fnmatchcase(str(address), pattern)


def likely_pattern(pattern: str, addresses: Collection[Address], labels: Iterable[Labels]) -> str | None:
    """The pattern that was probably meant by one that names nothing."""
    if is_label(pattern):
        return meant_choice(
            pattern, (f"{name}={value}" for labels_of_one in labels for name, value in labels_of_one.items())
        )
    others = dict.fromkeys(one for address in addresses for one in _alike_patterns(pattern, address))
    alike = [(how, other) for other in others if (how := likeness(pattern.split("/"), other.split("/")))]
    return max(alike, key=lambda one: one[0])[1] if alike else None


def _alike_patterns(pattern: str, address: Address) -> Iterator[str]:
    """The address itself, and with wildcards where the pattern has some: `stream/TENANT-*` of `stream/TENANT-7`."""
    yield str(address)
    parts, others = pattern.split("/"), str(address).split("/")
    for slip in (0, -1, 1):
        wild = "/".join(_shaped_part(part, other, slip) for part, other in zip(parts, others, strict=False))
        if len(parts) <= len(others) and fnmatchcase(str(address), wild):
            yield wild


def _shaped_part(part: str, other: str, slip: int) -> str:
    """`slip`: letters too few or too many before the wildcard."""
    stem = "".join(takewhile(lambda character: character not in WILDCARDS, part))
    shown = len(stem) + (slip if len(stem) > SHORT else 0)
    return other if stem == part else other[:shown] + part[len(stem) :]


def common_pattern(addresses: Collection[str]) -> str | None:
    """The narrowest pattern of one kind that names all of these: what they begin with, and `*`."""
    first, last = min(addresses), max(addresses)
    shared = "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return f"{shared}*" if "/" in shared else None
