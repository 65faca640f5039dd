"""Quantities, values and consents inside the sentences of rules, as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reconciler.changes.amount import Amount
from reconciler.changes.change import FieldChange
from reconciler.changes.consent import allow_entry
from reconciler.model.fields import FieldInfo, Unit
from reconciler.model.resource import Json
from reconciler.model.units import BYTES, NANOSECONDS, show_bytes, show_duration, show_number
from reconciler.model.written import written_value

_THOUSANDS = (("G", 10**9, 999_500_000), ("M", 10**6, 999_500), ("k", 10**3, 10_000))
"""Unit, factor, and the least number written with it: a smaller number would be rounded up to 1000 of the smaller
unit."""


def some(number: int, noun: str = "") -> str:
    """`5`, `1_200 messages`, `80 k`, `3.4 M messages`: with every digit as long as the number stays readable."""
    unit, factor = next(((unit, factor) for unit, factor, least in _THOUSANDS if number >= least), ("", 1))
    shown = f"{_short(number / factor)} {unit}" if unit else f"{number:_}"
    return f"{shown} {noun}{'' if number == 1 else 's'}" if noun else shown


def amount(quantity: Amount, noun: str = "") -> str:
    """`80 k messages`, `up to 80 messages`, `at least 3 and at most 80 messages`, `about 40, at most 80 messages`."""
    shown = some(quantity.most, noun)
    if quantity.is_exact:
        return shown
    if quantity.about is not None:
        return f"about {some(quantity.about)}, {_bounds_text(some(quantity.least) if quantity.least else '', shown)}"
    return _bounds_text(some(quantity.least), shown) if quantity.least else f"up to {shown}"


def share(part: Amount, whole: Amount, noun: str) -> str:
    """`up to 3 of 12 messages`. The whole is never less than its part, which may have been counted later; if both are the same
    bounds, they are said once."""
    held = Amount(max(whole.least, part.least), max(whole.most, part.most))
    return amount(part, noun) if part == held and not part.is_exact else f"{amount(part)} of {amount(held, noun)}"


def average(quantity: Amount) -> str:
    """`about 2.8 GiB by their average size, at least 30 MiB and at most 8 GiB`; or only the size, if that is known."""
    least, most = size(quantity.least), size(quantity.most)
    if quantity.about is None or least == most:
        return most
    return f"about {size(quantity.about)} by their average size, {_bounds_text(least, most)}"


def _bounds_text(least: str, most: str) -> str:
    return f"at least {least} and at most {most}" if least else f"at most {most}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def verb(number: int, plural: str) -> str:
    """`are` after this number, `is` after one; likewise `go` and `goes`."""
    return _OF_ONE.get(plural, f"{plural}s") if number == 1 else plural


_OF_ONE = {"are": "is", "were": "was", "go": "goes", "have": "has"}


def few(names: Sequence[str], most: int = 5) -> str:
    """`a, b`; if there are many, only the first ones: `a, b, c and 4 more`."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:_} more" if len(names) > most else "")


def listed_few(parts: Sequence[str], most: int = 3) -> str:
    """`a and b`; of many, only the first ones: `a, b, c and 4 more`."""
    return listed([*parts[:most], *([f"{len(parts) - most:_} more"] if len(parts) > most else [])])


def outside(subject: str, kept: Sequence[str]) -> str:
    """A subject without parts of it: `a.> outside a.bill.>`."""
    return f"{subject} outside {listed_few(kept)}" if kept else subject


def size(count: int, beside: int = 0) -> str:
    """`900 bytes`, `1.5 KiB`, `40 GiB`; in the family of units of the size `beside` it in the sentence: `1.5 KB`."""
    units = _DECIMAL if show_bytes(beside).endswith(_DECIMAL) else _BINARY
    unit = next((unit for unit in units if count >= BYTES[unit]), None)
    return f"{_short(count / BYTES[unit])} {unit}" if unit else some(count, "byte")


def written_size(count: int) -> str:
    """A size from a file, in the form that a file may have: `50MB`, `10KiB`, `1_023 bytes`."""
    shown = show_bytes(count)
    return shown if shown.endswith("B") else f"{shown} byte{'' if count == 1 else 's'}"


_BINARY, _DECIMAL = ("TiB", "GiB", "MiB", "KiB"), ("TB", "GB", "MB", "KB")


def _short(number: float) -> str:
    """A number in three digits, or in all digits of a larger number."""
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"


def age(nanoseconds: int) -> str:
    """A duration in its two largest units, and in whole seconds below a minute: `7d12h`, `40s`."""
    for unit, finer in (("d", "h"), ("h", "m"), ("m", "s"), ("s", "s"), ("ms", "ms")):
        if nanoseconds >= NANOSECONDS[unit]:
            return show_duration(nanoseconds - nanoseconds % NANOSECONDS[finer])
    return show_duration(nanoseconds)


def in_words(value: Any, unit: str = "text") -> str:
    """A raw value as a file would write it; absence is `nothing`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value == -1 and unit in ("count", "bytes"):
        return "no limit"
    if isinstance(value, int) and unit in ("duration", "bytes"):
        return show_number(value, unit)
    if isinstance(value, int) and unit == "count":
        return f"{value:_}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "nothing"
    return str(value) if isinstance(value, int | str) else "what it is" if value else "nothing"


def side_in_words(change: FieldChange, value: Json) -> str:
    """One side of a change as a file would write it; the default where the value is left out."""
    return in_words(change.info.default if value is None else value, change.info.unit)


def consent_to(code: str, value: Any = None, unit: Unit = "text") -> str:
    """An entry to paste into the file: `allow: [{code: ST301, to: 3d, reason: …}]`."""
    return allow_entry(code, "" if value is None else written_value(value, FieldInfo(unit=unit)))
