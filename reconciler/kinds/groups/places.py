"""Where a key goes: the partition of a subject, computed exactly as servers compute it; and what waits in each partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from reconciler.kinds.elastic_group.queue_stream import EVERYTHING
from reconciler.kinds.group_records.member_subjects import group_subjects
from reconciler.kinds.groups.live_group import Group
from reconciler.kinds.subjects.partitions import fnv1a, hash_key, partition
from reconciler.kinds.subjects.subjects import matches
from reconciler.kinds.subjects.transforms import partition_call
from reconciler.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Depths:
    """Messages and distinct subjects per partition."""

    messages: tuple[int, ...]
    subjects: tuple[int, ...]
    outside: Mapping[str, int]
    """Messages whose first token is no partition of this group."""

    def of(self, partitions: tuple[int, ...]) -> int:
        """Messages in these partitions together; a partition that the group does not have counts as empty."""
        return sum(self.messages[number] for number in partitions if 0 <= number < len(self.messages))

    @property
    def total(self) -> int:
        """Messages in all partitions, and outside of all."""
        return sum(self.messages) + sum(self.outside.values())


def depths(counts: Mapping[str, int], partitions: int) -> Depths:
    """The depths, given the message counts per subject of the stream that members read."""
    messages, subjects = Counter[str](), Counter[str]()
    for subject, number in counts.items():
        token = subject.partition(".")[0]
        messages[token] += number
        subjects[token] += 1
    inside = [str(number) for number in range(partitions)]
    return Depths(
        messages=tuple(messages[token] for token in inside),
        subjects=tuple(subjects[token] for token in inside),
        outside={token: messages[token] for token in sorted(messages.keys() - set(inside))},
    )


def source_depths(counts: Mapping[str, int], group: Group) -> Depths:
    """How the subjects stored in the source spread over the partitions: for an elastic group as hashed here, for a static one
    as they are numbered there. Those that the group's filters leave out do not count."""
    if group.is_elastic:
        return depths(Counter(_counts_by_place(counts, group)), group.partitions)
    taken = group_subjects(group.config)
    counted = {subject: number for subject, number in counts.items() if any(matches(subject, own) for own in taken)}
    return depths(counted, group.partitions)


def _counts_by_place(counts: Mapping[str, int], group: Group) -> dict[str, int]:
    places = ((locate(subject, pattern), number) for subject, number in counts.items() for pattern in patterns(group))
    return {
        f"{place.partition}.{place.key}": number for place, number in places if place is not None and place.is_subject
    }


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
        config = {**group.config, **group.other_record}  # the queue divides, whatever somebody made of the record
        filters = config.get("partitioning_filters") or [EVERYTHING]
        candidates = [
            Pattern(
                filter=subject["filter"],
                wildcards=tuple(subject["partitioning_wildcards"]),
                partitions=int(config.get("max_members", 0)),
            )
            for subject in filters
        ]
    else:
        candidates = _transform_patterns((group.source or {}).get("config", {}).get("subject_transform") or {})
    return [pattern for pattern in candidates if _has_wildcards(pattern.filter, pattern.wildcards)]


def _has_wildcards(filter_: str, wildcards: tuple[int, ...]) -> bool:
    """A record made by hand may name wildcards that its filter lacks."""
    return all(0 < number <= filter_.split(".").count("*") for number in wildcards)


def _transform_patterns(transform: dict[str, str]) -> list[Pattern]:
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
        number = partition(key, pattern.filter, pattern.partitions, pattern.wildcards)
        hashed = hash_key(key, pattern.filter, pattern.wildcards)
        return Located(key=key, hashed=hashed, partition=number, pattern=pattern, is_subject=True)
    if "." in key or not pattern.wildcards:
        return None
    number = fnv1a(key.encode()) % pattern.partitions
    return Located(key=key, hashed=key, partition=number, pattern=pattern, is_subject=False)
