"""Going back to an earlier revision of the files, and what applying it cannot bring back.

The plan is an ordinary plan of the earlier files. This module adds a warning for each loss that the plan cannot undo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.changes.change import Action, FieldChange
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.renaming import moved_section_text
from reconciler.changes.verdict import Verdict
from reconciler.documents.find.git import origin
from reconciler.documents.find.git_tree import GitTree
from reconciler.kinds import REGISTRY
from reconciler.kinds.fields.words import few, outside
from reconciler.kinds.subjects.subject_lists import not_inside
from reconciler.kinds.subjects.subjects import collide
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
class EarlierFiles:
    """The files of one commit."""

    tree: GitTree
    came_from: Origin

    @classmethod
    def at(cls, revision: str, paths: Sequence[Path]) -> EarlierFiles:
        """Read the files of a revision. Raises CannotContinue where git does not know the revision."""
        near = paths[0]
        tree = GitTree.at(revision, near)
        repository, commit = tree.repository_of(near)
        return cls(tree, Origin(repository=origin(repository).repository, revision=commit))


def lasting_losses(plan: Plan) -> tuple[Diagnostic, ...]:
    """List what this plan does not undo by going back."""
    renamed = {change.counterpart: change.address for change in plan.changes if change.counterpart}
    stays = {change.address: refusal for change in plan.changes if (refusal := _first_refusal(change))}
    lost = (
        loss for change in plan.changes if change.address not in stays for loss in _losses_of_change(change, renamed)
    )
    return (*_refused_changes(plan, stays), *lost)


def _first_refusal(change: PlannedChange) -> Verdict | None:
    return next((verdict for verdict in change.verdicts if verdict.refuses), None)


def _refused_changes(plan: Plan, stays: Mapping[str, Verdict]) -> Iterator[Diagnostic]:
    """One for each rule that refuses anything; the plan says why at each object."""
    for code, name in dict.fromkeys((change.code, change.name) for change in stays.values()):
        first, *others = (
            change for change in plan.changes if (verdict := stays.get(change.address)) and verdict.code == code
        )
        nor = f", nor can {few([change.address for change in others], 3)}" if others else ""
        yield _warning(first, "GB101", "cannot-be-undone", f"cannot be undone{nor}: {code} {name} refuses it", None)


def _losses_of_change(change: PlannedChange, renamed: Mapping[str, str]) -> Iterator[Diagnostic]:
    if change.action is Action.CREATE:
        yield _recreated_object(change, renamed.get(change.address))
    elif change.action is Action.UPDATE:
        yield from (diagnostic for field in change.fields if (diagnostic := _not_restored(change, field)))


def _recreated_object(change: PlannedChange, renamed: str | None) -> Diagnostic:
    """`renamed`: a consumer that the earlier files do not know, and that seems to be this one under a newer name."""
    if REGISTRY[change.address.split("/")[0]].backing is not None:
        return _warning(
            change, "GB102", "starts-over", _recreated_empty_text(change.record.fields if change.record else {}),
            "restore a backup before you apply, if you have one: a server restores no stream that exists",
        )  # fmt: skip
    message = (
        "is recreated: nothing remembers its position from before it was deleted, so it starts where its file says"
    )
    return _warning(change, "GB102", "starts-over", message, _rename_back_advice(change, renamed) if renamed else None)


def _recreated_empty_text(fields: Config) -> str:
    if fields.get("mirror"):
        return "is recreated and copies what its origin still holds; nothing else that it held comes back"
    if fields.get("sources"):
        return "is recreated and copies what its sources still hold; nothing else that it held comes back"
    return "is recreated empty: the messages it held when it was deleted do not come back"


def _rename_back_advice(change: PlannedChange, renamed: str) -> str:
    entry = moved_section_text(renamed, change.address)
    return f"if {renamed} is the same consumer under a newer name, rename it back with this entry in the files: {entry}"


def _not_restored(change: PlannedChange, field: FieldChange) -> Diagnostic | None:
    if field.path in BOUNDS and _limit_of_field(field, field.desired) > _limit_of_field(field, field.live):
        message = (
            f"{field.path} gets its wider limit back, but anything that the narrower limit {BOUNDS[field.path]} does not "
            "come back"
        )
    elif field.path == "subjects" and (added := _added_subjects(field)):
        message = f"messages published to {', '.join(added)} in the meantime were not stored here, and do not come back"
    elif field.path == "retention" and field.live in DELETING:
        message = f"the messages that {field.live} retention removed do not come back"
    else:
        return None
    return _warning(change, "GB103", "gone-meanwhile", message, None)


def _limit_of_field(field: FieldChange, given: Json) -> float:
    value = field.info.default if given is None else given
    return value if isinstance(value, int | float) and value > 0 else float("inf")


def _added_subjects(field: FieldChange) -> list[str]:
    """Subjects, or parts of them, that the stream begins to store."""
    live, desired = (value if isinstance(value, list) else [] for value in (field.live, field.desired))
    new = not_inside(desired, live)
    return [outside(subject, [other for other in live if collide(subject, other)]) for subject in new]


def _warning(change: PlannedChange, code: str, name: str, message: str, fix: str | None) -> Diagnostic:
    return Diagnostic(
        severity=Severity.WARNING, code=code, name=name, message=message, address=change.address, span=change.span, fix=fix
    )  # fmt: skip
