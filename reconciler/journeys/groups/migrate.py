"""Migrates records of earlier versions. It reads them together, and writes each only if nobody else wrote it
meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.journeys.groups.groups import look
from reconciler.journeys.groups.json import MigrationObstacle, RecordMigration
from reconciler.kinds.group_records.group_record import key
from reconciler.kinds.groups.live_group import BUCKETS
from reconciler.kinds.groups.migration import Migration, migration
from reconciler.model.code_pages import PAGES
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.read_kv import entry
from reconciler.server.wire.answers import Put, Stored
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer


async def migrations(js: JetStream, wanted: Sequence[str], *, while_running: bool) -> list[Migration]:
    """Find the groups among those named (none: all) whose record has an earlier form. Changes nothing."""
    seen = await look(js, wanted)
    if unread := [
        *seen.unread_buckets,
        *(_unknown_finding(group.address, group.unread) for group in seen.groups if group.unread),
    ]:
        raise CannotContinue(*unread)
    each = (migration(group, while_running=while_running) for group in seen.groups)
    return [migration for migration in each if migration is not None]


def _unknown_finding(address: object, why: str) -> Diagnostic:
    message = f"{address} cannot be judged: {why}."
    return Diagnostic(severity=Severity.ERROR, code="GR190", name=PAGES["GR190"].name, message=message)


def describe_migration(migration: Migration) -> RecordMigration:
    """Return a migration as reports and tools show it."""
    obstacles = tuple(MigrationObstacle(why=why, fix=fix) for why, fix in migration.obstacles)
    return RecordMigration(
        address=migration.group.address,
        before=migration.group.text,
        after=migration.text,
        notes=tuple(migration.notes),
        obstacles=obstacles,
    )


async def migrate(js: JetStream, migration: Migration) -> str | None:
    """Write one record, and return why it was not written, or None."""
    group, value = migration.group, migration.text.encode()
    bucket, name = BUCKETS[group.type], key(group.stream, group.name)
    answer: Put = await js.put_entry(bucket, name, value, expected_revision=group.record.revision)
    if isinstance(answer, NoAnswer) and answer.outcome_unknown:
        stored = await entry(js, bucket, name)
        if isinstance(stored, Entry) and (stored.value, stored.deleted) == (value, False):
            return None
    return None if isinstance(answer, Stored) else str(answer)
