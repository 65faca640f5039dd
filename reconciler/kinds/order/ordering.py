"""What a server accepts only in a certain order, or only in two steps: one table of ties, and of ways to give first.

Each kind of tie has a module of its own with `ties`, which tells which changes give what others take, and `FIRST_STAGES`,
which tells how a change gives one of its fields before it takes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.change import Change
from reconciler.changes.stages import FirstStage, Tie
from reconciler.changes.view import View
from reconciler.kinds.across import filter_handovers, replicas
from reconciler.kinds.order import copy_order, reader_handovers, retention, storage_space, subject_handovers
from reconciler.model.resource import Json

HANDOVERS = (subject_handovers, copy_order, filter_handovers, reader_handovers, retention, storage_space, replicas)
FIRST_STAGES = {field: first_stage_of for module in HANDOVERS for field, first_stage_of in module.FIRST_STAGES.items()}


def ties(view: View) -> Iterator[Tie]:
    """All ties between the changes of a plan; one pair may be tied for several reasons."""
    for module in HANDOVERS:
        yield from module.ties(view)


def first_stage(change: Change, gives: frozenset[str], view: View) -> FirstStage | None:
    """Everything that this change gives, done first; None if some of it cannot be given without taking."""
    parts = [FIRST_STAGES[field](change, view) for field in sorted(gives) if field in FIRST_STAGES]
    possible = [part for part in parts if part is not None]
    if len(possible) < len(gives):
        return None
    fields = {name: value for part in possible for name, value in part.fields.items() if value != change.was(name)}
    if not fields or not _leaves_second_stage(change, fields):
        return None
    return FirstStage(
        fields=fields,
        cost=tuple(map(sum, zip(*(part.cost for part in possible), strict=True))),
        effect="; ".join(part.effect for part in possible),
        consequences=tuple(consequence for part in possible for consequence in part.consequences),
    )


def _leaves_second_stage(change: Change, fields: Mapping[str, Json]) -> bool:
    """Something remains for a second stage, even if it is only that the server fills in what the first stage wrote."""
    tops = {item.top for item in change.fields}
    left_out = change.desired is not None and any(change.desired.leaves_to_server(top) for top in tops)
    return left_out or not tops <= fields.keys() or any(value != change.becomes(top) for top, value in fields.items())
