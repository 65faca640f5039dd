"""Exit codes, the same for every command. Where several hold, USAGE > FAILED > REFUSED > DRIFT > PENDING > FINE."""

from __future__ import annotations

from collections.abc import Iterable

FINE = 0
FAILED = 1
"""The command could not work: wrong files, no connection, a failed step, or a needed part of the account is unknown."""
PENDING = 2
"""Changes pending; only with --exit-code."""
DRIFT = 3
"""The live state is not as it should be; for groups only with --exit-code."""
REFUSED = 4
"""Refused, or consent is missing."""
USAGE = 64
INTERRUPTED = 130
_WORST = (INTERRUPTED, USAGE, FAILED, REFUSED, DRIFT, PENDING, FINE)


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of a command that did several things."""
    return min(codes, key=_WORST.index, default=FINE)
