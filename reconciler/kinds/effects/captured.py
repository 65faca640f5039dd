"""What readers of a stream get of subjects that it captures from now on."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.changes.verdict import Finding
from reconciler.kinds.effects.foretold import MovedField, note, notes_of
from reconciler.kinds.effects.publishers import stored_value
from reconciler.kinds.effects.readers import NAMED
from reconciler.kinds.effects.surplus import stream_of
from reconciler.kinds.effects.uncaptured import reading
from reconciler.kinds.fields.words import few, listed, outside, some
from reconciler.kinds.subjects.parking import is_parking_subject
from reconciler.kinds.subjects.subjects import is_subset, meets


@notes_of(303)
def taken_in_besides(moved: MovedField) -> Iterable[Finding]:
    """Subjects are added, and readers whose filters match them get what is published there."""
    held = [one for one in moved.change.was(moved.path) or () if not is_parking_subject(one)]
    added = _outside(moved.change.becomes(moved.path) or (), held)
    if not held or not added:
        return
    getting: dict[tuple[str, ...], list[str]] = {}
    is_renamed = bool((stored_value(moved, "subject_transform") or {}).get("dest"))
    for name, wanted, _ in reading(stream_of(moved.change), moved.view):
        if wanted == [">"] or not is_renamed:
            getting.setdefault(tuple(_outside(meets(added, wanted), held)), []).append(name)
    for subjects, names in getting.items():
        if subjects:
            rest = [some(len(names) - NAMED, "more reader")] if len(names) > NAMED else []
            who, get = listed([*names[:NAMED], *rest]), "gets" if len(names) == 1 else "get"
            yield note(f"{who} {get} what is published on {few([_besides(one, held) for one in subjects])} as well")


def _besides(subject: str, held: Iterable[str]) -> str:
    return outside(subject, [one for one in held if is_subset(one, subject)])


def _outside(subjects: Iterable[str], held: Iterable[str]) -> list[str]:
    return [one for one in subjects if not any(is_subset(one, other) for other in held)]
