"""Many names in few lines: the first ones, and how many more there are."""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.changes.plan import PlannedChange
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import noun
from reconciler.report.words.visible import visible

_LINES = 2
"""How many lines of names are shown before the rest is counted."""


def name_lines(word: str, names: Sequence[str], paper: Paper, indent: int, everything: bool = False) -> list[str]:
    """Return `on A B C and 809 more`, wrapped."""
    room = _LINES * (paper.width - indent) - len(word) - 30
    shown_names: list[str] = []
    for name in names:
        if not (everything or paper.verbose) and shown_names and room < len(name):
            return paper.wrapped(
                f"{word} {' '.join(shown_names)} and {len(names) - len(shown_names):_} more; -v names all", indent
            )
        shown_names.append(name)
        room -= len(name) + 1
    return paper.wrapped(f"{word} {' '.join(shown_names)}", indent)


def children_by_kind(children: Sequence[PlannedChange], streams: int) -> list[tuple[str, list[str]]]:
    """Return what comes or goes along, by kind: `with consumers` and their names. What all of several streams have
    counts once."""
    kinds: dict[str, dict[str, None]] = {}
    for child in children:
        kind, _, name = child.address.split("/", 2)
        kinds.setdefault(kind, {})[name] = None
    first = "with" if streams == 1 else "each with"
    return [
        (f"{first if not number else 'and'} {kind_noun(kind, len(names))}", [*names])
        for number, (kind, names) in enumerate(kinds.items())
    ]


def kind_noun(kind: str, count: int) -> str:
    """Return `elastic groups` for `elastic_group`."""
    return noun(count, visible(kind).replace("_", " "))


def name_without_kind(change: PlannedChange) -> str:
    """Return the address of a change after its kind: `ORDERS/dispatch` of `consumer/ORDERS/dispatch`."""
    return change.address.split("/", 1)[1]
