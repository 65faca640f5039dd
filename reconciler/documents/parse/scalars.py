"""Decides what a plain scalar means. Where YAML readers disagree (`yes`, `010`, `.nan`), the user has to say what is
meant."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from reconciler.documents.parse.nodes import NULLS
from reconciler.model.resource import Json

INT64, UINT64 = 1 << 63, 1 << 64

_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_YES = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_NO = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_OTHER_BASE = re.compile(r"[-+]?(?:0[0-9_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+)")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NUMBER_STARTS = frozenset("0123456789+-.")
_LONGEST_NUMBER = 64


class Trap(NamedTuple):
    """A scalar that YAML readers interpret differently."""

    why: str
    """`is on/off style …`, to follow the scalar."""
    instead: str = ""
    """The unambiguous spelling of the value that may be meant; empty when there is none."""


@lru_cache(maxsize=8192)
def resolve(text: str) -> Json | Trap:
    """Return the value of a plain scalar: null, bool, int, float, otherwise the text as written (timestamps too)."""
    if text and text[0] in _NUMBER_STARTS:
        return _parse_number(text)
    if text in NULLS:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text in _YES or text in _NO:
        return Trap("means true or false to some YAML readers and text to others", "true" if text in _YES else "false")
    return text


def _parse_number(text: str) -> Json | Trap:
    if _NOT_FINITE.fullmatch(text):
        return Trap("is not a number that JSON or the server knows")
    if _OTHER_BASE.fullmatch(text):
        return _trap_of_base(text)
    if not _FLOAT.fullmatch(text):
        return text
    if len(text) > _LONGEST_NUMBER:
        return Trap("is a number too large for any field")
    return _parse_integer(text) if _INTEGER.fullmatch(text) else _parse_float(text)


def _parse_integer(text: str) -> int | Trap:
    value = int(text.replace("_", ""))
    return value if -INT64 <= value < UINT64 else Trap("is a number too large for any field (the largest is 2^64 - 1)")


def _parse_float(text: str) -> float | Trap:
    value = float(text.replace("_", ""))
    return value if abs(value) != float("inf") else Trap("is a number too large for any field")


def _trap_of_base(text: str) -> Trap:
    digits = text.replace("_", "")
    if len(digits) > _LONGEST_NUMBER:
        return Trap("is a number too large for any field")
    if digits.lstrip("+-")[1].isdecimal():
        decimal = digits.lstrip("+-").lstrip("0") or "0"
        sign = "-" if digits[0] == "-" else ""
        return Trap("is octal to some YAML readers and decimal to others", f"{sign}{decimal}")
    return Trap("is written in a base that not every YAML reader knows", str(int(digits, 0)))


def needs_quotes_as_name(text: str) -> str | None:
    """Return what a plain name would be to YAML readers, if not text: `a boolean`, `a number`, …"""
    value = resolve(text)
    if isinstance(value, str):
        return None
    if isinstance(value, Trap):
        return "a number" if text[0] in _NUMBER_STARTS else "a boolean"
    if value is None:
        return "null"
    return "a boolean" if isinstance(value, bool) else "a number"
