"""A number as far as it is known: counted, or between two bounds, with a guess if there is a good one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reconciler.model.shape import Count


class Amount(NamedTuple):
    least: Count
    """At least this much."""
    most: Count
    """At most this much."""
    about: Count | None = None
    """An estimate between the bounds."""

    @property
    def is_exact(self) -> bool:
        """The number was counted; otherwise there are two bounds."""
        return self.least == self.most


Amounts = Mapping[str, Amount]


def exactly(number: int) -> Amount:
    """A counted number: it is its own bound on either side."""
    return Amount(number, number)


def total(amounts: Iterable[Amount]) -> Amount:
    """All of them together, between the sums of their bounds."""
    each = [*amounts]
    return Amount(sum(amount.least for amount in each), sum(amount.most for amount in each))


def maxima(amounts: Mapping[str, int | Amount]) -> dict[str, int]:
    """The numbers that a consent bounds; what was not counted has its upper bound."""
    return {name: amount.most if isinstance(amount, Amount) else amount for name, amount in amounts.items()}


def uncounted_amounts(amounts: Mapping[str, int | Amount]) -> dict[str, Amount]:
    """Amounts that were not counted."""
    return {name: amount for name, amount in amounts.items() if isinstance(amount, Amount) and not amount.is_exact}
