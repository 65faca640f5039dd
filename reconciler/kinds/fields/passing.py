"""Values that only an apply writes, for a moment. If it is interrupted there, they stay until the next one."""

from __future__ import annotations

PARKED = "_parked"
"""The beginning of a subject without messages, for an object that has no other."""

HELD = "2100-01-01T00:00:01Z"
"""Until when a consumer is paused while it moves. People write round times."""
