"""Values as people read them: 7d, 20GiB, 1_000_000. Exact, so that they can be pasted into a file."""

from __future__ import annotations

import json
import re

from reconciler.core import consent
from reconciler.core.diff import FieldChange
from reconciler.core.kind import FieldInfo, Unit
from reconciler.core.resource import Json
from reconciler.report.visible import visible

_DURATIONS = (
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000),
    ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1),
)  # fmt: skip
_SIZES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_BARE = re.compile(r"[\w.*>$/:@+{}(),=-]+", re.ASCII)


def show(value: Json, unit: Unit = "text") -> str:
    """One value in one line; control characters are made visible."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _number(value, unit)
    if isinstance(value, str):
        return show_text(value)
    if isinstance(value, list) and all(isinstance(item, (str, int)) for item in value):
        return " ".join(show(item, "duration" if unit == "durations" else "text") for item in value) or "[]"
    return visible(json.dumps(value, ensure_ascii=False))


def _number(value: int, unit: Unit) -> str:
    if unit == "duration":
        return show_duration(value)
    if value < 0 and unit in ("bytes", "count"):
        return "no limit"
    return show_bytes(value) if unit == "bytes" else f"{value:_}" if unit == "count" else str(value)


def show_text(text: str) -> str:
    """Bare where that is unmistakable, else in quotes."""
    return text if _BARE.fullmatch(text) else visible(json.dumps(text, ensure_ascii=False))


def show_duration(nanoseconds: int) -> str:
    if nanoseconds <= 0:
        return "0s" if nanoseconds == 0 else str(nanoseconds)
    parts, rest = [], nanoseconds
    for unit, size in _DURATIONS:
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts)


def show_bytes(size: int) -> str:
    """The largest unit that divides it; odd sizes stay exact and get a hint of their magnitude."""
    for unit, factor in _SIZES:
        if size >= factor and size % factor == 0:
            return f"{size // factor:_}{unit}"
    for unit, factor in _SIZES:
        if size >= factor * 10:
            return f"{size:_} (about {size / factor:.3g} {unit})"
    return f"{size:_}"


def show_absent(info: FieldInfo) -> str:
    """What stands for a field left out: the word default, and the value where it is known."""
    if info.default is None or info.default in ("", [], {}):
        return "default"
    return f"default ({show(info.default, info.unit)})"


def show_side(value: Json, info: FieldInfo) -> str:
    return show_absent(info) if value is None else show(value, info.unit)


def show_live(change: FieldChange) -> str:
    """What stands there now. Where the server has no value although it fills one in, the field is `none`."""
    return "none" if change.live is None and change.filled else show_side(change.live, change.info)


def show_wanted(change: FieldChange) -> str:
    """What is wanted, and where that comes from if the file leaves it out: `1_000 (default)`, `10m (from consumer_limits)`."""
    if not change.filled:
        return show_side(change.desired, change.info)
    return f"{'none' if change.desired is None else show(change.desired, change.info.unit)} ({change.filled})"


def show_seconds(seconds: float) -> str:
    """Never 0.0 s: what was measured took some time."""
    return f"{seconds:.1f} s" if seconds >= 1 else f"{max(seconds, 0.001):.1g} s"


def noun(number: int, word: str) -> str:
    """The word in the number it needs."""
    if number == 1:
        return word
    return word[:-1] + "ies" if word.endswith("y") and word[-2:-1] not in "aeou" else word + "s"


def counted(number: int, word: str) -> str:
    """`1 stream`, `1_200 streams`"""
    return f"{number:_} {noun(number, word)}"


def show_yaml(value: Json, unit: Unit = "text") -> str:
    """One value as it would stand in a file, also between braces."""
    if isinstance(value, str):
        return visible(consent.quoted(value))
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return show_duration(value) if unit == "duration" else _exact_bytes(value) if unit == "bytes" else f"{value:_}"
    return visible(json.dumps(value, ensure_ascii=False))


def _exact_bytes(size: int) -> str:
    shown = show_bytes(size)
    return shown.split(" ")[0].replace("_", "")
