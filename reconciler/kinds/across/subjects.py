"""Subjects of several streams: no two streams of an account may capture the same message."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Address
from reconciler.core.rule import Finding, Found, Outcome, View, rule
from reconciler.kinds.across.afterwards import PREFIXES, afterwards, config_of, stream_name
from reconciler.kinds.across.ordering import subject_handovers
from reconciler.kinds.primitives.subject_index import SubjectIndex
from reconciler.kinds.primitives.subjects import collide


@rule("XX201", "subject-overlap", needs=("neighbours",), err_code=10065)
def subject_overlap(change: Change, view: View) -> Iterator[Finding]:
    """Two streams of the account would capture the same subject; the server refuses that (10065).

    Also judged against live streams that are not ours. Buckets own `$KV.<name>.>`, object stores their `$O.<name>` subjects,
    a stream without subjects, mirror and sources its own name.

    Instead: narrow one of them, or let one source the other.
    """
    if change.address.kind not in PREFIXES or not (
        change.action is Action.CREATE or change.touches("subjects", "mirror")
    ):
        return
    name = stream_name(change.address)
    for index, subject in enumerate(config_of(change, view).get("subjects") or ()):
        for other, theirs in captured(view).near(subject):
            if other != name and collide(subject, theirs):
                yield Finding(
                    outcome=Outcome.REFUSED,
                    path=f"subjects[{index}]" if change.address.kind == "stream" else "",
                    fix="narrow one of them, or let one stream source the other",
                    message=f"`{subject}` overlaps with `{theirs}` of stream {other}",
                )
                break


@rule("XX202", "subject-swap", on=(Action.UPDATE,), needs=("neighbours",), err_code=10065)
def subject_swap(change: Change, view: View) -> Found:
    """Streams exchange subjects with each other in one plan; whichever is updated first would overlap with another.

    Instead: take the subject away from one stream and apply; then give it to the other and apply again.
    """
    if change.address.kind != "stream" or not change.touches("subjects"):
        return None
    waits = _handovers(view)
    seen, todo = set(), list(waits.get(change.address, ()))
    while todo:
        if (address := todo.pop()) not in seen:
            seen.add(address)
            todo.extend(waits.get(address, ()))
    if change.address not in seen:
        return None
    return Finding(
        outcome=Outcome.REFUSED,
        path="subjects",
        message="streams exchange subjects here, and none of them can be updated first",
        fix="take the subject away from one stream and apply; then give it to the other",
    )


@lru_cache(maxsize=4)
def _handovers(view: View) -> dict[Address, list[Address]]:
    """Who takes over subjects from whom; computed once per view."""
    waits: dict[Address, list[Address]] = {}
    for first, then in subject_handovers({a: c for a, c in view.changes.items() if c.action.writes}):
        waits.setdefault(first, []).append(then)
    return waits


@lru_cache(maxsize=4)
def captured(view: View) -> SubjectIndex:
    """Every subject with the stream that will capture it; computed once per view, which is compared by identity."""
    index = SubjectIndex()
    for stream, config in afterwards(view).streams.items():
        for subject in config.get("subjects") or ():
            index.add(stream, subject)
    return index


RULES = (subject_overlap, subject_swap)
