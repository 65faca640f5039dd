"""Going back to an earlier revision of the files, and what applying it cannot bring back.

The plan is an ordinary plan of the earlier files. This module adds a warning for each loss that the plan cannot undo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.changes.change import Action, FieldChange
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.renaming import moved_entry
from reconciler.changes.verdict import Verdict
from reconciler.documents.find.git_tree import GitTree
from reconciler.documents.find.revision import origin
from reconciler.kinds import REGISTRY
from reconciler.kinds.fields.words import few, outside
from reconciler.kinds.subjects.subjects import collide, is_subset
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Config, Json
from reconciler.model.run_options import Origin

REMOVES, OR_REFUSES = "removed", "removed or refused"
BOUNDS = {
    "max_age": REMOVES, "ttl": REMOVES, "history": REMOVES, "max_msgs": OR_REFUSES, "max_bytes": OR_REFUSES,
    "max_msgs_per_subject": OR_REFUSES,
}  # fmt: skip
"""Fields that limit what is stored, and what they did to the rest. An absent value, zero and a negative value mean no
limit."""
DELETING = ("interest", "workqueue")
"""Kinds of retention that delete what was processed."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The files of one commit."""

    tree: GitTree
    came_from: Origin

    @classmethod
    def at(cls, revision: str, paths: Sequence[Path]) -> Earlier:
        """Read the files of a revision. Raises CannotContinue where git does not know the revision."""
        near = paths[0]
        tree = GitTree.at(revision, near)
        return cls(tree, Origin(repository=origin(tree.root).repository, revision=tree.commit))


def lasting(plan: Plan) -> tuple[Diagnostic, ...]:
    """List what this plan does not undo by going back."""
    left = tuple(change.address for change in plan.changes if change.action is Action.ORPHAN)
    stays = {change.address: found for change in plan.changes if (found := _refusal(change))}
    lost = (one for change in plan.changes if change.address not in stays for one in _lasting(change, left))
    return (*_refused(plan, stays), *lost)


def _refusal(change: PlannedChange) -> Verdict | None:
    return next((verdict for verdict in change.verdicts if verdict.refuses), None)


def _refused(plan: Plan, stays: Mapping[str, Verdict]) -> Iterator[Diagnostic]:
    """One for each rule that refuses anything; the plan says why at each object."""
    for code, name in dict.fromkeys((one.code, one.name) for one in stays.values()):
        first, *others = (one for one in plan.changes if (found := stays.get(one.address)) and found.code == code)
        nor = f", nor can {few([one.address for one in others], 3)}" if others else ""
        yield _said(first, "GB101", "cannot-be-undone", f"cannot be undone{nor}: {code} {name} refuses it", None)


def _lasting(change: PlannedChange, left: Sequence[str]) -> Iterator[Diagnostic]:
    if change.action is Action.CREATE:
        yield _recreated(change, left)
    elif change.action is Action.UPDATE:
        yield from (one for field in change.fields if (one := _not_back(change, field)))


def _recreated(change: PlannedChange, left: Sequence[str]) -> Diagnostic:
    """`left` holds the addresses that the earlier files do not know; a consumer among them may be this one under a
    newer name."""
    if REGISTRY[change.address.split("/")[0]].backing is not None:
        return _said(
            change, "GB102", "starts-over", _empty(change.record.fields if change.record else {}),
            "restore a backup before you apply, if you have one: a server restores no stream that exists",
        )  # fmt: skip
    message = (
        "is recreated: nothing remembers its position from before it was deleted, so it starts where its file says"
    )
    beside = next((one for one in left if one.rpartition("/")[0] == change.address.rpartition("/")[0]), None)
    return _said(change, "GB102", "starts-over", message, _still_there(change, beside) if beside else None)


def _empty(made: Config) -> str:
    if made.get("mirror"):
        return "is recreated and copies what its origin still holds; nothing else that it held comes back"
    if made.get("sources"):
        return "is recreated and copies what its sources still hold; nothing else that it held comes back"
    return "is recreated empty: the messages it held when it was deleted do not come back"


def _still_there(change: PlannedChange, beside: str) -> str:
    entry = moved_entry(beside, change.address)
    return f"if {beside} is the same consumer under a newer name, rename it back with this entry in the files: {entry}"


def _not_back(change: PlannedChange, field: FieldChange) -> Diagnostic | None:
    if field.path in BOUNDS and _bound(field, field.desired) > _bound(field, field.live):
        message = (
            f"{field.path} gets its wider limit back, but anything that the narrower limit {BOUNDS[field.path]} does not "
            "come back"
        )
    elif field.path == "subjects" and (added := _added(field)):
        message = f"messages published to {', '.join(added)} in the meantime were not stored here, and do not come back"
    elif field.path == "retention" and field.live in DELETING:
        message = f"the messages that {field.live} retention removed do not come back"
    else:
        return None
    return _said(change, "GB103", "gone-meanwhile", message, None)


def _bound(field: FieldChange, said: Json) -> float:
    value = field.info.default if said is None else said
    return value if isinstance(value, int | float) and value > 0 else float("inf")


def _added(field: FieldChange) -> list[str]:
    """Subjects, or parts of them, that the stream begins to store."""
    live, desired = (value if isinstance(value, list) else [] for value in (field.live, field.desired))
    new = (one for one in desired if not any(is_subset(one, other) for other in live))
    return [outside(one, [other for other in live if collide(one, other)]) for one in new]


def _said(change: PlannedChange, code: str, name: str, message: str, fix: str | None) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=code, name=name, message=message, address=change.address, span=change.span, fix=fix
    )  # fmt: skip
