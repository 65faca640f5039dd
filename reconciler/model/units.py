"""Values as people write them (7d, 20GiB, 1_000_000) and as servers store them (nanoseconds, bytes)."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationInfo, WithJsonSchema
from pydantic_core import PydanticCustomError

NANOSECONDS = {
    "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000,
    "m": 60_000_000_000, "h": 3_600_000_000_000, "d": 86_400_000_000_000,
    "w": 604_800_000_000_000, "y": 31_536_000_000_000_000,
}  # fmt: skip
BYTES = {
    "B": 1, "K": 1 << 10, "KB": 1000, "KiB": 1 << 10, "M": 1 << 20, "MB": 1000**2, "MiB": 1 << 20,
    "G": 1 << 30, "GB": 1000**3, "GiB": 1 << 30, "T": 1 << 40, "TB": 1000**4, "TiB": 1 << 40,
}  # fmt: skip
INT64, UINT64 = 1 << 63, 1 << 64
WRITTEN = "written"
"""The context in which values are validated that stand in a file, as a person wrote them."""

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h|d|w|y)")
_GO_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_BYTES = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?i?B|[KMGT])")
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][\d_]*)")


def _wrong_value_error(kind: str, value: Any, advice: str) -> PydanticCustomError:
    shown = value if isinstance(value, str) else repr(value)
    return PydanticCustomError("wrong_value", "`{value}` is not {kind}; write {advice}",
                               {"value": shown, "kind": kind, "advice": advice})  # fmt: skip


DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w|y))+$"
BYTES_PATTERN = r"^[0-9]+(\.[0-9]+)? ?([KMGT]?i?B|[KMGT])$"
HOW_TO_WRITE = {
    DURATION_PATTERN: "7d, 36h, 90s or nanoseconds",
    BYTES_PATTERN: "20GiB, 512MB or a number of bytes",
}
"""By the pattern that a schema has for it."""
LONGEST = 40
"""Characters of a number beyond which nothing sensible is meant, and Python's conversions fail in ways of their own."""


def _integer(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= LONGEST and _INTEGER.fullmatch(value):
        return int(value.replace("_", ""))
    return None


def _within(number: int, kind: str, value: Any, bound: int = INT64) -> int:
    if not -INT64 <= number < bound:
        raise _wrong_value_error(kind, value, f"a number between {-INT64:_} and {bound - 1:_}")
    return number


def parse_duration(value: Any) -> int:
    """Nanoseconds in `90s`, `1h30m`, `7d` or a raw number of nanoseconds."""
    raw = _integer(value)
    if raw is not None:
        return _within(raw, "a duration", value)
    parts = _DURATION_PART.findall(value) if isinstance(value, str) and len(value) <= LONGEST else []
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise _wrong_value_error("a duration", value, HOW_TO_WRITE[DURATION_PATTERN])
    return _within(round(sum(_scaled_number(number, NANOSECONDS[unit]) for number, unit in parts)), "a duration", value)


def written_duration(value: Any, info: ValidationInfo) -> int:
    """Read the same; of what a person wrote into a file, a bare number below a millisecond was hardly meant as
    nanoseconds."""
    nanoseconds = parse_duration(value)
    if info.context == WRITTEN and 0 < nanoseconds < NANOSECONDS["ms"] and _integer(value) is not None:
        shown = f"{nanoseconds / 1000:g}µs" if nanoseconds >= NANOSECONDS["us"] else f"{nanoseconds}ns"
        raise PydanticCustomError(
            "wrong_value", "`{value}` is {shown}, for a number without a unit counts nanoseconds; did you mean `{number}s`? "
            "So few nanoseconds need their unit: {number}ns", {"value": str(value), "shown": shown, "number": nanoseconds},
        )  # fmt: skip
    return nanoseconds


def go_duration(text: str) -> int:
    """Read nanoseconds as Go writes a duration, which knows no days. Raises ValueError for anything else."""
    parts = _GO_PART.findall(text) if len(text) <= LONGEST else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"`{text}` is not a duration that Go can read")
    return sum(round(_scaled_number(number, NANOSECONDS[unit.replace("μ", "µ")])) for number, unit in parts)


def parse_bytes(value: Any) -> int:
    """Bytes in `20GiB`, `512KB` or a raw number of bytes; -1 is the server's "no limit"."""
    raw = _integer(value)
    if raw is not None:
        return _within(raw, "a size", value)
    match = _BYTES.fullmatch(value) if isinstance(value, str) and len(value) <= LONGEST else None
    if not match or match[2] not in BYTES:
        raise _wrong_value_error("a size", value, HOW_TO_WRITE[BYTES_PATTERN])
    return _within(round(_scaled_number(match[1], BYTES[match[2]])), "a size", value)


def parse_count(value: Any, bound: int = INT64) -> int:
    """A whole number; `1_000_000` is welcome."""
    raw = _integer(value)
    if raw is None:
        raise _wrong_value_error("a whole number", value, "for example 5 or 1_000_000")
    return _within(raw, "a whole number", value, bound)


def parse_sequence(value: Any) -> int:
    """A place in a stream, of which servers count twice as many as of anything else."""
    return parse_count(value, UINT64)


def _scaled_number(number: str, unit: int) -> float | int:
    return float(number) * unit if "." in number else int(number) * unit


def show_duration(nanoseconds: int) -> str:
    """Write it in units from the largest down (`7d`, `1h30m`), or in nanoseconds alone where that is shorter; exact."""
    if nanoseconds <= 0:
        return "0s" if nanoseconds == 0 else f"{nanoseconds:_}"
    parts, rest = [], nanoseconds
    for unit in ("d", "h", "m", "s", "ms", "us", "ns"):
        number, rest = divmod(rest, NANOSECONDS[unit])
        if number:
            parts.append(f"{number}{unit}")
    return min("".join(parts), f"{nanoseconds}ns", key=len)


_SIZES = ("TiB", "GiB", "MiB", "KiB", "TB", "GB", "MB", "KB")


def show_bytes(size: int) -> str:
    """The shortest exact spelling: `20GiB`, `1GB`, else the plain number, `1_234_567`."""
    fitting = (f"{size // BYTES[unit]}{unit}" for unit in _SIZES if size > 0 and size % BYTES[unit] == 0)
    return min([*fitting, f"{size:_}"], key=len)


def show_number(value: int, unit: str) -> str:
    """A raw number as a file has it."""
    if unit == "duration":
        return show_duration(value)
    return show_bytes(value) if unit == "bytes" else f"{value:_}" if unit == "count" else str(value)


def show_quantity(name: str, number: int) -> str:
    """Say how much of what is counted: `1_000 messages`, `1GiB`, `1_234_567 bytes`."""
    shown = show_bytes(number) if name == "bytes" else f"{number:_}"
    return shown if shown.endswith("B") else f"{shown} {name}"


def number_or(pattern: str) -> dict[str, Any]:
    """The schema of a number that may also be a text like this: no union, whose parts editors would show one by one."""
    return {"type": ["integer", "string"], "pattern": pattern}


Duration = Annotated[
    int,
    BeforeValidator(written_duration),
    WithJsonSchema(number_or(DURATION_PATTERN)),
]
Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    WithJsonSchema(number_or(BYTES_PATTERN)),
]
_NUMBER = WithJsonSchema(number_or(r"^[+-]?[0-9][0-9_]*$"))
Count = Annotated[int, BeforeValidator(parse_count), _NUMBER]
SequenceNumber = Annotated[int, BeforeValidator(parse_sequence), _NUMBER]
