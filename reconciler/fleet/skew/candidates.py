"""What a partitioned group could be: which wildcards decide, how many partitions, and who owns them.

Every choice of wildcards is tried with every number of partitions, and each of those with every membership.

Candidates as people write them: `orders.*.*` for every choice of its wildcards, `orders.*.* by 2` for one.

A choice of several filters has a semicolon between them. `3,4` is three members and then four; `ann,bob` are two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise

from reconciler.kinds.elastic_group.filters import filter_problems
from reconciler.kinds.group_records.group_record import MOST_PARTITIONS
from reconciler.kinds.group_records.member_subjects import Owners, owners
from reconciler.kinds.subjects.partitions import rebalance
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config

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


def all_choices(pattern: str) -> tuple[Choice, ...]:
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


class UnclearCandidates(ValueError):
    """The request cannot be a group, or cannot be understood; the message says why."""


def candidates(filters: Iterable[str], partitions: Iterable[int], members: Iterable[str] = ()) -> Candidates:
    """Return all candidates to compare."""
    return Candidates(
        choices=tuple(choice for text in filters for choice in _choices(text)),
        partitions=tuple(_valid_count(number, "partitions", MOST_PARTITIONS) for number in partitions),
        memberships=tuple(membership for text in members for membership in _memberships(text)),
    )


def declared_candidates(config: Config) -> Candidates:
    """Return the one candidate that a group's own configuration is."""
    filters = tuple(
        Partitioning(filter=entry["filter"], wildcards=tuple(entry["partitioning_wildcards"]))
        for entry in config.get("partitioning_filters") or ()
    )
    mappings = tuple((name, tuple(numbers)) for name, numbers in (config.get("member_mappings") or {}).items())
    membership = Membership(members=() if mappings else tuple(config.get("members") or ()), mappings=mappings)
    return Candidates(
        choices=(Choice(filters) if filters else Choice(),),
        partitions=(config["max_members"],),
        memberships=(membership,) if membership.names else (),
    )


def _choices(text: str) -> tuple[Choice, ...]:
    """One choice of all its filters; or of a filter without a choice, every choice."""
    filters = [part.strip() for part in text.split(";")]
    if len(filters) == 1 and " by " not in text:
        _valid_partitioning(Partitioning(filter=filters[0]))
        if filters[0].split(".").count("*") > MOST_CHOICES_OF:
            raise UnclearCandidates(
                f"`{text}` has too many `*` to try every choice of them: name those that decide, as in `{text} by 1,2`"
            )
        return all_choices(filters[0])
    choice = Choice(tuple(_valid_partitioning(_partitioning(part)) for part in filters))
    for later, partitioning in enumerate(choice.filters):
        for earlier in choice.filters[:later]:
            if collide(partitioning.filter, earlier.filter):
                raise UnclearCandidates(
                    f"`{partitioning.filter}` overlaps with `{earlier.filter}`: let every subject match one filter only"
                )
    return (choice,)


def _partitioning(text: str) -> Partitioning:
    pattern, by, numbers = text.partition(" by ")
    if not by or numbers.strip() == WHOLE:
        return Partitioning(filter=pattern.strip())
    try:
        return Partitioning(filter=pattern.strip(), wildcards=tuple(int(number) for number in numbers.split(",")))
    except ValueError:
        raise UnclearCandidates(
            f"`{text}`: write the numbers of the `*` that decide, as in `{pattern} by 1,2`"
        ) from None


def _valid_partitioning(partitioning: Partitioning) -> Partitioning:
    item = {"filter": partitioning.filter, "partitioning_wildcards": list(partitioning.wildcards)}
    for problem in filter_problems("filter", item):
        raise UnclearCandidates(f"{problem.message}: {problem.fix}")
    return partitioning


def _memberships(text: str) -> tuple[Membership, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise UnclearCandidates("members are numbers, or the names of one membership, with commas between")
    if all(name.isdecimal() for name in names):
        return tuple(Membership.of(_valid_count(int(name), "members", MOST_PARTITIONS)) for name in names)
    return (Membership(members=tuple(names)),)


def _valid_count(number: int, things: str, most: int) -> int:
    if not 1 <= number <= most:
        raise UnclearCandidates(f"{number} {things}: a group has from 1 to {most:,}")
    return number
