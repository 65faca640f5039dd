"""Which member owns which partitions, and which subjects its consumer takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.kinds.group_records.group_record import durable_name
from reconciler.kinds.subjects.filters import EVERYTHING
from reconciler.kinds.subjects.partitions import assign
from reconciler.model.resource import Config

Owners = list[str | None]
"""The owner of each partition; None: nobody."""


def owned_partitions(config: Config) -> dict[str, list[int]]:
    """The partitions of each member under this membership. Members win if a record holds both, as in the reference; those
    beyond the number of partitions are left out."""
    if members := config.get("members"):
        return assign(members, config.get("max_members", 0))
    mappings: Mapping[str, Sequence[int]] = config.get("member_mappings") or {}
    return {member: list(numbers) for member, numbers in mappings.items()}


def owners(config: Config) -> Owners:
    """The owner of each partition under this membership."""
    by_partition = {number: member for member, numbers in owned_partitions(config).items() for number in numbers}
    return [by_partition.get(number) for number in range(config.get("max_members", 0))]


def is_mapped(config: Config) -> bool:
    """Do mappings say who owns which partitions? Then members of the reference consume their whole partitions, whatever the
    filters say; other implementations apply the filters."""
    return bool(config.get("member_mappings")) and not config.get("members")


def idle_filters(config: Config) -> tuple[str, ...]:
    """The filters of a static group that members of the reference ignore, since mappings say who owns what."""
    filters = tuple(config.get("filters") or ())
    return filters if is_mapped(config) and not set(filters) & {*EVERYTHING} else ()


def taken_subjects(config: Config) -> tuple[str, ...]:
    """What members of a static group take behind the partition number; the most that those of any implementation do."""
    return EVERYTHING if is_mapped(config) else tuple(config.get("filters") or EVERYTHING)


def group_subjects(config: Config) -> tuple[str, ...]:
    """What all members of a static group take of its stream together, whatever the number of the partition."""
    return tuple(f"*.{subject}" for subject in taken_subjects(config))


def in_partitions(subjects: Sequence[str], partitions: Sequence[int]) -> tuple[str, ...]:
    """These subjects with the numbers of these partitions in front, as consumers of members name them."""
    return tuple(f"{number}.{subject}" for subject in subjects for number in partitions)


def durable_subjects(group: str, config: Config) -> dict[str, tuple[str, ...]]:
    """What the consumer of each member of a static group takes, by the name of the consumer."""
    subjects = taken_subjects(config)
    return {
        durable_name(group, member): in_partitions(subjects, numbers)
        for member, numbers in owned_partitions(config).items()
    }
