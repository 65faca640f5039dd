"""What a plan says of clients: on which sides, by the table of fields alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from reconciler.changes.effect import Side
from reconciler.changes.plan import Plan
from reconciler.changes.verdict import Outcome
from reconciler.kinds.predicted_effects import harmless_effects, sides_by_code
from reconciler.model.resource import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One plan."""

    foretold: Mapping[str, frozenset[Side]]
    """Sides by code, of verdicts and of notes."""
    warned: frozenset[str] = frozenset()
    """Codes of verdicts alone: a note says what may be felt one day, and cries no wolf."""
    is_refused: bool = False
    """Nothing of it would ever be sent."""
    fields: frozenset[str] = frozenset()
    """That change where the request goes to."""
    gains: frozenset[str] = frozenset()
    """Those of them that take nothing from anyone."""
    gained: frozenset[Side] = frozenset()

    @property
    def sides(self) -> frozenset[Side]:
        return frozenset().union(*self.foretold.values())

    def without(self, code: str) -> Said:
        """As if nobody knew of this effect."""
        kept = {one: found for one, found in self.foretold.items() if one != code}
        return replace(self, foretold=kept, warned=self.warned - {code})


def said(plan: Plan, address: Address) -> Said:
    changes = [one for one in plan.changes if one.action.writes]
    sent = [one for one in changes if one.address == str(address)]
    gained = [found for change in sent for found in harmless_effects(change)]
    spoken: dict[str, frozenset[Side]] = {}
    for change in changes:
        for code, sides in sides_by_code(change).items():
            spoken[code] = spoken.get(code, frozenset()) | sides
    verdicts = [verdict for change in changes for verdict in change.verdicts]
    return Said(
        foretold=spoken,
        warned=frozenset(one.code for one in verdicts) & spoken.keys(),
        is_refused=any(one.outcome is Outcome.REFUSED and not one.consentable for one in verdicts),
        fields=frozenset(item.top for change in sent for item in change.fields),
        gains=frozenset(name for name, _ in gained),
        gained=frozenset(side for _, one in gained for side in one.sides),
    )
