"""Partitions: the hash that puts a subject into one, and the assignment that gives them to members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

FNV_OFFSET, FNV_PRIME = 2166136261, 16777619


def fnv1a(key: bytes) -> int:
    """FNV-1a, 32 bits."""
    value = FNV_OFFSET
    for byte in key:
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFF
    return value


def hash_key(subject: str, pattern: str, wildcards: Sequence[int]) -> str:
    """The deciding tokens, joined in the listed order; without a list the whole subject, dots included."""
    if not wildcards:
        return subject
    stars = [index for index, token in enumerate(pattern.split(".")) if token == "*"]
    tokens = subject.split(".")
    # Servers accept 0 and negative numbers and then use the first token; reconciler's checks refuse them.
    return "".join(tokens[stars[number - 1] if number > 0 else 0] for number in wildcards)


def partition(subject: str, pattern: str, partitions: int, wildcards: Sequence[int] = ()) -> int:
    """The partition into which the server's transform puts this subject."""
    return fnv1a(hash_key(subject, pattern, wildcards).encode()) % partitions


def assign(members: Iterable[str], partitions: int) -> dict[str, list[int]]:
    """Which member owns which partitions: distinct names in byte order get equal blocks, and the remaining partitions
    one each from the first member on. Members beyond the number of partitions own nothing and are left out."""
    names = sorted(set(members), key=lambda name: name.encode())[: max(partitions, 0)]
    if not names:
        return {}
    block, rest = divmod(partitions, len(names))
    owned = {name: list(range(index * block, (index + 1) * block)) for index, name in enumerate(names)}
    for index, name in enumerate(names[:rest]):
        owned[name].append(len(names) * block + index)
    return owned


def by_owner(owners: Sequence[str | None]) -> dict[str, list[int]]:
    """Each owner's partitions, in their order; partitions without an owner are left out."""
    owned: dict[str, list[int]] = {}
    for number, owner in enumerate(owners):
        if owner is not None:
            owned.setdefault(owner, []).append(number)
    return owned


def members_without_partition(owned: Mapping[str, Iterable[int]], partitions: int) -> list[str]:
    """Members of whose partitions only the first `made` exist, and who own none of these."""
    return sorted(name for name, numbers in owned.items() if min(numbers, default=partitions) >= partitions)


def rebalance(owners: Sequence[str | None], members: Iterable[str]) -> dict[str, list[int]]:
    """Which of these members owns which partitions, evenly, with as few moves as that allows.

    `owners` is the current owner of each partition. No member owns two more than another; members without a partition
    are left out.
    """
    names = sorted(set(members), key=lambda name: name.encode())
    if not names:
        return {}
    share, rest = divmod(len(owners), len(names))
    owned_now = by_owner(owners)
    owned = {name: owned_now.get(name, []) for name in names}
    # Some get one more than the even share: first those that already have that many, since then nothing moves.
    larger = set(sorted(names, key=lambda name: len(owned[name]) <= share)[:rest])
    room = {name: share + (name in larger) for name in names}
    kept = {name: owned[name][: room[name]] for name in names}
    free = iter(sorted(set(range(len(owners))) - {number for numbers in kept.values() for number in numbers}))
    given = {name: sorted([*kept[name], *islice(free, room[name] - len(kept[name]))]) for name in names}
    return {name: numbers for name, numbers in given.items() if numbers}
