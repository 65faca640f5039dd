"""What two headers do in the copies of a stream. `Nats-Rollup` deletes what a copy stores, if that has `allow_rollup_hdrs`:
the marker of what has expired carries it. `Nats-TTL` ends messages there only with `allow_msg_ttl`.

Measured on 2.11, 2.12, 2.14 and 2.15, for mirrors and sources: without `allow_rollup_hdrs` a copy stores no message
with `Nats-Rollup` before 2.14, so that its own copies get none either, and most stop there (XX214). From 2.14 on it
stores them as any other. Schedules are never sent by a copy, and counters count in it only with the same setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from reconciler.changes.amount import Amount
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.verdict import Finding, Outcome
from reconciler.changes.view import View
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.fields.words import amount, consent_to, listed_few, verb
from reconciler.kinds.losses import dependants
from reconciler.kinds.losses.added_sources import new_sources, sources_of_new_streams
from reconciler.kinds.losses.over_limit import OwnName, as_named, is_lowered, stream_of
from reconciler.kinds.losses.unwanted import config_afterwards
from reconciler.kinds.stream_config.origins import copies_afterwards, given_subjects, origin_names
from reconciler.kinds.subjects.subject_lists import any_collide
from reconciler.model.fields import Unit
from reconciler.model.resource import Address, Config, Json

ROLLS_UP, ENDS, MARKS = "allow_rollup_hdrs", "allow_msg_ttl", "subject_delete_marker_ttl"


def _has_flag(flag: str, stream: str, view: View) -> bool:
    return bool((config_afterwards(stream, view) or {}).get(flag))


def _stores_rollups(stream: str, view: View) -> bool:
    return view.target.version >= V2_14 or _has_flag(ROLLS_UP, stream, view)


def _stores_markers(stream: str, view: View, through: Sequence[str] = ()) -> bool:
    """Its own, or those that come from an origin."""
    config = config_afterwards(stream, view) or {}
    if config.get(MARKS):
        return True
    origins = origin_names(config) if _stores_rollups(stream, view) and stream not in through else ()
    return any(_stores_markers(origin, view, (*through, stream)) for origin in origins)


def streams_storing_markers(origin: str, view: View) -> list[str]:
    """Live streams that store the markers of this one: copies, and copies of these."""
    return _copies_behind(origin, view, lambda name: _stores_rollups(name, view))


def _copies_behind(origin: str, view: View, passes_on: Callable[[str], bool]) -> list[str]:
    reached, todo = list[str](), [origin]
    while todo:
        through = todo.pop(0)
        for name in sorted(copies_afterwards(through, view)):
            copies = through in origin_names(config_afterwards(name, view) or {})
            if copies and name not in (origin, *reached) and name in view.snapshot.streams and passes_on(name):
                reached.append(name)
                todo.append(name)
    return reached


class _Cause(NamedTuple):
    """Why markers begin to delete what copies store."""

    path: str
    to: Json
    unit: Unit
    where: str
    """Where messages expire."""
    copies: Sequence[str]


def rollup_findings(change: Change, view: View, own: OwnName, code: str) -> Iterator[Finding]:
    """Copies lose what they hold of a subject when its last message expires at their origin."""
    for cause in (*_causes_at_origin(change, view, own), *_causes_at_copy(change, view)):
        losing = [name for name in cause.copies if _may_lose_by_rollup(name, view)]
        most = Amount(0, sum(view.snapshot.state_of(name)["messages"] for name in losing))
        if losing:
            yield Finding(
                outcome=Outcome.NEEDS_CONSENT,
                path=cause.path,
                to=cause.to,
                message=f"when the last message of a subject expires{cause.where}, its marker carries `Nats-Rollup`: "
                f"{listed_few(losing)} then {verb(len(losing), 'delete')} everything stored there of that subject, "
                f"{amount(most, 'message')}",
                quantities={"messages": most},
                affects=_affected_addresses(losing, view),
                fix="copy what must stay to a stream without allow_rollup_hdrs first; or consent here if that is meant: "
                f"{consent_to(code, cause.to, cause.unit)}",
            )


def _affected_addresses(losing: Sequence[str], view: View) -> Sequence[Address]:
    readers = (address for name in losing for address in dependants.everybody(name, view))
    return list(dict.fromkeys((*dependants.streams(losing, view), *readers)))


def _may_lose_by_rollup(stream: str, view: View) -> bool:
    """Does it hold anything that stays longer than at the origin?"""
    config = config_afterwards(stream, view) or {}
    age, origin_ages = config.get("max_age") or 0, [_age_of(name, view) for name in origin_names(config)]
    is_as_old = bool(origin_ages) and not config.get("subjects") and all(0 < age <= theirs for theirs in origin_ages)
    return _has_flag(ROLLS_UP, stream, view) and bool(view.snapshot.state_of(stream).get("messages")) and not is_as_old


def _age_of(stream: str, view: View) -> int:
    return int((config_afterwards(stream, view) or {}).get("max_age") or 0)


def _causes_at_origin(change: Change, view: View, own: OwnName) -> Iterator[_Cause]:
    """It begins to store markers, or with markers more expires."""
    marker, age = own(MARKS), own("max_age")
    begins = bool(change.becomes(marker)) and not change.was(marker)
    if begins or (change.becomes(marker) and is_lowered(change, age)):
        path = marker if begins else age
        copies = streams_storing_markers(stream_of(change), view)
        yield _Cause(path, change.becomes(path), "duration", "", copies)


def _causes_at_copy(change: Change, view: View) -> Iterator[_Cause]:
    """It begins to obey markers, or to copy from a stream that stores some."""
    stream = stream_of(change)
    behind = [stream, *streams_storing_markers(stream, view)]
    if change.touches(ROLLS_UP) and change.becomes(ROLLS_UP) and _copies_markers(stream, view):
        copies = behind[:1] if view.target.version >= V2_14 else behind
        yield _Cause(ROLLS_UP, True, "flag", " at its origin", copies)
    for source in (*new_sources(change, view), *sources_of_new_streams(change, view)):
        if _stores_markers(source.origin, view) and _may_overlap_stored(given_subjects(source.source), change, view):
            yield _Cause(f"{source.path}.name", source.origin, "text", f" in {source.origin}", behind)


def _copies_markers(stream: str, view: View) -> bool:
    return any(_stores_markers(origin, view) for origin in origin_names(config_afterwards(stream, view) or {}))


def _may_overlap_stored(given: Sequence[str], change: Change, view: View) -> bool:
    """May the stream hold messages under subjects that a source gives to what it brings?"""
    config = view.snapshot.config_of(stream_of(change))
    if (config.get("subject_transform") or {}).get("dest"):
        return True
    held = [
        *(config.get("subjects") or ()),
        *(part for source in config.get("sources") or () for part in given_subjects(source)),
    ]
    return any_collide(given, held)


def outlasting_text(change: Change, view: View) -> str:
    """What copies keep when a stream begins to let messages end by `Nats-TTL`, in words; empty: nothing."""
    stream = stream_of(change)
    cleared = {
        name
        for name in streams_storing_markers(stream, view)
        if _stores_markers(stream, view) and _has_flag(ROLLS_UP, name, view)
    }
    keeping = [
        name
        for name in _copies_behind(stream, view, lambda _name: True)
        if not _has_flag(ENDS, name, view) and name not in cleared
    ]
    if not keeping:
        return ""
    return (
        f"{listed_few(keeping)} {verb(len(keeping), 'have')} no allow_msg_ttl, and {verb(len(keeping), 'keep')} messages whose "
        f"`Nats-TTL` has ended here{_advice_to_end(keeping, view)}"
    )


def _advice_to_end(keeping: Sequence[str], view: View) -> str:
    """The queue of a group takes no such setting."""
    addresses = dependants.streams(keeping, view)
    return "" if all(address.kind == "elastic_group" for address in addresses) else ": write allow_msg_ttl there, too"


def unheeding_text(change: Change, view: View) -> str:
    """Copies in which `Nats-Rollup` deletes nothing, in words; empty: none."""
    names = [name for name in sorted(copies_afterwards(stream_of(change), view)) if not _has_flag(ROLLS_UP, name, view)]
    names = [name for name in names if name in view.snapshot.streams]
    return (
        f"messages with `Nats-Rollup` delete nothing in {listed_few(names)}{_unstored_text(names, view)}"
        if names
        else ""
    )


def _unstored_text(names: Sequence[str], view: View) -> str:
    """Before 2.14 copies without `allow_rollup_hdrs` do not even store them, and most stop (XX214)."""
    who = f"which {verb(len(names), 'have')} no allow_rollup_hdrs"
    return f", {who}" if view.target.version >= V2_14 else f", {who} and {verb(len(names), 'do')} not store them"


def new_copy_consequences(change: Change, view: View, family: str, own: OwnName = as_named) -> Iterator[Consequence]:
    """What these headers do in a copy that is created."""
    stream = view.stream_of(change.address)
    if change.action is Action.CREATE and stream:
        code = f"{family}301"
        notes = (note for origin in origin_names(_copying_config(change, own)) for note in _notes(stream, origin, view))
        yield from (Consequence(message=f"{note} ({code})", code=code) for note in notes)


def _copying_config(change: Change, own: OwnName) -> Config:
    return {name: change.becomes(own(name)) for name in ("mirror", "sources")}


def _notes(stream: str, origin: str, view: View) -> Iterator[str]:
    is_marked = _has_flag(ROLLS_UP, stream, view) and _stores_markers(origin, view)
    if is_marked:
        yield f"when the last message of a subject expires in {origin}, its marker deletes what is stored here of it"
    if _has_flag(ENDS, origin, view) and not (is_marked or _has_flag(ENDS, stream, view)):
        yield f"without allow_msg_ttl it keeps messages whose `Nats-TTL` has ended in {origin}"
    if _has_flag(ROLLS_UP, origin, view) and not _has_flag(ROLLS_UP, stream, view):
        does = "are stored here and delete nothing" if view.target.version >= V2_14 else "are not stored here"
        yield f"without allow_rollup_hdrs messages of {origin} with `Nats-Rollup` {does}"
