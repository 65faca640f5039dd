"""The live origin of a mirror, whose `allow_direct` the server copies; buckets and streams look it up alike."""

from __future__ import annotations

from reconciler.core.resource import Config
from reconciler.core.wire import Snapshot
from reconciler.kinds.primitives.stream_settle import canonical


def live_origin(body: Config, snapshot: Snapshot | None) -> Config | None:
    """Canonical; None where there is no mirror, or nothing is known about its origin."""
    mirror = body.get("mirror")
    info = snapshot.streams.get(mirror["name"]) if mirror and snapshot else None
    return canonical(info["config"]) if info else None
