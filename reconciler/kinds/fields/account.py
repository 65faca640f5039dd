"""What the account allows: one set of limits, or one for each number of replicas."""

from __future__ import annotations

from reconciler.model.resource import Config
from reconciler.model.wire.snapshot import Target


def account_limits(target: Target, replicas: int) -> Config | None:
    """The limits for something with this many replicas; None: a tiered account without that tier."""
    tiers = target.usage.get("tiers")
    if not tiers:
        return target.limits
    tier = tiers.get(f"R{replicas}")
    return None if tier is None else tier.get("limits") or {}
