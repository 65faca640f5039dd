"""Partitions: the hash that puts a subject into one, and the assignment that gives them to members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

FNV_OFFSET, FNV_PRIME = 2166136261, 16777619


def fnv1a(key: bytes) -> int:
    """FNV-1a, 32 bits."""
    value = FNV_OFFSET
    for byte in key:
        value = ((value ^ byte) * FNV_PRIME) & 0xFFFFFFFF
    return value


def hash_key(subject: str, pattern: str, wildcards: Sequence[int]) -> str:
    """The tokens that decide, glued together in the listed order; without a list the whole subject, dots included."""
    if not wildcards:
        return subject
    stars = [index for index, token in enumerate(pattern.split(".")) if token == "*"]
    tokens = subject.split(".")
    # Servers accept 0 and negative numbers and then take the first token; our validators refuse them.
    return "".join(tokens[stars[number - 1] if number > 0 else 0] for number in wildcards)


def partition(subject: str, pattern: str, partitions: int, wildcards: Sequence[int] = ()) -> int:
    """The partition the server's transform puts this subject into."""
    return fnv1a(hash_key(subject, pattern, wildcards).encode()) % partitions


def assign(members: Iterable[str], partitions: int) -> dict[str, list[int]]:
    """Who owns what: distinct names in byte order, equal blocks, and what is left over one each from the first on.

    Members beyond the number of partitions own nothing and are left out.
    """
    names = sorted(set(members), key=lambda name: name.encode())[: max(partitions, 0)]
    if not names:
        return {}
    block, rest = divmod(partitions, len(names))
    owned = {name: list(range(index * block, (index + 1) * block)) for index, name in enumerate(names)}
    for index, name in enumerate(names[:rest]):
        owned[name].append(len(names) * block + index)
    return owned
