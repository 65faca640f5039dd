"""How much room bucket `reconciler` asks for where the account wants every stream bounded."""

from __future__ import annotations

from reconciler.model.wire.snapshot import Target

MOST = 64 << 20
"""Bytes for some 100,000 records."""
LEAST = 64 << 10
"""Bytes for some 100 records. With less, the bucket would be full before it is of use."""
SHARE = 16
"""The bucket asks for one part in so many of what the account may store."""


def replicas(target: Target) -> int:
    """Three where there are three peers. A cluster does not say how many it has."""
    return 1 if target.peers is not None and target.peers < 3 else 3


def reserved_bytes(target: Target) -> int:
    """Bytes that one replica reserves; 0 where a stream needs no limit."""
    limits = target.limits
    if not limits.get("max_bytes_required"):
        return 0
    whole, one_stream = limits.get("max_storage", -1), limits.get("storage_max_stream_bytes") or -1
    share = max(LEAST, whole // SHARE) if whole >= 0 else MOST
    return min(MOST, share, one_stream if one_stream > 0 else MOST)
