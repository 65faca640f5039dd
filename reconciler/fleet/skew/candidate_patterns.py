"""Candidates as people write them: `orders.*.*` for every choice of its wildcards, `orders.*.* by 2` for one.

A choice of several filters has a semicolon between them. `3,4` is three members and then four; `ann,bob` are two.
"""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.fleet.skew.candidates import (
    MOST_CHOICES_OF,
    WHOLE,
    Candidates,
    Choice,
    Membership,
    Partitioning,
    every_choice,
)
from reconciler.kinds.elastic_group.filters import filter_problems
from reconciler.kinds.group_records.group_record import MOST_PARTITIONS
from reconciler.kinds.subjects.subjects import collide
from reconciler.model.resource import Config


class Unclear(ValueError):
    """The request cannot be a group, or cannot be understood; the message says why."""


def candidates(filters: Iterable[str], partitions: Iterable[int], members: Iterable[str] = ()) -> Candidates:
    """Return all candidates to compare."""
    return Candidates(
        choices=tuple(choice for text in filters for choice in _choices(text)),
        partitions=tuple(_valid_count(number, "partitions", MOST_PARTITIONS) for number in partitions),
        memberships=tuple(membership for text in members for membership in _memberships(text)),
    )


def as_declared(config: Config) -> Candidates:
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
            raise Unclear(
                f"`{text}` has too many `*` to try every choice of them: name those that decide, as in `{text} by 1,2`"
            )
        return every_choice(filters[0])
    choice = Choice(tuple(_valid_partitioning(_partitioning(part)) for part in filters))
    for later, partitioning in enumerate(choice.filters):
        for earlier in choice.filters[:later]:
            if collide(partitioning.filter, earlier.filter):
                raise Unclear(
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
        raise Unclear(f"`{text}`: write the numbers of the `*` that decide, as in `{pattern} by 1,2`") from None


def _valid_partitioning(partitioning: Partitioning) -> Partitioning:
    item = {"filter": partitioning.filter, "partitioning_wildcards": list(partitioning.wildcards)}
    for problem in filter_problems("filter", item):
        raise Unclear(f"{problem.message}: {problem.fix}")
    return partitioning


def _memberships(text: str) -> tuple[Membership, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise Unclear("members are numbers, or the names of one membership, with commas between")
    if all(name.isdecimal() for name in names):
        return tuple(Membership.of(_valid_count(int(name), "members", MOST_PARTITIONS)) for name in names)
    return (Membership(members=tuple(names)),)


def _valid_count(number: int, things: str, most: int) -> int:
    if not 1 <= number <= most:
        raise Unclear(f"{number} {things}: a group has from 1 to {most:,}")
    return number
