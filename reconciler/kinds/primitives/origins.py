"""The origins of mirrors and sources: what they lend to those that copy them, and what is taken of them."""

from __future__ import annotations

from reconciler.core.kind import Context
from reconciler.core.resource import Config
from reconciler.kinds.primitives.stream_settle import canonical


def origin_of_mirror(body: Config, context: Context) -> Config | None:
    """As it will be where it is declared, else as it is live; None where there is no mirror, or no such stream."""
    mirror = body.get("mirror")
    if not mirror:
        return None
    if mirror["name"] in context.lent:
        return context.lent[mirror["name"]]
    info = context.snapshot.streams.get(mirror["name"]) if context.snapshot else None
    return canonical(info["config"]) if info else None


def taken_subjects(copied: Config) -> list[str]:
    """The subjects of its origin that a mirror or a source takes."""
    if copied.get("filter_subject"):
        return [copied["filter_subject"]]
    return [one.get("src") or ">" for one in copied.get("subject_transforms") or ()] or [">"]
