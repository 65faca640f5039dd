"""What a placeholder is called: the durable that wants the messages of a consumer on an interest stream while apply replaces it."""

from __future__ import annotations

from hashlib import sha256


def placeholder_name(name: str) -> str:
    """The durable that wants the same messages as long as an interest stream would delete them."""
    return f"{name[:50]}-{sha256(name.encode()).hexdigest()[:8]}-kept"
