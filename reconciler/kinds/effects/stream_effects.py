"""What clients experience when a stream changes, as one list: the same for streams, KV buckets and object stores.

What happens to direct gets of a stream, whether the stream answers them or mirrors do in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from reconciler.changes.change import Action
from reconciler.changes.verdict import Finding, Outcome
from reconciler.kinds.effects.effect_rules import MovedField, foretold, note, notes_of
from reconciler.kinds.effects.listeners import (
    consumers_refused,
    copied_at_once,
    copies_stop,
    copies_to_come,
    headers_in_copies,
    leader_changes,
    listeners_fall_silent,
    markers_read,
    stored_elsewhere,
    taken_in_besides,
)
from reconciler.kinds.effects.publishers import (
    deduplication_shortened,
    kinds_of_publish_refused,
    limits_to_come,
    publishers_unanswered,
    publishes_refused,
    queue_drops,
)
from reconciler.kinds.fields.field_effects import value_after
from reconciler.kinds.fields.known import V2_12
from reconciler.kinds.fields.words import listed, some
from reconciler.kinds.losses import over_limit
from reconciler.kinds.losses.over_limit import REFUSING, is_lowered, state_of, stream_of
from reconciler.kinds.losses.shrinking import stream_changes
from reconciler.model.resource import Json


@foretold(605, "direct-gets-refused")
def direct_gets_refused(moved: MovedField) -> Iterable[Finding]:
    """Nobody answers direct gets any more, or a mirror answers them that does not hold all of its origin.

    Clients that read with direct gets get "no responders". Most clients of KV buckets and object stores read like this
    from the moment they open one. If a mirror still answers in its origin's place, this is a note. Any mirror with `mirror_direct` answers
    for its origin, even with a filter or limits of its own: a get of a message it does not hold sometimes finds
    nothing.

    Instead: let these clients read through the stream's leader first.
    """
    if moved.field == "mirror_direct":
        yield from _origin_gets_findings(moved)
    elif not state_of(moved.change).get("messages"):
        yield note("from then on direct gets get an error (no responders)")
    elif mirrors := list(_whole_mirrors_answering(moved, stream_of(moved.change))):
        yield note(
            f"from then on only {listed(mirrors)} answer{'s' if len(mirrors) == 1 else ''} direct gets, with what is copied there"
        )
    else:
        opened = (
            "clients that have opened it read with direct gets, and get an error (no responders) until they reopen it"
        )
        readers = "direct gets get an error (no responders)" if moved.change.address.kind == "stream" else opened
        yield Finding(
            outcome=Outcome.WARNS,
            path=moved.path,
            message=f"{readers}: clients can then read {some(state_of(moved.change)['messages'], 'stored message')} only "
            "through the leader",
            fix="let these clients read through the leader first",
        )


def _origin_gets_findings(moved: MovedField) -> Iterator[Finding]:
    """What happens to direct gets of a mirror's origin."""
    mirror = (moved.change.becomes("mirror") or moved.change.was("mirror")) or {}
    origin = mirror.get("name", "")
    own, snapshot = stream_of(moved.change), moved.view.snapshot
    if value_after(moved.change, moved.path):
        held, all_of_it = (snapshot.state_of(name).get("messages", 0) for name in (own, origin))
        words = (
            f"this mirror answers direct gets of {origin} as well, and holds {some(held)} of its "
            f"{some(all_of_it, 'message')}: gets of the others sometimes find nothing (404)"
        )
        fix = f"remove allow_direct from {origin}, or let the mirror hold all of it"
        yield from [_warning_or_note(moved, words, fix)] if held < all_of_it else []
    elif _answers_direct_gets_itself(moved, origin) or any(
        name != own for name in _whole_mirrors_answering(moved, origin)
    ):
        yield note(
            f"{_from_restart_on_text(moved)}this mirror no longer answers direct gets of its origin {origin}; others still do"
        )
    elif snapshot.config_of(origin).get("allow_direct"):
        return  # the verdict on the origin says that nobody answers any more
    elif origin in snapshot.streams:
        words = f"{_no_responders_text(origin)}, since {origin} has no allow_direct"
        yield _warning_or_note(
            moved, words, f"set allow_direct of {origin}, or let these clients read through the leader first"
        )
    elif "external" not in mirror and state_of(moved.change).get("messages"):
        yield _warning_or_note(
            moved,
            f"{_no_responders_text(origin)}, since there is no {origin}",
            f"let these clients read {own} itself first",
        )


def _no_responders_text(origin: str) -> str:
    return f"direct gets of {origin} get an error (no responders): only this mirror answered them"


def _answers_direct_gets_itself(moved: MovedField, stream: str) -> bool:
    """Does this stream answer direct gets itself, once the plan is applied?"""
    change = stream_changes(moved.view).get(stream)
    if change is not None and change.touches("allow_direct"):
        return bool(change.becomes("allow_direct"))
    return bool(moved.view.snapshot.config_of(stream).get("allow_direct"))


def _warning_or_note(moved: MovedField, words: str, fix: str) -> Finding:
    if late := _from_restart_on_text(moved):
        return note(f"{late}{words}")
    return Finding(outcome=Outcome.WARNS, path=moved.path, message=words, fix=fix)


def _from_restart_on_text(moved: MovedField) -> str:
    """Servers before 2.12 look at a mirror's mirror_direct only when they start."""
    return "from the server's next restart on: " if moved.view.target.version < V2_12 else ""


def _whole_mirrors_answering(moved: MovedField, stream: str) -> Iterator[str]:
    """Mirrors that hold all of this stream and answer in its place, now and after this plan."""
    return (name for name, origin in _mirrors_answering(moved, stream) if not _is_partial(origin))


def _mirrors_answering(moved: MovedField, stream: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Mirrors that answer for this stream, with what they say of it."""
    for name, info in moved.view.snapshot.streams.items():
        config = info.get("config", {})
        origin = config.get("mirror") or {}
        is_of_it = origin.get("name") == stream and not origin.get("external")
        if is_of_it and config.get("mirror_direct") and _goes_on_answering(moved, name):
            yield name, origin


def _goes_on_answering(moved: MovedField, mirror: str) -> bool:
    """Does the plan leave this mirror its answers? Its stream may be a bucket's."""
    change = stream_changes(moved.view).get(mirror)
    if change is None or change.action is not Action.UPDATE:
        return change is None
    ends = any(change.touches(name) and not change.becomes(name) for name in ("mirror", "mirror_direct"))
    return not ends or moved.view.target.version < V2_12


def _is_partial(origin: Mapping[str, Json]) -> bool:
    return bool(origin.get("filter_subject") or origin.get("subject_transforms"))


@notes_of(301)
def kept_by_mirrors(moved: MovedField) -> Iterable[Finding]:
    """A mirror may keep messages that a limit deletes, and still gives them to clients that ask the origin. Clients
    only ask for the last message of each subject."""
    change, path = moved.change, moved.path
    if moved.field == "max_msgs_per_subject" or not is_lowered(change, path) or not state_of(change).get("messages"):
        return
    if not change.becomes("allow_direct") or (moved.field in REFUSING and over_limit.keeps_old_messages(change)):
        return
    most = over_limit.becomes(change, path)
    keeping = [name for name, _ in _mirrors_answering(moved, stream_of(change)) if _keeps_more(name, moved, most)]
    if keeping:
        who = f"{listed(keeping)}, which answer{'s' if len(keeping) == 1 else ''} in its place"
        yield note(f"direct gets sometimes find deleted messages in {who}")


def _keeps_more(mirror: str, moved: MovedField, most: int) -> bool:
    """Is its own limit higher, or none, once this plan is applied?"""
    change = stream_changes(moved.view).get(mirror)
    live = moved.view.snapshot.config_of(mirror)
    touched = (path for path in (moved.path, moved.field) if change and change.touches(path))
    limit = next((change.becomes(path) for path in touched if change), live.get(moved.field)) or 0
    return not 0 < limit <= most


FAMILIES = (
    publishes_refused,
    publishers_unanswered,
    queue_drops,
    deduplication_shortened,
    direct_gets_refused,
    kinds_of_publish_refused,
    listeners_fall_silent,
    stored_elsewhere,
    markers_read,
    consumers_refused,
    copies_stop,
    limits_to_come,
    headers_in_copies,
    kept_by_mirrors,
    copied_at_once,
    copies_to_come,
    taken_in_besides,
    leader_changes,
)
