"""`ignore_drift`: which drift an entry covers, and which entries cover nothing.

Drift does not report what they cover. Plans change it back all the same, and say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

from reconciler.changes.change import FieldClass
from reconciler.changes.plan import PlannedChange
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.topology import IgnoreRule

OUTSIDE = (FieldClass.DRIFTED, FieldClass.BOTH)
"""What somebody changed outside the files."""
NAMED = 3


class IgnoredDrift:
    """All entries, and those that covered something."""

    def __init__(self, entries: Sequence[IgnoreRule], today: date) -> None:
        self._entries = entries
        self._over = {index for index, entry in enumerate(entries) if entry.until and today > entry.until}
        self._used: set[int] = set()

    def why_ignored(self, address: str, path: str | None = None) -> str:
        """Return the reason of the first entry that covers this field, or (without a path) the whole object; empty:
        none does."""
        for index, entry in enumerate(self._entries):
            if index not in self._over and fnmatchcase(address, entry.address) and _is_path_covered(path, entry.path):
                self._used.add(index)
                return entry.reason
        return ""

    def reverted_drift_warnings(self, changes: Sequence[PlannedChange]) -> Iterator[Diagnostic]:
        """Warn of what a plan changes back although drift of it is ignored: to ignore it is not to leave it to others."""
        for index, entry in enumerate(self._entries):
            fields = [
                f"{field.path} of {change.address}"
                for change in changes
                if change.action.writes and index not in self._over and fnmatchcase(change.address, entry.address)
                for field in change.fields
                if field.field_class in OUTSIDE and _is_path_covered(field.path, entry.path)
            ]
            if fields:
                named = ", ".join(fields[:NAMED]) + (f" and {len(fields) - NAMED} more" if len(fields) > NAMED else "")
                yield Diagnostic(
                    severity=Severity.WARNING, code="DR103", name="ignored-and-put-back", span=entry.where(""),
                    message=f"ignore_drift covers {named}, and an apply puts back what the file says: drift alone ignores it",
                    fix="to leave the value to others, name the field under `unmanaged` of the resource",
                )  # fmt: skip

    def unused_entry_warnings(self, *, complete: bool) -> Iterator[Diagnostic]:
        """Report entries that cover nothing: one day they would hide drift that nobody thought of. When only part of a
        topology is compared, this cannot be known."""
        for index, entry in enumerate(self._entries):
            covered = f"{entry.address} {entry.path}" if entry.path else entry.address
            if index in self._over:
                yield _leftover(
                    entry,
                    "DR102",
                    "ignore-expired",
                    f"the entry that ignores drift of {covered} ended on {entry.until}",
                )
            elif index not in self._used and complete:
                yield _leftover(
                    entry, "DR101", "ignore-unused", f"the entry that ignores drift of {covered} covers nothing now"
                )


def _is_path_covered(path: str | None, wanted: str | None) -> bool:
    """Does the pattern cover the path? `placement` covers `placement.tags` and `placement`."""
    if wanted is None:
        return True
    if path is None:
        return False
    return path == wanted or path.startswith((f"{wanted}.", f"{wanted}[")) or fnmatchcase(path, wanted)


def _leftover(entry: IgnoreRule, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=code, name=name, message=message, span=entry.where(""),
        fix="remove it, or judge the drift again and give it a new date" if code == "DR102" else "remove it if it is no longer needed",
    )  # fmt: skip
