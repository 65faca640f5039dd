"""Changes after which a consumer does the same and is only written in another way.

Servers keep what was written, and compare it when an application creates the consumer."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change, Consequence
from reconciler.kinds.subjects.filters import FILTERS, filters_of
from reconciler.model.resource import Json

REFUSED = "is refused (10148), unless it may update one that exists"


def is_same_filter(change: Change) -> bool:
    """Does the filter stay, and only go from `filter_subject` into a list of one, or back?"""
    if not (change.touches(*FILTERS) and change.live and change.desired):
        return False
    return set(filters_of(change.live.config)) == set(filters_of(change.wanted))


def _is_same_frequency(change: Change) -> bool:
    before, after = change.was("sample_freq"), change.becomes("sample_freq")
    return change.touches("sample_freq") and _percentage(before) == _percentage(after)


def _percentage(frequency: Json) -> int | str:
    """A server reads `30%` as 30, and samples nothing at 0 or without a number. A text that it refuses stays."""
    try:
        return int(str(frequency or 0).removesuffix("%"))
    except ValueError:
        return str(frequency)


def spelling_consequences(change: Change) -> Iterator[Consequence]:
    """What stays as it is, and who feels the other spelling all the same."""
    if change.action is not Action.UPDATE:
        return
    if is_same_filter(change):
        old = next((f"with {name}" for name in FILTERS if change.was(name)), "without a filter")
        yield _refused_at_start_up("Clients get the same messages as before", old)
    if _is_same_frequency(change):
        before = change.was("sample_freq")
        old = f"with sample_freq {before}" if before else "without sample_freq"
        yield _refused_at_start_up("The server samples as many acknowledgements as before", old)


def _refused_at_start_up(same: str, old: str) -> Consequence:
    return Consequence(message=f"{same}; an application that creates this consumer at start-up {old} {REFUSED}")
