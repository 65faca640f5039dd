"""Going back to an earlier revision of the files: what they said then, and what no apply of it brings back.

The plan itself is one like any other, judged against what is live; here is only what a person who goes back may expect
in vain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.changes.diff import Action, FieldChange
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.documents.find.git_tree import GitTree
from reconciler.documents.find.revision import origin
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.run_options import Origin

BOUNDS = frozenset({"max_age", "max_msgs", "max_bytes", "max_msgs_per_subject", "ttl", "history"})
"""Fields beyond which something stored goes; absent, zero and below: no bound."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The files of one commit."""

    tree: GitTree
    came_from: Origin

    @classmethod
    def at(cls, revision: str, paths: Sequence[Path]) -> Earlier:
        """Raises CannotContinue where git does not know it."""
        near = paths[0]
        tree = GitTree.at(revision, near)
        return cls(tree, Origin(repository=origin(tree.root).repository, revision=tree.commit))


def lasting(plan: Plan) -> tuple[Diagnostic, ...]:
    """What going back by this plan does not undo."""
    left = tuple(change.address for change in plan.changes if change.action is Action.ORPHAN)
    return tuple(one for change in plan.changes for one in _lasting(change, left))


def _lasting(change: PlannedChange, left: Sequence[str]) -> Iterator[Diagnostic]:
    stays = next((verdict for verdict in change.verdicts if verdict.refuses), None)
    if stays is not None:
        yield _said(change, "GB101", "cannot-be-undone", f"cannot be undone, since {_why(stays)}", stays.fix)
    elif change.action is Action.CREATE:
        yield _made_anew(change, left)
    elif change.action is Action.UPDATE:
        yield from (one for field in change.fields if (one := _not_back(change, field)))


def _why(verdict: Verdict) -> str:
    message = verdict.message.rstrip(".")
    return f"{message[:1].lower()}{message[1:]} ({verdict.code})"


def _made_anew(change: PlannedChange, left: Sequence[str]) -> Diagnostic:
    """`left`: what the earlier files do not know, and stays; a consumer among them may be this one by another name."""
    if REGISTRY[change.address.split("/")[0]].backing is not None:
        message = "is made anew and empty: what it held when it was deleted does not come back"
        return _said(change, "GB102", "made-anew", message, "restore a backup after applying, if there is one")
    message = "is made anew: where it stood when it was deleted is not remembered, so it starts where its file says"
    beside = next((one for one in left if one.rpartition("/")[0] == change.address.rpartition("/")[0]), None)
    return _said(change, "GB102", "made-anew", message, _still_there(change, beside) if beside else None)


def _still_there(change: PlannedChange, beside: str) -> str:
    entry = f"moved: [{{from: {beside}, to: {change.address}, reason: …}}]"
    return f"if {beside} is the same one by a later name, go back with an entry in the files: {entry}"


def _not_back(change: PlannedChange, field: FieldChange) -> Diagnostic | None:
    if field.path in BOUNDS and _bound(field, field.desired) > _bound(field, field.live):
        message = f"{field.path} is as wide as it was again, but what has gone meanwhile does not come back"
    elif field.path == "subjects" and (added := _added(field)):
        message = f"what was published to {', '.join(added)} meanwhile was not stored here, and does not come back"
    elif field.path == "retention":
        message = f"what retention {field.live} has removed does not come back"
    else:
        return None
    return _said(change, "GB103", "gone-meanwhile", message, None)


def _bound(field: FieldChange, said: Json) -> float:
    value = field.info.default if said is None else said
    return value if isinstance(value, int | float) and value > 0 else float("inf")


def _added(field: FieldChange) -> list[str]:
    live, desired = (value if isinstance(value, list) else [] for value in (field.live, field.desired))
    return [str(one) for one in desired if one not in live]


def _said(change: PlannedChange, code: str, name: str, message: str, fix: str | None) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=code, name=name, message=message, address=change.address, span=change.span, fix=fix
    )  # fmt: skip
