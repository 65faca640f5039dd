"""`groups migrate`: a record before and after, where new values come from, and what prevents the migration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reconciler.journeys.groups.json import RecordMigration
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible


def migrations_text(found: Sequence[RecordMigration], paper: Paper) -> str:
    """Return every record that has an earlier form."""
    if not found:
        return "no record to migrate\n"
    lines = [line for one in found for line in (*_one(one, paper), "")]
    blocked = sum(bool(one.obstacles) for one in found)
    refused = f", {blocked} refused" if blocked else ""
    return "\n".join([*lines, f"{counted(len(found), 'record')} to migrate{refused}"]) + "\n"


def _one(one: RecordMigration, paper: Paper) -> Iterable[str]:
    mark = "!" if one.obstacles else "~"
    yield paper.paint(f"{mark} {visible(str(one.address))}", "refused" if mark == "!" else "update")
    yield f"    before  {visible(one.before)}"  # never wrapped: a record is copied whole
    yield f"    after   {visible(one.after)}"
    for note in one.notes:
        yield from paper.wrapped(f"{note[0].upper()}{note[1:]}.", 4)
    for obstacle in one.obstacles:
        yield from paper.wrapped(f"GR195 not-migrated, refused. {obstacle.why[0].upper()}{obstacle.why[1:]}.", 4)
        yield from paper.wrapped(f"Instead: {obstacle.fix}.", 4)
