"""What static and elastic groups share in files: members, mappings, and how they become a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from reconciler.changes.diff import Change
from reconciler.kinds.fields.felt import fixed
from reconciler.kinds.fields.known import Known
from reconciler.kinds.group_records.group_record import MEMBERSHIP, NAME
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Config, Json, Spec, Terms, text_like
from reconciler.model.units import Count

Member = Annotated[str, text_like(f"^{NAME.pattern}$", "a name of letters, digits, `_`, `=` and `-`")]


class MemberMapping(Spec):
    """Which partitions a member owns."""

    member: Member
    """The member's name, under which its instances join."""
    partitions: tuple[Count, ...]
    """Partition numbers from 0."""


class GroupSpec(Terms):
    """What both types of partitioned consumer groups have."""

    max_members: Annotated[Count, Known(unit="count", felt=fixed(101))]
    """Number of partitions, and the maximum number of members that can work; another number recreates an elastic group."""
    members: Annotated[tuple[Member, ...] | None, Known(unit="list", ordered=False, felt=fixed(101))] = None
    """The members, which share the partitions evenly. Left out together with `member_mappings`: not managed here."""
    member_mappings: Annotated[tuple[MemberMapping, ...] | None, Known(unit="mapping", felt=fixed(101))] = Field(
        default=None
    )
    """Which member owns which partitions; each partition exactly once."""


OURS = frozenset(Terms.model_fields)

FIELDS = {
    "max_members": FieldInfo(unit="count"),
    "filters": FieldInfo(unit="list", ordered=False, left_out="all subjects"),
    "partitioning_filters": FieldInfo(unit="list", ordered=False, left_out="all subjects"),
    "max_buffered_msg": FieldInfo(unit="count", default=-1),
    "max_buffered_bytes": FieldInfo(unit="bytes", default=-1),
    "members": FieldInfo(unit="list", ordered=False),
    "member_mappings": FieldInfo(unit="mapping"),
}


def with_membership_left(spec: Terms) -> Terms:
    """A membership that nobody declared belongs to an autoscaler or an operator: it is unmanaged, even if the file does
    not say so."""
    if spec.model_fields_set & set(MEMBERSHIP):
        return spec
    return spec.model_copy(update={"unmanaged": (*spec.unmanaged, *MEMBERSHIP)})


def render_mappings(config: Config) -> dict[str, Json]:
    """The configuration as files hold it: mappings are a list there, as in the record. A membership left out would be
    unmanaged."""
    rendered = dict(config)
    if not config.keys() & set(MEMBERSHIP):
        rendered["members"] = []
    if mappings := rendered.get("member_mappings"):
        rendered["member_mappings"] = [{"member": name, "partitions": list(own)} for name, own in mappings.items()]
    return rendered


def not_membership(change: Change) -> Iterator[str]:
    """Paths of changed fields that are not membership."""
    return (item.path for item in change.fields if item.top not in MEMBERSHIP)
