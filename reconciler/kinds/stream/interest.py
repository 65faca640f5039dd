"""Notes on streams with interest retention: what they take and do not store, and what a change of retention means later."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.losses.unwanted import compare_wanted, is_unused
from reconciler.kinds.stream.retention import kept_until_restart_text, turns_to_interest


def consequences(change: Change, view: View) -> Iterator[Consequence]:
    """What hurts nobody who publishes or reads now; rules say the rest."""
    if change.action not in (Action.CREATE, Action.UPDATE):
        return
    name, turns = change.address.name, change.action is Action.UPDATE and change.touches("retention")
    found = compare_wanted(name, view)
    if parts := [*found.new, *(found.lost if turns and is_unused(change) else ())]:
        yield _note(found.text(parts, name), "XX245")
    if turns and change.was("retention") == "interest":
        text = "from then on the stream keeps what consumers have acknowledged, and what none wants, until a limit deletes it"
        yield _note(text, "ST302")
    elif turns and not turns_to_interest(change) and (text := kept_until_restart_text(change, view)):
        yield _note(text, "ST302")


def _note(text: str, code: str) -> Consequence:
    return Consequence(message=f"{text} ({code})", code=code)
