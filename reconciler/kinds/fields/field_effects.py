"""What clients experience when a field changes, as the table of fields states it, with the rule that foretells it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from reconciler.changes.change import Change
from reconciler.changes.effect import Effect, Side, Way, way
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Felt(Effect):
    """An effect, and the rule that foretells it before a plan is applied."""

    rule: str
    """Its number, which is the same in every family: `601` stands for ST601 and KV601. Empty: nobody loses anything."""

    @property
    def is_gain(self) -> bool:
        """Does it cost clients nothing? No rule foretells such an effect."""
        return not self.rule


SET, UNSET, SWITCHED = (frozenset({way}) for way in (Way.SET, Way.UNSET, Way.SWITCHED))
TIGHTER, WIDER = frozenset({Way.SET, Way.LOWERED}), frozenset({Way.UNSET, Way.RAISED})
"""The ways in which a limit becomes tighter or wider."""
OTHER = frozenset({Way.UNSET, Way.SWITCHED})
EVERY = frozenset(Way)

NOT_FELT: tuple[Felt, ...] = ()
"""Clients notice nothing, whichever way the field changes."""


def felt(
    rule: int, side: Side, ways: frozenset[Way], sentence: str, condition: str = "", also: Collection[Side] = ()
) -> Felt:
    """An effect on one side, which others notice as well; without a condition it always happens."""
    return Felt(rule=str(rule), sides=frozenset({side, *also}), ways=ways, sentence=sentence, condition=condition)


def gain(ways: frozenset[Way], sentence: str, *sides: Side) -> Felt:
    """An effect that clients notice and that costs them nothing: plans do not mention it."""
    return Felt(rule="", sides=frozenset(sides), ways=ways, sentence=sentence)


def unfelt(ways: frozenset[Way], why: str) -> Felt:
    """An effect that clients do not notice, unless they ask for what was refused before."""
    return Felt(rule="", sides=frozenset(), ways=ways, sentence=why)


def fixed(rule: int, sentence: str = "It is recreated, or the change is refused.") -> tuple[Felt, ...]:
    """A field that no update changes: its effect is that of another object in this one's place."""
    return (felt(rule, Side.POSITIONS, EVERY, sentence),)


def way_of(change: Change, path: str) -> Way | None:
    """How a top-level field moves; None: it stays. A left-out value stands for the default."""
    if (field_change := change.field(path)) is None:
        return None
    default = field_change.info.default if field_change.path == path else None
    before, after = (default if value is None else value for value in (change.was(path), change.becomes(path)))
    return None if before == after else way(before, after)


def value_after(change: Change, path: str) -> Json:
    """The new value, even if the file leaves it to the default."""
    field_change, value = change.field(path), change.becomes(path)
    return field_change.info.default if value is None and field_change and field_change.path == path else value


def effects_in_words(effects: Mapping[str, tuple[Felt, ...]]) -> list[str]:
    """Lines for a rule's page: which field, which way, and what happens."""
    return [
        f"`{name}` {_ways_in_words(effect)}: {_with_small_initial(effect.sentence)}"
        + (f" That matters only if {effect.condition}." if effect.condition else "")
        for name, many in effects.items()
        for effect in many
    ]


def _ways_in_words(effect: Felt) -> str:
    if effect.ways == EVERY:
        return "changed"
    return " or ".join(str(one) for one in Way if one in effect.ways)


def _with_small_initial(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
