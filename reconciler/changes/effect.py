"""An effect is what clients experience when a field changes: on which side, for which ways of change, and under which condition."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json


class Side(StrEnum):
    """The part of an account's traffic on which an effect shows."""

    PUBLISHERS = "publishers"
    READERS = "readers"
    DIRECT_GETS = "direct gets"
    STORED = "stored messages"
    POSITIONS = "positions"
    COPIES = "copies"
    DELETIONS = "deletions and purges"


class Way(StrEnum):
    """How the value of a field moves. A limit is set when there was none before, and unset when there is none afterwards."""

    SET = "set"
    UNSET = "unset"
    RAISED = "raised"
    LOWERED = "lowered"
    SWITCHED = "switched"


ANY_WAY = frozenset(Way)
NOTHING: tuple[Json, ...] = (None, False, "", 0, -1)
"""Values that mean that a field is not set: no limit, not switched on."""


def way(before: Json, after: Json, nothing: Iterable[Json] = NOTHING) -> Way:
    """The way from one value to a different one; `nothing` lists the values that mean that the field is not set."""
    absent = list(nothing)
    was, will_be = (_counts_as_unset(value, absent) for value in (before, after))
    if was != will_be:
        return Way.SET if was else Way.UNSET
    if _is_number(before) and _is_number(after):
        return Way.RAISED if after > before else Way.LOWERED
    return Way.SWITCHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a change of one field does to clients, as a table states it once for rules and documentation."""

    sides: frozenset[Side]
    ways: frozenset[Way] = ANY_WAY
    condition: str = ""
    """The live condition under which it happens, in words; empty when it always happens."""
    sentence: str
    """What a page prints."""


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _counts_as_unset(value: Json, values: Iterable[Json]) -> bool:
    """Compared with their types, since Python takes False for 0."""
    return any(type(value) is type(other) and value == other for other in values) or value in ([], {})
