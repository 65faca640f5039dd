"""What a plan foretells of clients, by the table of fields alone: which sides each code of a change is about, and which
changes cost nobody anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from reconciler.changes.change import FieldChange
from reconciler.changes.effect import Side, Way, way
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Outcome
from reconciler.kinds import REGISTRY
from reconciler.kinds.fields.field_effects import Felt
from reconciler.kinds.fields.known import known_fields
from reconciler.kinds.stream_config.stream_config import FIELDS
from reconciler.model.resource import Address

SIGNS: Mapping[str, str] = {
    "CO601": "headers only", "CO602": "409 Exceeded", "ST303": "nothing listens", "ST601": "refused 100", "ST602": "answer",
    "ST605": "nothing listens", "ST606": "refused 10",
}  # fmt: skip
"""How an experience ends that one of several codes about a side foretells."""


def sides_by_code(change: PlannedChange) -> dict[str, frozenset[Side]]:
    """Sides by code, of verdicts and of notes."""
    codes = [
        *(verdict.code for verdict in change.verdicts),
        *(consequence.code for consequence in change.consequences if consequence.code),
    ]
    by_code = {code: _sides_of_code(change, code) for code in codes}
    return {code: sides for code, sides in by_code.items() if sides}


def codes_about_side(change: PlannedChange, side: Side) -> Iterator[str]:
    """Codes of a change that are about this side. A replacement is about all sides."""
    replacing = [verdict.code for verdict in change.verdicts if verdict.outcome is Outcome.REPLACES]
    yield from dict.fromkeys([*replacing, *(code for code, sides in sides_by_code(change).items() if side in sides)])


def most_exact_codes(codes: Sequence[str], after: str) -> tuple[str, ...]:
    """The codes that foretell exactly this experience, if there are any; otherwise the codes without such a sign."""
    signs = {code: SIGNS.get(stream_code(code), "") for code in codes}
    exact = [code for code, sign in signs.items() if sign and sign in after]
    return tuple(exact or [code for code, sign in signs.items() if not sign] or codes)


def why_harmless(change: PlannedChange, side: Side) -> str:
    """The reason why a difference on this side costs nobody anything; empty if it may."""
    return next((effect.sentence for _, effect in harmless_effects(change) if side in effect.sides), "")


def harmless_effects(change: PlannedChange) -> Iterator[tuple[str, Felt]]:
    """Effects that cost nobody anything, each with its field."""
    return ((item.top, effect) for item in change.fields for effect in effects_of_field(change, item) if effect.is_gain)


def stream_code(code: str) -> str:
    """The code of the same rule for streams: every kind whose objects are streams uses their numbers."""
    return f"ST{code[2:]}" if code[:2] in _STREAM_FAMILIES else code


_STREAM_FAMILIES = frozenset(kind.family for kind in REGISTRY.kinds if kind.backing is not None)


def _sides_of_code(change: PlannedChange, code: str) -> frozenset[Side]:
    """Sides of the changed fields that this code is about; or else of all fields that it may be about."""
    of_fields = [
        effect for item in change.fields for effect in effects_of_field(change, item) if effect.rule == code[2:]
    ]
    return _sides_of_effects(of_fields) or _sides_of_effects(
        effect for _, effect in effects_of_kind(_kind_of_change(change)) if effect.rule == code[2:]
    )


def _sides_of_effects(effects: Iterable[Felt]) -> frozenset[Side]:
    return frozenset(side for effect in effects for side in effect.sides)


def _kind_of_change(change: PlannedChange) -> str:
    return Address.parse(change.address).kind


def effects_of_field(change: PlannedChange, item: FieldChange) -> Iterator[Felt]:
    """Effects of a field that changes in this way."""
    moves = _way_of_field(item)
    yield from (
        effect for name, effect in effects_of_kind(_kind_of_change(change)) if name == item.top and moves in effect.ways
    )


def _way_of_field(item: FieldChange) -> Way:
    if item.path != item.top:
        return Way.SWITCHED
    default = item.info.default
    return way(*(default if value is None else value for value in (item.live, item.desired)))


@cache
def effects_of_kind(kind: str) -> tuple[tuple[str, Felt], ...]:
    """Effects by the name that a file gives the field."""
    resource_kind = REGISTRY[kind]
    is_stream = resource_kind.backing is not None
    fields = (
        {resource_kind.own_name(name): entry for name, entry in FIELDS.items()}
        if is_stream
        else known_fields(resource_kind.spec)
    )
    written = ((name, entry) for name, entry in fields.items() if name in resource_kind.spec.model_fields)
    return tuple((name, effect) for name, entry in written for effect in entry.felt or ())
