"""The clients of a consumer with priority groups: how many wait, which is pinned since when, and what a switch does to
them."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.changes.diff import Change
from reconciler.kinds.fields.times import ZERO, between
from reconciler.kinds.fields.words import age, some, verb
from reconciler.model.resource import Json
from reconciler.model.units import show_duration

TWO_MINUTES = 120_000_000_000
"""The server's priority_timeout of a pinned_client consumer that names none."""


def who_suffers(change: Change, whose: str) -> str:
    """What the live consumer says about its clients. `whose`: which of them fail, as words after "clients"."""
    info = change.live.state if change.live else {}
    waiting = info.get("num_waiting", 0)
    requests = f"{some(waiting, 'pull request')} {verb(waiting, 'are')} waiting on it"
    clients = requests if waiting else "No pull request is waiting on it now"
    fate = f"clients {whose} fail on their next pull"
    if change.was("priority_policy") != "pinned_client":
        return f"{clients}; {fate}."
    if not (pinned := _pinned(info)):
        return f"{clients}; {fate}."
    timeout = show_duration(change.was("priority_timeout") or TWO_MINUTES)
    return f"{clients}{pinned}; {fate}. Apply releases the pin, which would block the others for up to {timeout}."


def _pinned(info: Mapping[str, Json]) -> str:
    for group in info.get("priority_groups") or ():
        if group.get("pinned_client_id"):
            since, now = group.get("pinned_ts", ZERO), info.get("ts")
            long = f" (for {age(between(since, now))} now)" if now and since != ZERO else ""
            return f", and one client is pinned for group {group['group']}{long}"
    return ""


def groups_gone(change: Change) -> list[str]:
    """Priority groups of the live consumer that it no longer has. One that is added takes nothing from the others."""
    kept = change.becomes("priority_groups") or ()
    return [group for group in change.was("priority_groups") or () if group not in kept]


def quantities(change: Change) -> dict[str, int]:
    """How many pull requests wait on the live consumer; empty if none does."""
    info = change.live.state if change.live else {}
    return {"waiting": info["num_waiting"]} if info.get("num_waiting") else {}
