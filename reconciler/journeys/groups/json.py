"""What `groups … --format json` prints: a contract for each command."""

from __future__ import annotations

from typing import Annotated, Any

from reconciler.changes.plan import PlannedChange
from reconciler.kinds.groups.data import ActiveGroup, GroupDetail, GroupSpread, GroupSummary, KeyPlace
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Address, Config
from reconciler.model.shape import ALWAYS, Count, Like, format_of
from reconciler.report.codec.schema import published_schema_of_any

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsHead:
    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsAnswer(GroupsHead):
    """What commands that look at several groups print."""

    groups: tuple[Any, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    """What could not be read, so that the answer may be incomplete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsListed(GroupsAnswer):
    groups: tuple[GroupSummary, ...]
    """Every group, by address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsShown(GroupsAnswer):
    groups: tuple[GroupDetail, ...]
    """Everything about each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsActive(GroupsAnswer):
    groups: tuple[ActiveGroup, ...]
    """The members of each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsWhere(GroupsAnswer):
    groups: tuple[KeyPlace, ...]
    """Where the key goes in each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsSpread(GroupsAnswer):
    groups: tuple[GroupSpread, ...]
    """How much each partition holds, for each group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsExamined(GroupsHead):
    examined: Count
    """How many groups were examined."""
    diagnostics: tuple[Diagnostic, ...]
    """What is wrong with them, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersPreview(GroupsHead):
    address: Address
    """The group."""
    membership: Config
    """The members or mappings in question, as they would stand in the file."""
    partitions_moved: Count
    """How many partitions would change their owner."""
    offline: Annotated[bool, Like(const=True)] = False
    """True: no server was asked."""
    partitions_moved_with_mappings: Count | None = None
    """How many it would be with `--mappings`."""
    change: PlannedChange | None = None
    """The change, as in a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationObstacle:
    why: str
    """What prevents the migration."""
    fix: str
    """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMigration:
    address: Address
    """The group."""
    before: str
    """Its record, as it is stored."""
    after: str
    """Its record in today's form."""
    notes: tuple[str, ...]
    """What changes, and the consequences."""
    obstacles: tuple[MigrationObstacle, ...] = ()
    """Why it is not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsMigrated(GroupsHead):
    records: tuple[RecordMigration, ...]
    """Records in an earlier form."""


COMMANDS: dict[str, type[GroupsHead]] = {
    "list": GroupsListed,
    "show": GroupsShown,
    "active": GroupsActive,
    "where": GroupsWhere,
    "skew": GroupsSpread,
    "doctor": GroupsExamined,
    "plan-members": MembersPreview,
    "migrate": GroupsMigrated,
}


def groups_schema() -> str:
    """Return the JSON schema of what every `groups` command prints as JSON, as text."""
    description = "What `reconciler groups COMMAND --format json` prints; #/$defs/COMMAND describes one command."
    return published_schema_of_any("reconciler groups", description, COMMANDS)
