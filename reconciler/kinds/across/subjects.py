"""Subjects of several streams: no two streams of an account may capture the same message."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from reconciler.changes.change import Action, Change
from reconciler.changes.renaming import moved_section_text
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import afterwards, config_of
from reconciler.kinds.subjects.subject_index import SubjectIndex
from reconciler.kinds.subjects.subjects import collide, storable_subjects
from reconciler.model.resource import Address


@rule("XX201", "subject-overlap", needs=("neighbours",), err_code=10065)
def subject_overlap(change: Change, view: View) -> Iterator[Finding]:
    """Two streams of the account would capture the same subject; the server refuses that (10065).

    Live streams of other owners count as well. A bucket has `$KV.<name>.>`, an object store its `$O.<name>` subjects,
    and a stream without subjects, mirror and sources its own name.

    Instead: narrow one of them, or let one source the other. If the other stream is to go, name it under `removed:`; what it
    holds is deleted with it. Where another topology gives the subject up in the same run, name its files first.
    """
    if not view.is_stream(change.address) or not (
        change.action is Action.CREATE or change.touches("subjects", "mirror")
    ):
        return
    own = {
        view.stream_of(address) for address in (change.address, change.origin) if address
    }  # XX110 tells how it moves
    for index, subject in storable_subjects(config_of(change, view)).items():
        for other, theirs in captured_subjects(view).near(subject):
            if other not in own and collide(subject, theirs):
                yield refusal(
                    f"subjects[{index}]" if change.address.kind == "stream" else "",
                    f"`{subject}` overlaps with `{theirs}` of stream {other}",
                    (
                        f"narrow one of them, or let one stream source the other{_given_up_first_text(other, view)}"
                        f"{_declared_no_more_text(change, other, view)}"
                    ),
                )
                break


def _given_up_first_text(other: str, view: View) -> str:
    """What another topology of the same run gives up is free for those that come after it."""
    owner = next(
        (name for address in view.backed_by(other) if (name := view.owner_of(address.kind, *address.names))), None
    )
    if owner in view.stopped:
        return f"; where topology {owner} gives it up in the same run, first resolve what stops its plan"
    return f"; where topology {owner} gives it up in the same run, name its files first" if owner else ""


def _declared_no_more_text(change: Change, other: str, view: View) -> str:
    """A stream that is declared no more either goes, or is often the new one that wants its subjects."""
    other_change = view.changes.get(Address.of(change.address.kind, other))
    if change.origin or other_change is None or other_change.action is not Action.ORPHAN:
        return ""
    goes = (
        f". If {other} is to go, with what it holds, write removed: [{{address: {other_change.address}, reason: …}}] at the top level "
        "of the file"
    )
    if change.action is not Action.CREATE:
        return goes
    entry = moved_section_text(other_change.address, change.address)
    return f"{goes}; if this is {other} under a new name, write {entry}: the plan then prints the way"


@lru_cache(maxsize=4)
def captured_subjects(view: View) -> SubjectIndex[str]:
    """Every subject with the stream that will capture it; computed once per view, which is compared by identity."""
    after = afterwards(view)
    return SubjectIndex(
        (stream, subject)
        for stream, config in after.streams.items()
        for subject in (storable_subjects(config).values() if stream in after.made_by else config.get("subjects") or ())
    )


RULES = (subject_overlap,)
