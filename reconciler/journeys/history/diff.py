"""What changed from one run to another, in the form of a plan: `max_age 7d → 3d`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reconciler.changes.change import FieldChange
from reconciler.journeys.history.text import revision
from reconciler.memory.run_changes import ChangesBetween, Differs
from reconciler.report.codec.json import json_text
from reconciler.report.document.fields import field_lines
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import inert, visible

FORMAT = 1
_SIGNS = {"created": "+", "deleted": "-", "replaced": "±", "updated": "~"}


def difference_text(found: ChangesBetween, paper: Paper) -> str:
    """Return what happened to each resource between the two runs, and the runs in between that are not fully known."""
    return inert("\n".join(_lines(found, paper)) + "\n")


def _lines(found: ChangesBetween, paper: Paper) -> Iterator[str]:
    first, last = found.first, found.last
    head = f"run {first.number} → run {last.number} of topology {last.topology}"
    told = [revision(run.begun) or "unknown revision" for run in (first, last)]
    yield paper.paint(visible(f"{head}: {' → '.join(told)}"), "head")
    for one in found.resources:
        yield f"{_SIGNS[one.became]} {visible(one.address)}  {one.became}"
        yield from field_lines(one.fields, paper)
        yield from (f"    {visible(path)}  changed, too long to be kept" for path in one.long)
    if not found.resources:
        yield "Nothing differs." if first.number != last.number else "This is one run; name two."
    for numbers, why in ((found.unsure, "no end of it is known: perhaps not all of its changes were made"),
                         (found.untold, "its changes are not in the journal")):  # fmt: skip
        for number in numbers:
            yield from paper.wrapped(f"run {number}: {why}; see `reconciler history {number}`")


def difference_json(found: ChangesBetween) -> str:
    """Return the same for tools: each field with the value it had and the value it has."""
    return json_text(
        {
            "format": FORMAT, "topology": found.last.topology, "from": found.first.number, "to": found.last.number,
            "resources": [_resource(one) for one in found.resources],
            "unsure": list(found.unsure), "untold": list(found.untold),
        }
    )  # fmt: skip


def _resource(one: Differs) -> dict[str, Any]:
    fields = [_field(field) for field in one.fields]
    said = {"address": one.address, "became": one.became, "fields": fields}
    return {**said, "long": list(one.long)} if one.long else said


def _field(field: FieldChange) -> dict[str, Any]:
    """Leave out the key of an absent value, as in plans."""
    sides = {"from": field.live, "to": field.desired}
    return {"path": field.path, **{name: value for name, value in sides.items() if value is not None}}
