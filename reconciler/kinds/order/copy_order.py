"""Copies that move between streams, that begin beside consumers of what they copy, or that fill a queue again.

A server that checks a stream walks everything that it copies, and refuses a stream that it meets again (10052). While some
streams already copy what they will, and others still copy what they did, the server may meet a stream that it never would
before or afterwards. So a stream is written after the streams upstream that stop copying: what is left then is part of what
is wanted.

What is copied from a queue is deleted there, so its new consumers come before its new copies. Servers up to 2.12 refuse them
beside a copy (10099, 10100). A new queue of a group copies from its source what the old one held, so the source keeps
everything until the new queue has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.change import Action, Change
from reconciler.changes.stages import BETTER, NEEDED, FirstStage, Tie
from reconciler.changes.view import View
from reconciler.kinds.afterwards.streams import config_of, copies, live_streams
from reconciler.kinds.elastic_group import refilling
from reconciler.kinds.fields.known import V2_14
from reconciler.kinds.losses.added_sources import deletes_copied
from reconciler.kinds.order.subject_handovers import parked_subjects
from reconciler.kinds.stream_config.new_copies import new_reads
from reconciler.kinds.stream_config.stream_settle import duplicate_window_after
from reconciler.kinds.subjects.filters import filters_of
from reconciler.kinds.subjects.subject_lists import intersections
from reconciler.model.resource import Config

Origins = Mapping[str, set[str]]
"""What each stream copies, by its name."""


def ties(view: View) -> Iterator[Tie]:
    """Copies that move, copies of a stream that deletes what is copied, and queues that are filled again."""
    yield from _ties_of_moving_copies(view)
    yield from _ties_of_consumers_and_copies(view)
    yield from _ties_of_new_queues(view)


def _ties_of_moving_copies(view: View) -> Iterator[Tie]:
    """(stream that stops copying, every stream that copies from there) if anything on the way gets a new copy."""
    writing = {
        view.stream_of(change.address) or "": change
        for change in view.changes.values()
        if change.action.writes and view.is_stream(change.address)
    }
    held: Origins = {name: _origins_in_config(_live_config(change)) for name, change in writing.items()}
    wanted: Origins = {name: _origins_after(change, view) for name, change in writing.items()}
    giving = {name for name in writing if held[name] - wanted[name]}
    taking = {name for name in writing if wanted[name] - held[name]}
    if not (giving and taking):
        return
    every = {name: _origins_in_config(config) for name, config in live_streams(view).items()}
    every |= {name: every.get(name, set()) | origins for name, origins in wanted.items()}
    for name, change in writing.items():
        upstream = _upstream(name, wanted[name], every)
        if change.action is not Action.DELETE and upstream & taking:
            for giver in sorted(upstream & giving - {name}):
                yield Tie(writing[giver].address, change.address, gives=_given_field(writing[giver]))


def _live_config(change: Change) -> Config:
    return change.live.state.get("config", {}) if change.live else {}


def _origins_after(change: Change, view: View) -> set[str]:
    return set() if change.action is Action.DELETE else _origins_in_config(config_of(change, view))


def _origins_in_config(config: Config) -> set[str]:
    return {copy.origin for copy in copies("", config)}


def _upstream(name: str, origins: set[str], every: Origins) -> set[str]:
    """The stream itself, and everything that it will copy, directly or through others."""
    seen, todo = {name} | origins, [*origins]
    while todo:
        new = every.get(todo.pop(), set()) - seen
        seen |= new
        todo += new
    return seen


def _given_field(giver: Change) -> str:
    """A mirror ends as a whole, and everything it waits for comes first."""
    return "sources" if _live_config(giver).get("sources") else ""


def _stage_with_kept_sources(change: Change, view: View) -> FirstStage | None:
    """The sources that stay; if there are none and no subjects either, a subject that nobody publishes to."""
    config, wanted = _live_config(change), _origins_after(change, view)
    held = config.get("sources") or []
    kept = [source for source in held if source["name"] in wanted]
    lost = sorted({source["name"] for source in held} - wanted)
    subjects = None if kept or config.get("subjects") else parked_subjects(change.address, view)
    if not (kept or config.get("subjects") or subjects):
        return None
    fields = {"sources": kept or None, **({"subjects": subjects} if subjects else {})}
    return FirstStage(
        fields={**fields, **duplicate_window_after(config, fields, view.target)},
        cost=(int(bool(subjects)), 0),
        effect=f"stop copying {', '.join(lost)} on stream {view.stream_of(change.address)}, so that another stream can copy it",
    )


def _ties_of_consumers_and_copies(view: View) -> Iterator[Tie]:
    """(consumer, copy) where both want the same messages of such a stream."""
    weak = NEEDED if view.target.version < V2_14 else BETTER
    for change in view.changes.values():
        if not change.action.writes or change.action is Action.DELETE or view.stream_of(change.address) is None:
            continue
        for read in new_reads(change, view):
            for consumer in view.children(read.stream, "consumer") if deletes_copied(read.stream, view) else ():
                is_written = consumer.action.writes and consumer.desired is not None
                if (
                    is_written
                    and consumer.desired
                    and intersections(filters_of(consumer.desired.config), read.subjects)
                ):
                    yield Tie(consumer.address, change.address, weak=weak)


def _ties_of_new_queues(view: View) -> Iterator[Tie]:
    """A group with a new queue comes before the change that deletes messages of its source."""
    for change in view.changes.values():
        if above := refilling.source_losing_messages(change, view):
            yield Tie(change.address, above)


FIRST_STAGES = {"sources": _stage_with_kept_sources}
