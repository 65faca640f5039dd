"""Another membership for a group, as somebody wishes: plain members, or mappings that move as few partitions as
possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.kinds.elastic_group.movement import moved_partitions
from reconciler.kinds.fields.words import few, some
from reconciler.kinds.group_records.group_record import members
from reconciler.kinds.group_records.member_subjects import Owners, owners
from reconciler.kinds.subjects.partitions import rebalance
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipRequest:
    """Which members join and leave, or the whole membership at once."""

    add: Sequence[str] = ()
    drop: Sequence[str] = ()
    exactly: Sequence[str] = ()
    mapped: bool | None = None
    """State which member owns which partition; None: as it is stated now."""

    def __bool__(self) -> bool:
        return bool(self.add or self.drop or self.exactly or self.mapped is not None)


class MembershipRefused(Exception):
    """Why a wish cannot be granted, and what to do."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.message, self.fix = message, fix


def requested_membership(config: Config, wish: MembershipRequest, now: Owners) -> Config:
    """The membership as files write it: `members`, or `member_mappings` that give each partition to one of them. Without
    a wish it is the one that the file states."""
    if not wish:
        stated = config.get("member_mappings")
        return {"member_mappings": _in_files(stated)} if stated else {"members": members(config)}
    wanted = _wanted_members(members(config), wish)
    mapped = bool(config.get("member_mappings")) if wish.mapped is None else wish.mapped
    if not mapped:
        return {"members": wanted}
    if len(config.get("partitioning_filters") or ()) > 1:
        raise MembershipRefused(
            "with several partitioning filters, no member of a mapped group can ever consume (EG545)",
            "use plain members: leave --mappings out, or give --members",
        )
    mapped_to = mappings(now, wanted)
    if idle := [name for name in wanted if all(name != mapping["member"] for mapping in mapped_to)]:
        raise MembershipRefused(
            f"{len(wanted)} members share {some(len(now), 'partition')}, and {few(idle)} would own none",
            "leave out some members; more partitions need another group, or this one recreated",
        )
    return {"member_mappings": mapped_to}


def mappings(now: Owners, wanted: Sequence[str]) -> list[dict[str, str | list[int]]]:
    """Mappings that move as few partitions as possible, in the order of the partitions."""
    return _in_files(rebalance(now, wanted))


def _in_files(partitions: Mapping[str, Sequence[int]]) -> list[dict[str, str | list[int]]]:
    """The partitions of each member as files list them."""
    return [{"member": name, "partitions": [*numbers]} for name, numbers in partitions.items()]


def least_moves(config: Config, now: Owners, wanted: Sequence[str]) -> int | None:
    """How many partitions would move with mappings; None if the group cannot have any."""
    if len(config.get("partitioning_filters") or ()) > 1:
        return None
    return len(moved_partitions(now, owners({"max_members": len(now), "member_mappings": rebalance(now, wanted)})))


def _wanted_members(current: Sequence[str], wish: MembershipRequest) -> list[str]:
    if already := [name for name in wish.add if name in current]:
        raise MembershipRefused(f"{already[0]} is already a member", f"the members are {', '.join(current)}")
    if strangers := [name for name in wish.drop if name not in current]:
        raise MembershipRefused(f"{strangers[0]} is not a member", f"the members are {', '.join(current) or 'nobody'}")
    wanted = list(dict.fromkeys(wish.exactly or [*(name for name in current if name not in wish.drop), *wish.add]))
    if not wanted:
        raise MembershipRefused(
            "no member would be left, and nobody would consume anything from then on",
            "keep one; or write `members: []` and consent to EG304 in the file",
        )
    return wanted
