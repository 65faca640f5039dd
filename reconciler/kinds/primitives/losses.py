"""Lowered limits: the server removes what no longer fits at once. What live state says about how much that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from reconciler.core.diff import Action, Change
from reconciler.core.resource import Json
from reconciler.core.rule import Finding, Found, Outcome, Reaction, Rule, View, rule
from reconciler.kinds.primitives.values import show_duration
from reconciler.kinds.primitives.words import age, consent_to, size, some

Loss = tuple[str, dict[str, int]]
OwnName = Callable[[str], str]


def limit_lowered(family: str, own: OwnName = lambda field: field) -> Rule:
    """The 301 of a family; `own` gives a kind's name for a stream's field."""

    def judge(change: Change, _view: View) -> Found:
        """A limit is lowered below what is stored: the server removes the surplus at once, before any consumer reads it.

        Only changes that can remove something are flagged; the numbers come from live state.

        Instead: let it shrink first, or consent with the value: `allow: [{code: …301, to: …, reason: …}]`.
        """
        return list(_findings(change))

    def _findings(change: Change) -> Iterator[Finding]:
        for field, loss_of in LOSSES.items():
            path = own(field)
            if _is_lowered(change, path) and (loss := loss_of(change, path, _state(change))):
                yield Finding(
                    outcome=Outcome.NEEDS_CONSENT,
                    path=path,
                    to=change.becomes(path),
                    message=loss[0],
                    quantities=loss[1],
                    fix=f"consent here if that is meant: {consent_to(f'{family}301', change.becomes(path), _unit(change, path))}",
                )

    return rule(f"{family}301", "limit-lowered", on=(Action.UPDATE,), needs=("live",), reaction=Reaction.HARMS)(judge)


def _unit(change: Change, path: str) -> str:
    found = change.field(path)
    return found.info.unit if found else "text"


def _state(change: Change) -> Mapping[str, Json]:
    state: Mapping[str, Json] = change.live.state.get("state", {}) if change.live else {}
    return state


def _is_lowered(change: Change, path: str) -> bool:
    if not change.touches(path):
        return False
    before, after = change.was(path), change.becomes(path)
    return after is not None and (before is None or after < before)


def _fewer_messages(change: Change, path: str, state: Mapping[str, Json]) -> Loss | None:
    surplus = state.get("messages", 0) - change.becomes(path)
    if surplus <= 0 or _keeps_old(change):
        return None
    return f"{some(surplus)} of {some(state['messages'], 'message')} go at apply", {"messages": surplus}


def _fewer_bytes(change: Change, path: str, state: Mapping[str, Json]) -> Loss | None:
    surplus = state.get("bytes", 0) - change.becomes(path)
    if surplus <= 0 or _keeps_old(change):
        return None
    return f"{size(surplus)} of {size(state['bytes'])} go at apply, the oldest messages first", {"bytes": surplus}


def _younger(change: Change, path: str, state: Mapping[str, Json]) -> Loss | None:
    oldest = _oldest_age(change, state)
    if not state.get("messages") or oldest is None or oldest <= change.becomes(path):
        return None
    return (
        f"messages older than {show_duration(change.becomes(path))} go at apply; the oldest of "
        f"{some(state['messages'], 'message')} is {age(oldest)} old, how many are too old was not counted",
        {},
    )


def _fewer_per_subject(change: Change, path: str, state: Mapping[str, Json]) -> Loss | None:
    limit, messages = change.becomes(path), state.get("messages", 0)
    if messages <= limit or change.becomes("discard_new_per_subject"):
        return None
    sure = max(0, messages - limit * state.get("num_subjects", messages))
    if not sure and state.get("num_subjects") == messages:
        return None  # one message each: nothing is above the limit
    return f"at least {some(sure)} of {some(messages, 'message')} go at apply; how many more was not counted", {
        "messages": sure
    }


def _keeps_old(change: Change) -> bool:
    """With discard new the server keeps what is there and refuses what comes; buckets never show their discard."""
    raw = change.live.state.get("config", {}) if change.live else {}
    return bool((change.becomes("discard") if change.touches("discard") else raw.get("discard")) == "new")


LOSSES: Mapping[str, Callable[[Change, str, Mapping[str, Json]], Loss | None]] = {
    "max_age": _younger,
    "max_msgs": _fewer_messages,
    "max_bytes": _fewer_bytes,
    "max_msgs_per_subject": _fewer_per_subject,
}


def _oldest_age(change: Change, state: Mapping[str, Json]) -> int | None:
    """Nanoseconds between the first stored message and the server's own clock when it answered."""
    asked, first = (change.live.state.get("ts") if change.live else None), state.get("first_ts")
    if not asked or not first:
        return None
    return int((_instant(asked) - _instant(first)).total_seconds() * 1e9)


def _instant(text: str) -> datetime:
    """To the second; the server writes nanoseconds, which no datetime holds."""
    return datetime.fromisoformat(text[:19] + "+00:00")
