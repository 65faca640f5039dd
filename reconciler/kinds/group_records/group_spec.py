"""What static and elastic groups share in files: members, mappings, and how they become a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from reconciler.changes.diff import Change
from reconciler.kinds.fields.felt import fixed
from reconciler.kinds.fields.known import Known, Update
from reconciler.kinds.group_records.group_record import MEMBERSHIP, NAME
from reconciler.model.resource import Config, Json, Spec, Terms, text_like
from reconciler.model.units import Count

Member = Annotated[str, text_like(f"^{NAME.pattern}$", "a name of letters, digits, `_`, `=` and `-`")]


class MemberMapping(Spec):
    """Which partitions a member owns."""

    member: Annotated[Member, Known()]
    """The member's name, under which its instances join."""
    partitions: Annotated[tuple[Count, ...], Known(unit="list")]
    """Numbers of the partitions it owns, counted from 0."""


class GroupSpec(Terms):
    """The part of a partitioned consumer group that both types have."""

    max_members: Annotated[Count, Known(unit="count", update=Update.FIXED, felt=fixed(101))]
    """Number of partitions, and so of the members that can work at most."""
    members: Annotated[
        tuple[Member, ...] | None, Known(unit="list", ordered=False, update=Update.FIXED, felt=fixed(101))
    ] = None
    """Names of the members, among whom the partitions are spread evenly. Excludes `member_mappings`. Left out: as
    `member_mappings` says; without them, whoever runs the group decides."""
    member_mappings: Annotated[
        tuple[MemberMapping, ...] | None, Known(unit="mapping", update=Update.FIXED, felt=fixed(101))
    ] = Field(default=None)
    """Which member owns which partitions, each partition exactly once. Excludes `members`. Left out: as `members`
    says."""


OURS = frozenset(Terms.model_fields)


def with_membership_left(spec: Terms) -> Terms:
    """A membership nobody declared belongs to an autoscaler or an operator: it is unmanaged, without being said so."""
    if spec.model_fields_set & set(MEMBERSHIP):
        return spec
    return spec.model_copy(update={"unmanaged": (*spec.unmanaged, *MEMBERSHIP)})


def render_mappings(config: Config) -> dict[str, Json]:
    """As it stands in files: mappings are a list there, like in the record; a membership left out would not be managed."""
    rendered = dict(config)
    if not config.keys() & set(MEMBERSHIP):
        rendered["members"] = []
    if mappings := rendered.get("member_mappings"):
        rendered["member_mappings"] = [{"member": name, "partitions": list(own)} for name, own in mappings.items()]
    return rendered


def not_membership(change: Change) -> Iterator[str]:
    """Paths of changed fields that are not membership."""
    return (item.path for item in change.fields if item.top not in MEMBERSHIP)
