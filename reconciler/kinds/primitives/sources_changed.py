"""What a change of sources copies once more, or leaves behind. A server knows a source by its origin, filter and transforms:
with another filter it is another source, which begins at the first message of its origin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Json
from reconciler.core.rule import Finding, Found, Outcome, Reaction, Rule, View, rule
from reconciler.kinds.primitives.copies import identity, origin_of
from reconciler.kinds.primitives.origins import taken_subjects
from reconciler.kinds.primitives.subjects import collide
from reconciler.kinds.primitives.surplus import OwnName, as_named, state_of
from reconciler.kinds.primitives.words import consent_to, some

STARTS = ("opt_start_seq", "opt_start_time", "consumer")
Source = Mapping[str, Json]


def copied_again(family: str) -> Rule:
    """The 304 of a family."""

    def judge(change: Change, view: View) -> Found:
        """A source gets another filter or other transforms, and what it copied is copied once more.

        To the server that is another source. Unless it says where to start, it begins with the first message that its origin
        stores, also with those that are there already: consumers get them twice, and old values of a key follow newer ones.

        Instead: give the source `opt_start_seq` or `opt_start_time`, from where on it shall copy; or declare a second stream.
        """
        return list(_again(family, change, view))

    return rule(f"{family}304", "source-copied-again", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)(
        judge
    )


def _again(family: str, change: Change, view: View) -> Iterator[Finding]:
    before = _sources(change.was("sources"), view)
    for index, source in enumerate(change.becomes("sources") or ()):
        if state_of(change).get("messages") and _is_another(source, before, view):
            yield _flagged(f"{family}304", index, source, _stored(source, view))


def _is_another(source: Source, before: Mapping[object, Source], view: View) -> bool:
    """Not there yet, and without a start, but another copied some of the same."""
    if identity(source, view.target.version) in before or any(start in source for start in STARTS):
        return False
    return any(_is_of_the_same(source, other) for other in before.values())


def _flagged(code: str, index: int, source: Source, stored: int | None) -> Finding:
    name = source["name"]
    many = "every message" if stored is None else f"up to {some(stored, 'message')}"
    return Finding(
        outcome=Outcome.NEEDS_CONSENT,
        path=f"sources[{index}].name",
        to=name,
        quantities={} if stored is None else {"messages": stored},
        message=f"with another filter or other transforms it is another source, which begins at the first message of {name}: "
        f"{many} of it would be copied once more",
        fix=f"give it opt_start_seq or opt_start_time, or consent here: {consent_to(code, name)}",
    )


def _sources(said: Sequence[Source] | None, view: View) -> dict[object, Source]:
    return {identity(source, view.target.version): source for source in said or ()}


def _is_of_the_same(source: Source, other: Source) -> bool:
    """Both may have copied the same messages."""
    return origin_of(source) == origin_of(other) and any(
        collide(mine, theirs) for mine in taken_subjects(source) for theirs in taken_subjects(other)
    )


def _stored(source: Source, view: View) -> int | None:
    """What its origin has; None where that lies elsewhere, or was not seen."""
    there = view.snapshot.streams.get(source["name"]) if view.snapshot and "external" not in source else None
    return int(there["state"].get("messages", 0)) if there else None


def left_behind(family: str, own: OwnName = as_named) -> Rule:
    """The 305 of a family; `own` gives a kind's name of its stream."""

    def judge(change: Change, view: View) -> Found:
        """A source is taken off while it has still to be copied from: the rest never comes.

        How much that is a server does not count exactly. What is left stays with the origin, as long as that keeps it.

        Instead: take it off when `nats stream info` shows no lag.
        """
        return list(_left(change, own(change.address.name), view))

    return rule(f"{family}305", "source-left-behind", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)(
        judge
    )


def _left(change: Change, stream: str, view: View) -> Iterator[Finding]:
    info = view.snapshot.streams.get(stream, {}) if view.snapshot else {}
    staying = [origin_of(source) for source in change.becomes("sources") or ()]
    for told in (info.get("sources") or ()) if change.touches("sources") else ():
        if told.get("lag") and origin_of(told) not in staying:
            yield Finding(
                outcome=Outcome.WARNS,
                path="sources",
                quantities={"left": told["lag"]},
                message=f"source {told['name']} is taken off when {stream} is at least {some(told['lag'], 'message')} behind: "
                "the rest of it never comes",
                fix=f"take it off when `nats stream info {stream}` shows no lag",
            )
