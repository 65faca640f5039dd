"""Waiting for the members of an elastic group to let go of its queue: they end when they see the record gone."""

from __future__ import annotations

from reconciler.core.diff import Change
from reconciler.core.rule import View
from reconciler.core.wire import Call, Step
from reconciler.kinds.elastic_group.derived import stream_name


def members_gone(change: Change, view: View) -> Step:
    """Until nobody reads the queue any more."""
    name = stream_name(*change.address.names)
    return Step(
        id=f"wait for members of {name}",
        call=Call.GATE_CONSUMERS_GONE,
        on=(name,),
        address=str(change.address),
        body={"timeout": _patience(name, view)},
        effect="wait until the members have let go",
    )


LEAST = 10_000_000_000
"""Nanoseconds. Members may have joined since the plan, and finish what they hold first."""


def _patience(name: str, view: View) -> int:
    """Until the slowest is gone: its last pull runs out, then its inactivity threshold begins."""
    consumers = view.snapshot.consumers.get(name, {}).values() if view.snapshot else ()
    longest = max((info["config"].get("inactive_threshold", 0) for info in consumers), default=0)
    return 2 * int(longest) + LEAST
