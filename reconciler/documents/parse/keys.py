"""The keys at the top of a topology's files that hold no resources."""

from __future__ import annotations

KEYS: tuple[str, ...] = (
    "reconciler", "topology", "include", "parameters", "environments", "environment", "expect", "policies", "allow", "guards", "moved",
    "removed", "forget", "ignore_drift",
)  # fmt: skip

LISTS = ("allow", "guards", "moved", "removed", "forget", "ignore_drift")
"""Those of KEYS that hold entries."""
ANCHORS = "x-"
"""How keys begin that hold nothing of their own: anchors for the rest of the file."""
