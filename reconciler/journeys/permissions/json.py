"""What `permissions --format json` prints: the subjects as a server's configuration nests them, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from reconciler.model.dataclass import dataclass
from reconciler.model.shape import ALWAYS, format_of
from reconciler.model.wire.permissions import Need, Needs, Purpose
from reconciler.report.codec.json import json_of
from reconciler.report.codec.schema import published_schema

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSubjects:
    """Subjects that a server's configuration has to allow."""

    allow: tuple[str, ...]
    """The subjects, which may hold wildcards."""

    @classmethod
    def of(cls, needs: Iterable[Need]) -> AllowedSubjects:
        """Leave out what they are for."""
        return cls(allow=tuple(need.subject for need in needs))


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionsReport:
    """The least permissions of a user who plans, applies or looks for drift."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    topology: str = ""
    """The topology, if it is one."""
    topologies: tuple[str, ...] = ()
    """The topologies, if they are several."""
    purpose: Purpose
    """What the user is to do."""
    publish: AllowedSubjects
    """What the user has to publish to."""
    subscribe: AllowedSubjects
    """What the user has to subscribe to."""
    why: Mapping[str, str]
    """What does not work without it, by subject."""


def permissions_json(needs: Needs, names: Sequence[str], purpose: Purpose) -> str:
    """Return the subjects, and the purpose of each."""
    why = {need.subject: need.why for need in (*needs.publish, *needs.subscribe)}
    publish, subscribe = AllowedSubjects.of(needs.publish), AllowedSubjects.of(needs.subscribe)
    one, several = ("", tuple(names)) if names[1:] else (names[0], ())
    report = PermissionsReport(
        topology=one, topologies=several, purpose=purpose, publish=publish, subscribe=subscribe, why=why
    )
    return json_of(report)


def permissions_schema() -> str:
    """Return the JSON schema of what `permissions --format json` prints, as text."""
    return published_schema("reconciler permissions", PermissionsReport.__doc__ or "", PermissionsReport)
