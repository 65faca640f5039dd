"""What static and elastic groups share in files: members, mappings, and how they become a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from reconciler.changes.change import Change
from reconciler.kinds.fields.field_effects import fixed
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
    """What both types of partitioned consumer groups have."""

    max_members: Annotated[Count, Known(unit="count", update=Update.FIXED, felt=fixed(101))]
    """Number of partitions, and the maximum number of members that can work."""
    members: Annotated[
        tuple[Member, ...] | None, Known(unit="list", ordered=False, update=Update.FIXED, felt=fixed(101))
    ] = None
    """Names of the members, among whom the partitions are spread evenly. Excludes `member_mappings`. Left out: as
    `member_mappings` says; without them, the file does not manage the membership."""
    member_mappings: Annotated[
        tuple[MemberMapping, ...] | None, Known(unit="mapping", update=Update.FIXED, felt=fixed(101))
    ] = Field(default=None)
    """Which member owns which partitions, each partition exactly once. Excludes `members`. Left out: as `members`
    says."""


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
        rendered["member_mappings"] = [
            {"member": name, "partitions": list(partitions)} for name, partitions in mappings.items()
        ]
    return rendered


def paths_beyond_membership(change: Change) -> Iterator[str]:
    """Paths of changed fields that are not membership."""
    return (item.path for item in change.fields if item.top not in MEMBERSHIP)
