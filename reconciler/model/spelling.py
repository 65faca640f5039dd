"""The name somebody probably had in mind when a name fits nothing."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

CLOSE = 0.6
"""From this likeness on a name passes for a misspelt other one; 1 is the same."""


def meant_choice(word: str, choices: Iterable[str]) -> str | None:
    """The choice somebody probably had in mind."""
    by_folded = {_folded_word(choice): choice for choice in choices}
    close = difflib.get_close_matches(_folded_word(word), by_folded, n=1, cutoff=CLOSE)
    return by_folded[close[0]] if close else None


def likeness(names: Sequence[str], others: Sequence[str]) -> float:
    """Measure how much alike two lists of names are: as much as the two that differ most. 0: too little for a slip."""
    if len(names) != len(others):
        return 0
    return min((_ratio(_folded_word(a), _folded_word(b)) for a, b in zip(names, others, strict=True)), default=0)


def _ratio(word: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, word, other)
    measures = (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)  # each an upper bound of the next
    return matcher.ratio() if all(measure() >= CLOSE for measure in measures) else 0


def _folded_word(word: str) -> str:
    return word.casefold().replace("-", "_")
