"""Values for people: 7d, 20GiB, 1_000_000. They are exact, so that they can be pasted into a file.

Many names in few lines: the first ones, and how many more there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from reconciler.changes.change import FieldChange
from reconciler.changes.plan import PlannedChange
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json
from reconciler.model.units import show_bytes
from reconciler.model.written import written_value
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import visible


def show_value(value: Json, info: FieldInfo) -> str:
    """Return one value on one line, as a file writes it; control characters are made visible."""
    return visible(written_value(value, info))


_SIZES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def show_volume(size: int) -> str:
    """Return an amount of storage: every byte, and a rough size where that is no round number."""
    for unit, factor in _SIZES:
        if size >= factor * 10 and size % factor:
            return f"{size:_} (about {size / factor:.3g} {unit})"
    text = show_bytes(size)
    return text if text[-1].isalpha() else f"{text} bytes"


def show_absent(info: FieldInfo) -> str:
    """Return what a left-out field means; `none` where it means nothing."""
    if info.left_out or info.default is None or info.default in ("", [], {}):
        return info.left_out or "none"
    return "no limit" if _is_unlimited(info.default, info) else show_value(info.default, info)


def _is_unlimited(value: Json, info: FieldInfo) -> bool:
    return isinstance(value, int) and value < 0 and info.unit in ("count", "bytes")


def show_side(value: Json, info: FieldInfo, source: str = "default") -> str:
    """Return a value, or what an absent one means and where that comes from."""
    if value is not None:
        return f"{show_value(value, info)} (no limit)" if _is_unlimited(value, info) else show_value(value, info)
    absent = show_absent(info)
    return absent if absent == "none" else f"{absent} ({source})"


def show_live(change: FieldChange) -> str:
    """Return the live value."""
    return show_side(change.live, change.info)


def show_wanted(change: FieldChange) -> str:
    """Return the wanted value, and its origin if the file leaves it out: `1_000 (default)`, `10m (from
    consumer_limits)`."""
    if change.desired is None or not change.filled:
        return show_side(change.desired, change.info, change.filled or "default")
    return f"{show_value(change.desired, change.info)} ({change.filled})"


def show_seconds(seconds: float) -> str:
    """Return seconds, never as 0.0 s: what was measured took some time."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(seconds, 0.001):.1g} s"


def noun(number: int, word: str) -> str:
    """Return the word in the singular or plural that the number needs."""
    if number == 1:
        return word
    return word[:-1] + "ies" if word.endswith("y") and word[-2:-1] not in "aeou" else word + "s"


def counted(number: int, word: str) -> str:
    """Return `1 stream`, `1_200 streams`."""
    return f"{number:_} {noun(number, word)}"


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
