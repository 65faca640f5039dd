"""Exit codes, the same for every command. Where several hold, USAGE > FAILED > REFUSED > DRIFT > PENDING > FINE."""

from __future__ import annotations

from collections.abc import Iterable

FINE = 0
FAILED = 1
"""Could not do it: files wrong, connection, a step failed, a needed scope unknown."""
PENDING = 2
"""Changes pending; only with --exit-code."""
DRIFT = 3
"""What is live is not as it should be; of groups only with --exit-code."""
REFUSED = 4
"""Refused, or consent is missing."""
USAGE = 64
INTERRUPTED = 130
_WORST = (INTERRUPTED, USAGE, FAILED, REFUSED, DRIFT, PENDING, FINE)


def worst(codes: Iterable[int]) -> int:
    """That of a command which did several things."""
    return min(codes, key=_WORST.index, default=FINE)
