"""A rule that every kind with metadata shares: keys that begin with `_nats.` belong to the server."""

from __future__ import annotations

from reconciler.changes.change import Change
from reconciler.changes.rule import Found, Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View


def reserved_metadata(family: str) -> Rule:
    """The 508 of a family."""

    def judge(change: Change, _view: View) -> Found:
        """Metadata keys that begin with `_nats.` belong to the server, which overwrites them.

        Instead: choose another key.
        """
        return [_finding(key) for key in getattr(change.terms, "metadata", None) or {} if key.startswith("_nats.")]

    return rule(f"{family}508", "reserved-metadata", reaction=Reaction.DROPS)(judge)


def _finding(key: str) -> Finding:
    return Finding(
        outcome=Outcome.REFUSED,
        path=f"metadata.{key}",
        message=f"metadata key `{key}` belongs to the server, which overwrites it",
        fix="choose another key",
    )
