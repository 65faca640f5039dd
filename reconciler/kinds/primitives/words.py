"""Quantities, values and consents inside the sentences of rules, as people say and write them."""

from __future__ import annotations

import json
from typing import Any

from reconciler.core.amount import Amount
from reconciler.core.consent import entry, quoted
from reconciler.kinds.primitives.values import BYTES, NANOSECONDS, show_bytes, show_duration

_THOUSANDS = (("G", 10**9, 999_500_000), ("M", 10**6, 999_500), ("k", 10**3, 10_000))
"""Unit, factor, and the least number said in it: what would round up to 1000 of the smaller one."""


def some(number: int, noun: str = "") -> str:
    """`5`, `1_200 messages`, `80 k`, `3.4 M messages`: every digit as long as they can be taken in."""
    unit, factor = next(((unit, factor) for unit, factor, least in _THOUSANDS if number >= least), ("", 1))
    shown = f"{number / factor:.3g} {unit}" if unit else f"{number:_}"
    return f"{shown} {noun}{'' if number == 1 else 's'}" if noun else shown


def amount(known: Amount, noun: str = "") -> str:
    """`80 k messages`, `up to 80 messages`, `at least 3 and at most 80 messages`, `about 40, at most 80 messages`."""
    shown = some(known.most, noun)
    if known.is_exact:
        return shown
    if known.about is not None:
        least = f"at least {some(known.least)} " if known.least else ""
        return f"about {some(known.about)}, {least}{'and ' if least else ''}at most {shown}"
    return f"at least {some(known.least)} and at most {shown}" if known.least else f"up to {shown}"


def listed(parts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def size(count: int) -> str:
    """`900 bytes`, `1.5 KiB`, `40 GiB`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count >= BYTES[unit]:
            return f"{count / BYTES[unit]:.3g} {unit}"
    return some(count, "byte")


def age(nanoseconds: int) -> str:
    """In its two largest units: `7d12h`, `40s`."""
    for unit, finer in (("d", "h"), ("h", "m"), ("m", "s")):
        if nanoseconds >= NANOSECONDS[unit]:
            return show_duration(nanoseconds - nanoseconds % NANOSECONDS[finer])
    return show_duration(nanoseconds)


def in_words(value: Any, unit: str = "text") -> str:
    """A raw value as it would stand in a file; absence is `nothing`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and unit == "duration":
        return show_duration(value)
    if value == -1 and unit in ("count", "bytes"):
        return "no limit"
    if isinstance(value, int) and unit == "bytes":
        return show_bytes(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value) or "nothing"
    return str(value) if isinstance(value, int | str) else "what it is" if value else "nothing"


def consent_to(code: str, value: Any = None, unit: str = "text") -> str:
    """What to paste into the file: `allow: [{code: ST301, to: 3d, reason: …}]`."""
    return entry(code, "" if value is None else _as_written(value, unit))


def _as_written(value: Any, unit: str) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, list):
        return f"[{', '.join(_as_written(item, unit) for item in value)}]"
    return in_words(value, unit) if isinstance(value, int) and value >= 0 else json.dumps(value)
