"""Copies that a server would refuse at its next start, now or after a change of their origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from reconciler.changes.change import Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction, refusal
from reconciler.changes.view import View
from reconciler.kinds.afterwards.readers import downstream
from reconciler.kinds.afterwards.streams import afterwards, live_streams
from reconciler.kinds.copies.copy_rules import (
    STANDING,
    WRITTEN,
    copies_of_larger,
    cycle_text,
    first_cycle,
    is_new,
    largest_message_of,
)
from reconciler.kinds.fields.words import written_size
from reconciler.kinds.losses.dependants import streams
from reconciler.model.resource import Config


@rule("XX204", "doomed-copy", on=(*WRITTEN, *STANDING), needs=("neighbours",), reaction=Reaction.DOOMS)
def doomed_copy(change: Change, view: View) -> Iterator[Finding]:
    """Another stream copies this one, and the server would refuse that stream as it is: a cycle that only a filter
    prevents, or a `max_msg_size` below that of its origin.

    The server checks only the stream that is written, never its neighbours. From then on it refuses every update of
    them. At its next start it may read them after this stream, and then it loses them with their messages.

    Instead: change the copying stream first, or leave this one as it is.
    """
    name = view.stream_of(change.address) or ""
    if change.action in STANDING:
        if (wrong := _error_after(name, view)) and not _new_error(name, view):
            yield Finding(
                outcome=Outcome.WARNS,
                message=f"{wrong}; the server refuses every update of this stream and may lose it at its next restart",
                fix="correct its mirror or sources, or its max_msg_size",
            )
        return
    if not is_new(change, "mirror", "sources", "subjects", "max_msg_size", "max_value_size") or _error_after(
        name, view
    ):
        return  # what is refused harms nobody
    for other in downstream(name, view):
        if wrong := _new_error(other, view):
            yield refusal(
                _field_at_fault(change),
                f"the server would lose stream {other} at a restart: {wrong}",
                f"change {other} first, or leave this stream as it is",
                affects=streams([other], view),
            )


def _field_at_fault(change: Change) -> str:
    candidates = ("max_msg_size", "max_value_size", "sources", "mirror", "subjects")
    return next((path for path in candidates if change.touches(path)), "")


def _new_error(name: str, view: View) -> str | None:
    """Why the server would refuse this stream after the change, if it would not refuse it now."""
    wrong = _error_after(name, view)
    return wrong if wrong and wrong != _error_in(name, live_streams(view)) else None


def _error_after(name: str, view: View) -> str | None:
    """Computed once per view."""
    errors = _errors_by_stream(view)
    if name not in errors:
        errors[name] = _error_in(name, afterwards(view).streams)
    return errors[name]


@lru_cache(maxsize=4)
def _errors_by_stream(_view: View) -> dict[str, str | None]:
    return {}


def _error_in(name: str, streams: Mapping[str, Config]) -> str | None:
    if ring := first_cycle(name, streams):
        return f"{cycle_text(name, ring)}: the server takes that for a cycle"
    if small := next(copies_of_larger(name, streams), None):
        own, wanted = (written_size(largest_message_of(streams[stream])) for stream in (name, small.origin))
        return f"its max_msg_size {own} is below {wanted} of {small.origin}"
    return None


RULES = (doomed_copy,)
