"""`groups plan-members`: what another membership would move, member by member, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.changes.plan import PlannedChange
from reconciler.model.resource import Json
from reconciler.report.document.blocks import block
from reconciler.report.document.entries import ChangeEntry, section_of
from reconciler.report.document.partitions import ranges
from reconciler.report.words.paper import Paper
from reconciler.report.words.table import table
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible

OFFLINE = "From the files alone, as if the group were live as declared: queued and in-flight messages are unknown."


def members_text(
    change: PlannedChange | None,
    paper: Paper,
    *,
    address: str,
    membership: Mapping[str, Json],
    moved: int,
    least: int | None,
    offline: bool = False,
) -> str:
    """Return the change as a plan shows it, then every member's partitions before and after."""
    if change is None:
        return f"{visible(address)}: nothing would change\n"
    lines = block(ChangeEntry(section=section_of(change), changes=(change,)), paper)
    lines += paper.wrapped(OFFLINE, 4) if offline else []
    lines += _by_member(change)
    if least is not None and least < moved and "members" in membership and not change.is_blocked:
        said = (
            f"With member_mappings only {counted(least, 'partition')} instead of {moved:_} would move: add --mappings."
        )
        lines += ["", *paper.wrapped(said)]
    return "\n".join(lines) + "\n"


def _by_member(change: PlannedChange) -> list[str]:
    sides: Mapping[str, Mapping[str, list[int]]] = next(
        (one.detail["members"] for one in change.consequences if "members" in one.detail), {}
    )
    rows = [[name, ranges(own["now"]) or "none", ranges(own["then"]) or "none"] for name, own in sides.items()]
    return ["", *table([["member", "now", "then"], *rows], indent=4)] if rows else []
