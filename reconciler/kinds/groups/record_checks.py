"""What is wrong with a record itself, as the reference reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reconciler.kinds.elastic_group.filters import filter_problems
from reconciler.kinds.elastic_group.queue_stream import NET
from reconciler.kinds.fields.words import some
from reconciler.kinds.groups.finding import Evidence, error, note, warning
from reconciler.kinds.groups.live_group import BUCKETS, JAVA, Group, record_writer
from reconciler.model.diagnostic import Diagnostic

STOPPED = "stop its members first, since they end, or misread the record, when it changes"


def broken_record(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR110: nobody can understand the record; the finding quotes how it begins."""
    if why := group.record.broken:
        key = f"{group.stream}.{group.name}"
        yield error(
            "GR110", group.address, f"the record cannot be understood: {why}. It says: {group.text[:200]}",
            f"rewrite {key} in bucket {BUCKETS[group.type]}, or delete it (`nats kv del`); {STOPPED}",
        )  # fmt: skip


def legacy_record(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR111: the record has keys of a historic form; only a note if its writer knows no other form."""
    if group.record.legacy:
        severity = note if record_writer(group) == JAVA else warning  # to whom that form is the current one
        yield severity(
            "GR111", group.address,
            f"the record is in a historic form ({', '.join(group.record.legacy)}), as written by {record_writer(group)}; current "
            "instances ignore these keys, and permanently drop them with the next change of members",
            f"leave it as it is, or migrate it: reconciler groups migrate {group.stream}/{group.name}; {STOPPED}",
        )  # fmt: skip


def invalid_record(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR112: the reference checks every record it reads, and ends at one that fails."""
    for problem, fix in _problems(group):
        yield error("GR112", group.address, f"every instance ends at this record: {problem}", fix)


def _problems(group: Group) -> Iterator[tuple[str, str]]:
    if group.record.broken:
        return
    if group.config.get("members") and group.config.get("member_mappings"):
        yield "it holds members and member_mappings", "declare one of them and apply"
    for item in group.config.get("partitioning_filters") or ():
        yield from ((finding.message, "recreate the group with valid filters") for finding in filter_problems("", item))
    names = [finding["member"] for finding in group.record.raw.get("member_mappings") or ()]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        yield f"{', '.join(twice[:5])} is mapped twice", "declare the partitions of each member in one place, and apply"
    if mappings := group.config.get("member_mappings"):
        yield from _coverage(mappings, group.partitions)


def _coverage(mappings: dict[str, list[int]], partitions: int) -> Iterator[tuple[str, str]]:
    fix = f"declare mappings that give each of the partitions 0 to {partitions - 1} to exactly one member, and apply"
    given = Counter(number for numbers in mappings.values() for number in numbers)
    wrong = {
        "do not exist": {number for number in given if not 0 <= number < partitions},
        "are given twice": {number for number, times in given.items() if times > 1},
        "are given to nobody": set(range(partitions)) - set(given),
    }
    for problem, numbers in wrong.items():
        if numbers:
            yield f"partitions {', '.join(map(str, sorted(numbers)[:10]))} {problem}", fix


def no_members(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR131: the group has no members. Groups whose clients just join are left out."""
    if not group.record.broken and group.partitions and not group.owned and not has_only_joined_members(group):
        yield warning(
            "GR131", group.address, "it has no members, so nobody consumes it",
            "declare `members` and apply, or add some with the tool that manages them",
        )  # fmt: skip


def surplus_members(group: Group, _evidence: Evidence) -> Iterator[Diagnostic]:
    """GR132: there are more members than partitions, and some always idle."""
    if names := group.surplus_members:
        yield warning(
            "GR132", group.address,
            f"{', '.join(names[:5])} will always idle: the group has only {some(group.partitions, 'partition')}, and the order of "
            "names decides which members idle",
            "remove the members that idle; the number of partitions can never change",
        )  # fmt: skip


def has_only_joined_members(group: Group) -> bool:
    """The group has no members in its record, its implementation gives everything to whoever joins, and somebody has
    joined."""
    return not group.owned and record_writer(group) == NET and bool(group.consumers)


CHECKS = (broken_record, legacy_record, invalid_record, no_members, surplus_members)
