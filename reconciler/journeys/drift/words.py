"""Drift in words: what happened to an object or a field, and who did it."""

from __future__ import annotations

from reconciler.journeys.drift.drift import UNREMEMBERED, FieldDrift, Item, Standing
from reconciler.report.words.values import show_live, show_side, show_wanted
from reconciler.report.words.visible import visible
from reconciler.server.wire.audit import Attribution


def item_sentence(item: Item) -> str:
    """Return what happened to the whole object, who did it, and what was lost with it."""
    sentence = item.reason or _SAYS.get(item.standing, "")
    by = author(item)
    happened = f"{sentence}, by {_author_text(by)}" if sentence and by else sentence
    deleted = f"the old one was deleted by {_author_text(item.deleted_by)}" if item.deleted_by else ""
    return "; ".join(filter(None, (happened, deleted, *item.lost)))


def author(item: Item) -> Attribution | None:
    """Return who did it; nobody is unknown where nothing tells that anybody did."""
    return item.by if item.by and (item.by.actor or item.owned) else None


_SAYS = {
    Standing.UNKNOWN: "its live state is unknown",
    Standing.ORPHANED: "owned and live, but no longer declared; an entry in `removed` deletes it, one in `forget` gives up ownership",
}


def field_sentence(field: FieldDrift) -> str:
    """Describe one field: `max_age 7d → 3d, changed outside`."""
    return f"{field.path} {' → '.join(values_of(field))}, {drift_words(field)}"


def values_of(field: FieldDrift) -> tuple[str, str]:
    """Return the applied value and the live one; for a change that waits to be applied, the live one and the file's."""
    if not field.drifted:
        return show_live(field.change), show_wanted(field.change)
    is_as_now = field.applied == field.change.desired
    applied = show_wanted(field.change) if is_as_now else show_side(field.applied, field.change.info)
    return applied, show_live(field.change)


def drift_words(field: FieldDrift) -> str:
    """Say how a field came to differ, and by whom."""
    sentence = field.cause
    if not field.is_drift:
        return sentence
    if field.by and (field.by.actor or sentence != UNREMEMBERED):
        sentence += f" by {_author_text(field.by)}"
    if field.applied != field.change.desired:
        sentence += f"; the file now says {show_wanted(field.change)}"
    return f"{sentence}; no apply puts it back" if field.stays else sentence


def _author_text(by: Attribution) -> str:
    if by.actor is None:
        return "unknown"
    actor = by.actor
    inside = ", ".join(part for part in (f"user {actor.user}" if actor.user else "", actor.host) if part)
    client = actor.client or "a client without a name"
    return visible(f"{client}{f' ({inside})' if inside else ''}, {_time_to_the_second(actor.at)}")


def _time_to_the_second(moment: str) -> str:
    """`2026-11-21T03:43:22.899155069Z` → `2026-11-21 03:43:22Z`"""
    seconds, dot, _ = moment.partition(".")
    return f"{seconds.replace('T', ' ')}Z" if dot else moment.replace("T", " ")
