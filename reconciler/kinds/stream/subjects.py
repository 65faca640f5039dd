"""The subjects of one stream: each is valid, and no two capture the same message."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.subjects.subjects import collide, is_valid, storable


@rule("ST542", "invalid-subject", err_code=10052)
def invalid_subject(change: Change, _view: View) -> Iterator[Finding]:
    """A subject that no message can ever have: an empty token, white space, or a `>` that is not at the end.

    The server refuses the whole stream because of it.

    Instead: write tokens between single dots, `*` for one token, `>` for all that follow.
    """
    for index, subject in enumerate(change.becomes("subjects") or ()):
        if not is_valid(subject):
            yield Finding(
                outcome=Outcome.REFUSED,
                path=f"subjects[{index}]",
                message=f"`{subject}` is not a valid subject",
                fix="write tokens between single dots, without white space, `>` only at the end",
            )


@rule("ST543", "own-subjects-overlap", err_code=10052)
def own_subjects_overlap(change: Change, _view: View) -> Iterator[Finding]:
    """Two subjects of one stream capture the same message; the server refuses the stream.

    Instead: keep the wider one.
    """
    subjects = storable(change.desired.config if change.desired else {})
    for index, subject in subjects.items():
        earlier = next((other for at, other in subjects.items() if at < index and collide(subject, other)), None)
        if earlier is not None:
            yield Finding(
                outcome=Outcome.REFUSED,
                path=f"subjects[{index}]",
                message=f"`{subject}` overlaps with `{earlier}` of the same stream",
                fix="keep the wider one of the two",
            )


RULES = (invalid_subject, own_subjects_overlap)
