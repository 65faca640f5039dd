"""Applies `ignore_drift:` of a file: which drift to ignore, why, and until when. Entries without effect are
reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.topology import IgnoreRule


class Rules:
    """All entries, and those that covered something."""

    def __init__(self, rules: Sequence[IgnoreRule], today: date) -> None:
        self._rules = rules
        self._over = {index for index, rule in enumerate(rules) if rule.until and today > rule.until}
        self._used: set[int] = set()

    def why(self, address: str, path: str | None = None) -> str:
        """Return the reason of the first entry that covers this field, or (without a path) the whole object; empty:
        none does."""
        for index, rule in enumerate(self._rules):
            if index not in self._over and fnmatchcase(address, rule.address) and _is_under(path, rule.path):
                self._used.add(index)
                return rule.reason
        return ""

    def leftovers(self, *, complete: bool) -> Iterator[Diagnostic]:
        """Report entries that cover nothing: one day they would hide drift that nobody thought of. When only part of a
        topology is compared, this cannot be known."""
        for index, rule in enumerate(self._rules):
            what = f"{rule.address} {rule.path}" if rule.path else rule.address
            if index in self._over:
                yield _leftover(
                    rule, "DR102", "ignore-expired", f"the entry that ignores drift of {what} ended on {rule.until}"
                )
            elif index not in self._used and complete:
                yield _leftover(
                    rule, "DR101", "ignore-unused", f"the entry that ignores drift of {what} covers nothing now"
                )


def _is_under(path: str | None, wanted: str | None) -> bool:
    """Does the pattern cover the path? `placement` covers `placement.tags` and `placement`."""
    if wanted is None:
        return True
    if path is None:
        return False
    return path == wanted or path.startswith((f"{wanted}.", f"{wanted}[")) or fnmatchcase(path, wanted)


def _leftover(rule: IgnoreRule, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=code, name=name, message=message, span=rule.where(""),
        fix="remove it, or judge the drift again and give it a new date" if code == "DR102" else "remove it if it is no longer needed",
    )  # fmt: skip
