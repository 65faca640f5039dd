"""Messages that a stream still needs: a schedule is sent later, and the last message of a counter holds its total. Only
headers tell which messages are schedules, so the plan says how many at most.

Limits delete both like other messages, the oldest first; only `max_msgs_per_subject` deletes neither. A schedule is
the last message on its subject, for whatever comes after it there ends it."""

from __future__ import annotations

from collections.abc import Iterator

from reconciler.changes.change import Change
from reconciler.changes.view import View
from reconciler.kinds.fields.words import some
from reconciler.kinds.losses.over_limit import becomes, may_outlast_age, state_of
from reconciler.model.resource import Config
from reconciler.model.units import show_duration

SCHEDULES, COUNTERS = "allow_msg_schedules", "allow_msg_counter"


def _is_flag_set(change: Change, flag: str) -> bool:
    return bool(change.raw.get(flag))


def _most(change: Change) -> int:
    """Of both there is at most one on each subject."""
    state = state_of(change)
    return int(min(messages := state.get("messages", 0), state.get("num_subjects") or messages))


def may_fire(stream: str, view: View, declared: Config | None = None) -> bool:
    """Can stored schedules fire onto subjects that the stream has given up? Only headers tell which messages are schedules, and
    reconciler does not read them. `declared`: what the files say of a stream that was not read."""
    config = view.snapshot.config_of(stream) or declared or {}
    return bool(config.get(SCHEDULES) and (view.target.is_imagined or view.snapshot.state_of(stream).get("messages")))


def aging_count(change: Change) -> int:
    """How many stored schedules or counters a shorter `max_age` deletes one day, at most."""
    return _most(change) if _is_flag_set(change, SCHEDULES) or _is_flag_set(change, COUNTERS) else 0


def limit_text(change: Change, limit: str, path: str) -> str:
    """What a limit that begins to delete means for stored schedules and counters; `path` is the kind's name of it."""
    if limit == "max_age":
        return "".join(f". {text}" for text in _aging_texts(change, path))
    return "" if limit == "max_msgs_per_subject" else "".join(f". {text}" for text in _surplus_texts(change))


def _surplus_texts(change: Change) -> Iterator[str]:
    if _is_flag_set(change, SCHEDULES):
        yield "Schedules among them are never sent"
    if _is_flag_set(change, COUNTERS):
        yield "Counters whose last message goes start again at 0"


def _aging_texts(change: Change, path: str) -> Iterator[str]:
    """A repeating schedule ages as well: what it sends does not renew it. An increment renews its counter."""
    if not (most := _most(change)):
        return
    limit = show_duration(becomes(change, path))
    if _is_flag_set(change, SCHEDULES):
        lasting = ", except with `Nats-TTL: never`" if may_outlast_age(change) else ""
        yield f"Up to {some(most, 'stored message')} may be schedules, which send nothing more once they are {limit} old{lasting}"
    if _is_flag_set(change, COUNTERS):
        yield f"Up to {some(most, 'counter')} may start again at 0: each does when nobody changes it for {limit}"


def deletion_text(change: Change) -> str:
    """What goes with all messages of a stream."""
    parts = ["schedules among them are never sent"] if _is_flag_set(change, SCHEDULES) else []
    parts += ["the totals of its counters go with them"] if _is_flag_set(change, COUNTERS) else []
    return "".join(f"; {part}" for part in parts)


def note_text(change: Change, limit: str) -> str:
    """For a note about messages to come, which may be schedules or counters as soon as the stream takes them."""
    parts, ages = list[str](), limit == "max_age"
    if change.becomes(SCHEDULES) or _is_flag_set(change, SCHEDULES):
        parts += ["schedules that are due later are never sent" if ages else "schedules among them are never sent"]
    if change.becomes(COUNTERS) or _is_flag_set(change, COUNTERS):
        counters = "counters that nobody changes for so long" if ages else "counters whose last message goes"
        parts += [f"{counters} start again at 0"]
    return "".join(f"; {part}" for part in parts)
