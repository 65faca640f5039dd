"""The origins of mirrors and sources: as they are live, and what is taken of them."""

from __future__ import annotations

from reconciler.core.resource import Config
from reconciler.core.wire import Snapshot
from reconciler.kinds.primitives.stream_settle import canonical


def live_origin(body: Config, snapshot: Snapshot | None) -> Config | None:
    """Canonical; None where there is no mirror, or nothing is known about its origin."""
    mirror = body.get("mirror")
    info = snapshot.streams.get(mirror["name"]) if mirror and snapshot else None
    return canonical(info["config"]) if info else None


def taken_subjects(copied: Config) -> list[str]:
    """The subjects of its origin that a mirror or a source takes."""
    if copied.get("filter_subject"):
        return [copied["filter_subject"]]
    return [one.get("src") or ">" for one in copied.get("subject_transforms") or ()] or [">"]
