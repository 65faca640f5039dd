"""Where a key goes: the partition of a subject, computed exactly as servers compute it."""

from __future__ import annotations

from reconciler.kinds.groups.model import Group
from reconciler.kinds.subjects.partitions import fnv1a, hash_key, partition
from reconciler.kinds.subjects.subjects import matches
from reconciler.kinds.subjects.transforms import partition_call
from reconciler.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What decides: a filter, the numbers of its wildcards (none: the whole subject), and the number of partitions."""

    filter: str
    wildcards: tuple[int, ...]
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A key in its partition."""

    key: str
    hashed: str
    """The text that is hashed."""
    partition: int
    pattern: Pattern
    is_subject: bool
    """The key is a whole subject, not only the text that decides."""


def patterns(group: Group) -> list[Pattern]:
    """How a group's stream puts subjects into partitions; empty if the publishers do it themselves."""
    if group.is_elastic:
        filters = group.config.get("partitioning_filters") or [{"filter": ">", "partitioning_wildcards": []}]
        found = [
            Pattern(filter=one["filter"], wildcards=tuple(one["partitioning_wildcards"]), partitions=group.partitions)
            for one in filters
        ]
    else:
        found = _of_transform((group.source or {}).get("config", {}).get("subject_transform") or {})
    return [pattern for pattern in found if _has_them(pattern.filter, pattern.wildcards)]


def _has_them(filter_: str, wildcards: tuple[int, ...]) -> bool:
    """A record made by hand may name wildcards that its filter lacks."""
    return all(0 < number <= filter_.split(".").count("*") for number in wildcards)


def _of_transform(transform: dict[str, str]) -> list[Pattern]:
    call = partition_call(transform.get("dest", ""))
    if call is None:
        return []
    source = transform.get("src") or ">"
    numbers = call.numbers if {"*", ">"} & set(source.split(".")) else call.numbers[:1]
    return [Pattern(filter=source, wildcards=numbers[1:], partitions=numbers[0])]


def locate(key: str, pattern: Pattern) -> Located | None:
    """The partition of a whole subject, or of only the tokens that decide; None if the pattern says nothing about
    it."""
    if matches(key, pattern.filter):
        where = partition(key, pattern.filter, pattern.partitions, pattern.wildcards)
        hashed = hash_key(key, pattern.filter, pattern.wildcards)
        return Located(key=key, hashed=hashed, partition=where, pattern=pattern, is_subject=True)
    if "." in key or not pattern.wildcards:
        return None
    where = fnv1a(key.encode()) % pattern.partitions
    return Located(key=key, hashed=key, partition=where, pattern=pattern, is_subject=False)
