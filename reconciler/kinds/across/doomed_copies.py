"""Copies that a server would refuse as they stand, or will stand when their origin has changed: lost at its next start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from reconciler.changes.diff import Change
from reconciler.changes.rule import rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.across.copies import STANDING, WRITTEN, is_new, met_again, size, too_small, way
from reconciler.kinds.afterwards.readers import downstream
from reconciler.kinds.afterwards.streams import afterwards, live_streams
from reconciler.kinds.effects.dependants import streams
from reconciler.kinds.fields.words import written_size
from reconciler.model.resource import Config


@rule("XX204", "doomed-copy", on=(*WRITTEN, *STANDING), needs=("neighbours",), reaction=Reaction.DOOMS)
def doomed_copy(change: Change, view: View) -> Iterator[Finding]:
    """Another stream copies this one, and the server would refuse that stream as it stands: a cycle that only a filter keeps
    apart, or a `max_msg_size` below the one of its origin.

    The server checks the stream that is written and never its neighbours. They take no update from then on, and a server
    that happens to read them after this one at its next start drops them, messages included.

    Instead: change the copying stream first, or leave this one as it is.
    """
    name = view.stream_of(change.address) or ""
    if change.action in STANDING:
        if (wrong := _wrong(name, view)) and not _is_made_wrong(name, view):
            yield Finding(
                outcome=Outcome.WARNS,
                message=f"{wrong}; it takes no update and may be gone after the next restart",
                fix="correct its mirror or sources, or its max_msg_size",
            )
        return
    if not is_new(change, "mirror", "sources", "subjects", "max_msg_size", "max_value_size") or _wrong(name, view):
        return  # what is refused harms nobody
    for other in downstream(name, view):
        if wrong := _is_made_wrong(other, view):
            yield Finding(
                outcome=Outcome.REFUSED,
                path=_blamed(change),
                affects=streams([other], view),
                message=f"stream {other} would be lost at a restart of the server: {wrong}",
                fix=f"change {other} first, or leave this stream as it is",
            )


def _blamed(change: Change) -> str:
    candidates = ("max_msg_size", "max_value_size", "sources", "mirror", "subjects")
    return next((path for path in candidates if change.touches(path)), "")


def _is_made_wrong(name: str, view: View) -> str | None:
    """Why the server would refuse this stream as it will stand, where it would not as it stands now."""
    wrong = _wrong(name, view)
    return wrong if wrong and wrong != _wrong_in(name, live_streams(view)) else None


def _wrong(name: str, view: View) -> str | None:
    """Found once per view."""
    known = _judged(view)
    if name not in known:
        known[name] = _wrong_in(name, afterwards(view).streams)
    return known[name]


@lru_cache(maxsize=4)
def _judged(_view: View) -> dict[str, str | None]:
    return {}


def _wrong_in(name: str, streams: Mapping[str, Config]) -> str | None:
    if ring := met_again(name, streams):
        return f"{way(name, ring)}: the server takes that for a cycle"
    if small := next(too_small(name, streams), None):
        own, wanted = (written_size(size(streams[one])) for one in (name, small.origin))
        return f"its max_msg_size {own} is below {wanted} of {small.origin}"
    return None


RULES = (doomed_copy,)
