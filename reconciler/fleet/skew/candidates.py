"""What a partitioned group could be: which wildcards decide, how many partitions, and who owns them.

Every choice of wildcards is tried with every number of partitions, and each of those with every membership.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from reconciler.kinds.group_records.member_subjects import Owners, owners
from reconciler.kinds.subjects.partitions import rebalance
from reconciler.model.dataclass import dataclass

MOST_CHOICES_OF = 4
"""Filters with more `*` than this have too many choices to try all of them, so the choices must be named."""

WHOLE = "whole subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """One partitioning filter of a group, and which of its `*` decide; none: the whole subject does."""

    filter: str
    wildcards: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.filter} by {','.join(map(str, self.wildcards)) or WHOLE}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The partitioning filters of a group. Every subject is partitioned by the first filter that it matches."""

    filters: tuple[Partitioning, ...] = (Partitioning(filter=">"),)

    def __str__(self) -> str:
        return "; ".join(map(str, self.filters))

    @property
    def since(self) -> str | None:
        """Return the first version of nats-server that can do it: 2.11 refuses to hash whole subjects."""
        return None if all(partitioning.wildcards for partitioning in self.filters) else "2.12"


def every_choice(pattern: str) -> tuple[Choice, ...]:
    """Return every set of wildcards of this filter that could decide, and the whole subject.

    Another order of the same wildcards gives other partitions, but none that are more even because of it.
    """
    stars = range(1, pattern.split(".").count("*") + 1)
    sets = [chosen for size in stars for chosen in combinations(stars, size)]
    return tuple(Choice((Partitioning(filter=pattern, wildcards=chosen),)) for chosen in (*sets, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The members: by name, each with as many partitions as another, or each with its assigned ones."""

    members: tuple[str, ...] = ()
    mappings: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @classmethod
    def of(cls, count: int) -> Membership:
        """Return this many members, with names in the order of their numbers: the last one sorts last."""
        return cls(members=tuple(f"m{number:0{len(str(count))}}" for number in range(1, count + 1)))

    def __str__(self) -> str:
        given = ("{}: {}".format(name, ",".join(map(str, numbers))) for name, numbers in self.mappings)
        return ", ".join(self.members) or "; ".join(given) or "nobody"

    @property
    def names(self) -> tuple[str, ...]:
        """Return all members, in the order they are given."""
        return self.members or tuple(name for name, _ in self.mappings)

    def owners(self, partitions: int) -> Owners:
        """Return the owner of each partition, by the rules of the group's own record."""
        record = {"max_members": partitions, "members": self.members, "member_mappings": dict(self.mappings)}
        return owners(record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The candidates to compare, without duplicates."""

    choices: tuple[Choice, ...]
    partitions: tuple[int, ...]
    memberships: tuple[Membership, ...] = ()

    def __post_init__(self) -> None:
        for name in ("choices", "partitions", "memberships"):
            object.__setattr__(self, name, tuple(dict.fromkeys(getattr(self, name))))


def ownership(candidates: Candidates) -> Iterator[tuple[int, str, int, int, str | None, bool]]:
    """Return who owns which partition, with every number of partitions and every membership.

    A member that owns nothing gets a row too, because no load counts for the mean.
    """
    for partitions in candidates.partitions:
        for label, membership in _with_labels(candidates.memberships):
            owned, names = membership.owners(partitions), set(membership.names)
            head = partitions, label, len(names)
            yield from ((*head, number, owner, True) for number, owner in enumerate(owned))
            yield from ((*head, 0, name, False) for name in sorted(names - set(owned)))


DECLARED, FEWEST = "declared", "fewest"


def handovers(candidates: Candidates) -> Iterator[tuple[int, str, str, str, int, bool]]:
    """Return which partitions change their owner from each membership to the next: as declared, and where mappings make
    it the fewest that an even share allows."""
    for partitions in candidates.partitions:
        for (now, before), (then, after) in pairwise(_with_labels(candidates.memberships)):
            owned = before.owners(partitions)
            for manner, becomes in ((DECLARED, after), (FEWEST, _membership_moving_least(owned, after))):
                moves = (was != will for was, will in zip(owned, becomes.owners(partitions), strict=True))
                yield from ((partitions, now, then, manner, number, moved) for number, moved in enumerate(moves))


def _membership_moving_least(owned: Owners, then: Membership) -> Membership:
    kept = rebalance(owned, then.names)
    return Membership(mappings=tuple((name, tuple(numbers)) for name, numbers in kept.items()))


def _with_labels(memberships: Sequence[Membership]) -> Iterator[tuple[str, Membership]]:
    """Add the name of each in a report: the number of members, unless that is ambiguous."""
    counts = [str(len(set(membership.names))) for membership in memberships]
    labels = counts if len(set(counts)) == len(counts) else map(str, memberships)
    return zip(labels, memberships, strict=True)
