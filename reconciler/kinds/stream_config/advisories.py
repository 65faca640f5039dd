"""Streams that capture the server's advisories about a stream or a consumer by its name, as dead-letter queues do. When that
name goes, they get nothing more."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.view import View
from reconciler.kinds.subjects.subjects import is_subset
from reconciler.model.resource import Address

ABOUT = ("$JS.EVENT.ADVISORY.STREAM.", "$JS.EVENT.ADVISORY.CONSUMER.")
NAMES = 5
"""Before the names come `$JS.EVENT.ADVISORY.CONSUMER` and what happened."""


class _Captured(NamedTuple):
    stream: str
    subject: str
    names: tuple[str, ...]
    """The stream, and perhaps its consumer; wildcards stand for all."""


def consequences(change: Change, view: View) -> Iterator[Consequence]:
    """Sentences about streams that capture advisories about an object that goes, or gets another name."""
    old = change.origin or change.address
    is_renamed = old != change.address
    if not (is_renamed or change.action is Action.DELETE):
        return
    for captured in _captured_advisories(view):
        if (
            len(captured.names) < len(old.names)
            or captured.names[len(old.names) - 1] != old.name
            or captured.names[0] not in (old.stream, "*")
        ):
            continue
        if is_renamed and _still_captures(captured, change.address.names, view):
            continue
        then = (
            f"and gets none about {change.address.name}: add their subject first"
            if is_renamed
            else "and gets no more of them"
        )
        yield Consequence(
            message=f"Stream {captured.stream} captures advisories about {old.kind} {old.name} by its name (`{captured.subject}`), {then}"
        )


def _still_captures(captured: _Captured, names: tuple[str, ...], view: View) -> bool:
    """Does it capture the same advisories about the new name as well, once this plan is applied?"""
    wanted = view.desired.get(Address.of("stream", captured.stream))
    if wanted is None or wanted.external:
        return False
    head = captured.subject.split(".")[:NAMES]
    advisory = ".".join([*head, *names, *captured.names[len(names) :]])
    return any(is_subset(advisory, subject) for subject in wanted.config.get("subjects") or ())


@lru_cache(maxsize=4)
def _captured_advisories(view: View) -> tuple[_Captured, ...]:
    """Every captured advisory; computed once per view: few streams capture any."""
    return tuple(
        _Captured(name, subject, tuple(subject.split(".")[NAMES:]))
        for name, info in view.snapshot.streams.items()
        for subject in info["config"].get("subjects") or ()
        if subject.startswith(ABOUT)
    )
