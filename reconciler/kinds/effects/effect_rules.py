"""Rules that foretell what clients will experience, made of the table of fields and one function for each family of
changes.

The table says which field and which way. The function reads live state and finds what hurts now. What may only hurt one
day is no verdict, but a note among the consequences.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from reconciler.changes.amount import Amount, maxima, uncounted_amounts
from reconciler.changes.change import Action, Change, Consequence
from reconciler.changes.rule import Rule, rule
from reconciler.changes.verdict import Finding, Outcome, Reaction
from reconciler.changes.view import View
from reconciler.kinds.fields.field_effects import Felt, effects_in_words, way_of
from reconciler.kinds.fields.known import Known
from reconciler.kinds.losses.over_limit import OwnName, as_named
from reconciler.model.dataclass import dataclass
from reconciler.model.wire.questions import Question


@dataclass(frozen=True, slots=True)
class MovedField:
    """A field that changes in a way that clients may notice."""

    change: Change
    view: View
    field: str
    """By the server's name."""
    own: OwnName
    """What its kind calls the server's fields."""

    @property
    def path(self) -> str:
        """The field as its kind calls it: `history` for a bucket's `max_msgs_per_subject`."""
        return self.own(self.field)


FindingsOfField = Callable[[MovedField], Iterable[Finding]]
Ask = Callable[[MovedField], Iterable[Question]]
Happens = Callable[[MovedField], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRule:
    """One family of changes. The function's docstring is the page; the table adds the fields."""

    number: str
    name: str
    tell: FindingsOfField
    ask: Ask = lambda _moved: ()
    has_rule: bool = False
    """Another rule of this number judges what hurts now; this family has only notes."""


def foretold(number: int, name: str, ask: Ask = lambda _moved: ()) -> Callable[[FindingsOfField], EffectRule]:
    """Make a family of changes from a function that finds what hurts. `ask`: what it must ask the server first."""
    return lambda tell: EffectRule(number=str(number), name=name, tell=tell, ask=ask)


def notes_of(number: int) -> Callable[[FindingsOfField], EffectRule]:
    """Make notes from a function, under the number of a rule defined elsewhere that judges what hurts now."""
    return lambda tell: EffectRule(number=str(number), name="", tell=tell, has_rule=True)


def note(message: str, **quantities: Amount) -> Finding:
    """A note on what may hurt one day, and does not hurt now."""
    return Finding(outcome=Outcome.ALLOWED, message=message, quantities=quantities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Everything that is foretold of one kind."""

    family: str
    fields: Mapping[str, Known]
    families: Sequence[EffectRule]
    own: OwnName = as_named
    keys: Collection[str] | None = None
    """Names of its own that a file can state; None: those of all fields."""
    happens: Happens = lambda _moved: True
    """Is there any way to make the change? A refused one has no effect."""
    tables: Mapping[str, Mapping[str, tuple[Felt, ...]]] = field(init=False)
    """By a rule's number: the fields whose changes it foretells, by the kind's own names."""

    stated_fields: Mapping[str, str] = field(init=False)
    """The server's names of the fields that a file can state."""

    def __post_init__(self) -> None:
        named = {self.own(name): name for name in self.fields}
        stated_fields = {path: name for path, name in named.items() if self.keys is None or path in self.keys}
        object.__setattr__(self, "stated_fields", stated_fields)
        object.__setattr__(
            self, "tables", {effect.number: self._table(effect, stated_fields) for effect in self.families}
        )

    def _table(self, foretold_rule: EffectRule, stated_fields: Mapping[str, str]) -> dict[str, tuple[Felt, ...]]:
        return {
            path: effects
            for path, name in stated_fields.items()
            if (effects := _effects_of_rule(foretold_rule, self.fields[name]))
        }

    def rules(self) -> tuple[Rule, ...]:
        """One rule for each family that any field of this kind belongs to; families of notes alone have none."""
        return tuple(
            self._rule(effect) for effect in self.families if self.tables[effect.number] and not effect.has_rule
        )

    def consequences(self, change: Change, view: View) -> Iterator[Consequence]:
        """Notes: what may hurt one day, with the code of the page that says more. Fields that mean the same share one note."""
        notes = {
            (finding.message, f"{self.family}{effect.number}"): finding.quantities
            for effect, moved in self._effects_and_fields(change, view)
            for finding in effect.tell(moved)
            if finding.outcome is Outcome.ALLOWED
        }
        for (message, code), numbers in notes.items():
            yield Consequence(
                message=f"{message} ({code})", code=code, quantities=maxima(numbers), bounds=uncounted_amounts(numbers)
            )

    def questions(self, change: Change, view: View) -> Iterator[Question]:
        """What the families must ask before they can tell what an update does; nothing for other changes."""
        for effect, moved in self._effects_and_fields(change, view):
            yield from effect.ask(moved)

    def _effects_and_fields(self, change: Change, view: View) -> Iterator[tuple[EffectRule, MovedField]]:
        if change.action in (Action.UPDATE, Action.REPLACE) and change.live:
            for effect in self.families:
                yield from ((effect, moved) for moved in self._moved_fields(effect, change, view))

    def _moved_fields(self, foretold_rule: EffectRule, change: Change, view: View) -> Iterator[MovedField]:
        table = self.tables[foretold_rule.number]
        for path in dict.fromkeys(item.top for item in change.fields if item.top in table):
            moves = way_of(change, path)
            moved = MovedField(change, view, self.stated_fields[path], self.own)
            if moves and any(moves in effect.ways for effect in table[path]) and self.happens(moved):
                yield moved

    def _rule(self, foretold_rule: EffectRule) -> Rule:
        def judge(change: Change, view: View) -> Iterator[Finding]:
            for moved in self._moved_fields(foretold_rule, change, view):
                yield from (finding for finding in foretold_rule.tell(moved) if finding.outcome is not Outcome.ALLOWED)

        *page, instead = inspect.cleandoc(foretold_rule.tell.__doc__ or "").split("\n\n")
        judge.__doc__ = "\n\n".join([*page, *effects_in_words(self.tables[foretold_rule.number]), instead])
        make = rule(
            f"{self.family}{foretold_rule.number}", foretold_rule.name, on=(Action.UPDATE,), needs=("live", "facts"),
            reaction=Reaction.HARMS,
        )  # fmt: skip
        return make(judge)


def _effects_of_rule(foretold_rule: EffectRule, known_field: Known) -> tuple[Felt, ...]:
    return tuple(effect for effect in known_field.felt or () if effect.rule == foretold_rule.number)
