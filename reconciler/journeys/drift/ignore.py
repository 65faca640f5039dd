"""`ignore_drift:` of a file: which drift is nobody's business, why, and until when; rules that are of no use are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.topology import IgnoreRule


class Rules:
    """All of them, and which were of any use."""

    def __init__(self, rules: Sequence[IgnoreRule], today: date) -> None:
        self._rules = rules
        self._over = {index for index, rule in enumerate(rules) if rule.until and today > rule.until}
        self._used: set[int] = set()

    def why(self, address: str, path: str | None = None) -> str:
        """The reason of the first rule that covers this field, or (without a path) the whole object; empty: none does."""
        for index, rule in enumerate(self._rules):
            if index not in self._over and fnmatchcase(address, rule.address) and _is_under(path, rule.path):
                self._used.add(index)
                return rule.reason
        return ""

    def leftovers(self, *, complete: bool) -> Iterator[Diagnostic]:
        """A rule that covers nothing hides, one day, what nobody thought of. In part of a topology nobody can tell."""
        for index, rule in enumerate(self._rules):
            what = f"{rule.address} {rule.path}" if rule.path else rule.address
            if index in self._over:
                yield _leftover(rule, "DR102", "ignore-expired", f"ignoring drift of {what} ended on {rule.until}")
            elif index not in self._used and complete:
                yield _leftover(rule, "DR101", "ignore-unused", f"nothing drifts that ignoring {what} would cover")


def _is_under(path: str | None, wanted: str | None) -> bool:
    """`placement` covers `placement.tags` and `placement`; a pattern covers what it matches."""
    if wanted is None:
        return True
    if path is None:
        return False
    return path == wanted or path.startswith((f"{wanted}.", f"{wanted}[")) or fnmatchcase(path, wanted)


def _leftover(rule: IgnoreRule, code: str, name: str, message: str) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=code, name=name, message=message, span=rule.where(""),
        fix="remove it, or judge anew and date it anew" if code == "DR102" else "remove it where it is not needed any more",
    )  # fmt: skip
