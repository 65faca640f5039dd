"""Streams that copied from one that is gone: what they skip of the one that apply creates under its name, and what they copy
twice.

A mirror counts on from the last message that it copied; so does a source on servers before 2.15, and nobody can tell where
that is. From 2.15 on a source copies everything of the new stream, also what that has copied again from its own origins.
A mirror has the numbers of its origin: what its copies skip of a new mirror is what they have. A stream with sources gives
other numbers to what it copies again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.effects.surplus import OwnName
from reconciler.kinds.fields.known import V2_15
from reconciler.kinds.fields.words import listed, some
from reconciler.kinds.stream_config.origins import names
from reconciler.model.resource import Config


class Behind(NamedTuple):
    """What live streams that copied from the old one skip of the new one, or copy twice."""

    words: tuple[str, ...] = ()
    skipped: int = 0
    """Messages, at most, as far as anybody can tell."""
    copied: int = 0
    """Messages copied twice, at most."""
    first: int = 0
    """The `first_seq` with which they skip nothing; 0: nobody knows it, or it cannot have one."""
    behind: tuple[str, ...] = ()
    """Their names."""

    @property
    def quantities(self) -> dict[str, int]:
        """Without those that are zero."""
        return {name: number for name, number in (("skipped", self.skipped), ("copied", self.copied)) if number}


def behind(origin: str, change: Change, view: View, own: OwnName, *, is_known: bool) -> Behind:
    """Tell it for the stream `origin` that this change creates.

    `is_known`: the old one is on record. A stream with sources need not have copied from one that is not."""
    old = "the old one" if is_known else "an earlier stream of this name"
    config = {name: change.becomes(own(name)) for name in ("mirror", "sources")}
    mirrors, sourced = _copies(origin, view)
    first, reached = change.becomes(own("first_seq")) or 1, max(mirrors.values(), default=0)
    filled, is_new_server = sum(_stored(name, view) for name in names(config)), view.target.version >= V2_15
    counts_as_before = is_known and _counts_as_before(change, config, reached, view, own)
    late = [] if counts_as_before else [name for name, at in mirrors.items() if at >= first]
    unsure = sourced if first == 1 and not (is_new_server or counts_as_before) else []
    twice = sorted(
        [*([] if counts_as_before else mirrors.keys() - late), *(sourced if is_new_server or first > 1 else [])]
    )
    skipped, copied = reached + 1 - first if late else 0, filled if twice else 0
    again = twice if filled else []
    words = (
        *_of(late, "skips", f"up to the first {some(skipped, 'message')} of the new one", old, is_known=True),
        *_of(unsure, "skips", "as many messages of the new one", old, is_known=is_known),
        *_of(again, "copies", f"up to {some(copied, 'message')} again", old, is_known=is_known),
    )
    can_count_on = late and not (unsure or filled or config["mirror"])
    return Behind(words, skipped, copied, reached + 1 if can_count_on else 0, (*late, *unsure, *again))


def _of(copies: list[str], verb: str, what: str, old: str, *, is_known: bool) -> Sequence[str]:
    """What these streams do, as a sentence; `is_known`: they certainly copied from the old one."""
    if not copies:
        return ()
    do, named = _one(copies, verb), listed(sorted(copies))
    if is_known:
        return (f"{named} copied from {old} and {do} {what}",)
    have, they = ("has", "it") if len(copies) == 1 else ("have", "they")
    return (f"{named} {have} a source of this name: if {they} copied from {old}, {they} {do} {what}",)


def _one(names: Sequence[str], verb: str) -> str:
    """The verb for one of them, or for several."""
    return verb if len(names) == 1 else {"skips": "skip", "copies": "copy"}[verb]


def _counts_as_before(change: Change, config: Config, reached: int, view: View, own: OwnName) -> bool:
    """Is it a mirror of the same stream as the old one, which still has all the numbers that the copies have reached?"""
    mirror, before = config["mirror"], change.on_record.applied.get(own("mirror")) if change.on_record else None
    if not mirror or not before or mirror["name"] != before["name"]:
        return False
    there = view.snapshot.streams.get(mirror["name"])
    return "external" in mirror or bool(there and (there.get("state") or {}).get("last_seq", 0) >= reached)


def _copies(origin: str, view: View) -> tuple[dict[str, int], list[str]]:
    """Live streams that have copied from it and stay: mirrors, with the last of its messages they have, and streams with a
    source of that name."""
    mirrors, sourced = dict[str, int](), list[str]()
    for name, info in view.snapshot.streams.items():
        config, last = info["config"], (info.get("state") or {}).get("last_seq", 0)
        if last and _is(config.get("mirror") or {}, origin):
            mirrors[name] = last
        elif last and any(_is(one, origin) for one in config.get("sources") or ()):
            sourced.append(name)
    return mirrors, sorted(sourced)


def _is(copied: Config, origin: str) -> bool:
    return copied.get("name") == origin and "external" not in copied


def _stored(name: str, view: View) -> int:
    """How many messages a live stream holds."""
    state: Mapping[str, int] = (view.snapshot.streams.get(name) or {}).get("state") or {}
    return state.get("messages", 0)
