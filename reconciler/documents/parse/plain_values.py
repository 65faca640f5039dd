"""Turns nodes into the plain values that a spec validates, and judges what validation cannot: types are never guessed.

pydantic would take `"yes"` for a bool and `"3"` for a number, and it cannot see that `010` was written.

Decides what a plain scalar means. Where YAML readers disagree (`yes`, `010`, `.nan`), the user has to say what is
meant.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

from reconciler.documents.parse.nodes import (
    NULLS,
    Mapping,
    Node,
    Scalar,
    Sequence,
    did_you_mean,
    error_at,
    is_null,
    listed,
    node_to_show,
    phrase,
    shape_in_words,
    span,
)
from reconciler.documents.parse.shape import ANYTHING, Shape
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.resource import Json

LONGEST_NUMBER = 64


class NodeProblem(NamedTuple):
    """A problem of a node: the digits of its code, its name and the message."""

    node: Node
    number: str
    name: str
    message: str

    def diagnostic(self, family: str = "XX", address: str | None = None) -> Diagnostic:
        """Return the problem at its place, with a code of this family."""
        return error_at(f"{family}{self.number}", self.name, self.message, span(self.node), address=address)


@dataclass(slots=True)
class Plain:
    """A plain value, and what was found on the way."""

    findings: list[NodeProblem] = field(default_factory=list)

    def value(self, node: Node, shape: Shape, path: str = "", key: Scalar | None = None) -> Json:
        """Convert a node. `key` is where an empty value is shown, because nothing has no place of its own."""
        if isinstance(node, Scalar):
            return self._scalar_value(node, shape, path, key)
        if not (shape.takes_mapping if isinstance(node, Mapping) else shape.takes_list):
            self._wrong_shape(node, shape, path, key)
            return None
        return (
            self._mapping_value(node, shape, path) if isinstance(node, Mapping) else self._list_value(node, shape, path)
        )

    def _mapping_value(self, node: Mapping, shape: Shape, path: str) -> Json:
        prefix = f"{path}." if path else ""
        values: dict[str, Json] = {}
        for name, (key, child) in node.entries.items():
            expected = shape.below(name)
            if expected is None:
                values[name] = None  # validation reports the unknown key; its value needs no report
            elif not expected.takes_scalar and is_null(child):
                pass  # `consumers:` with nothing below it means no consumers
            else:
                values[name] = self.value(child, expected, prefix + name, key)
        return values

    def _list_value(self, node: Sequence, shape: Shape, path: str) -> Json:
        expected = shape.items or ANYTHING
        return [self.value(item, expected, f"{path}[{index}]") for index, item in enumerate(node.items)]

    def _scalar_value(self, node: Scalar, shape: Shape, path: str, key: Scalar | None) -> Json:
        value = resolve(node.text) if node.plain else node.text
        if _fits_in_no_way(node, value, shape):
            if shape.advice:
                self._add_finding(
                    node, "502", "wrong-value", f"`{node.text}` {_type_in_words(value)}; write {shape.advice}", path
                )
            return node.text  # otherwise the field's own message says what it takes
        if type(value) is Trap:
            self._add_finding(node, "502", "wrong-value", _problem_with_trap(value, node, shape), path)
            return node.text
        if value is None:
            return self._check_missing(node, shape, path, key)
        if not shape.takes_scalar:
            self._wrong_shape(node, shape, path, key)
        elif shape.types and (wrong := _problem_with_type(node, value, shape)):
            self._add_finding(node, "502", "wrong-value", wrong, path)
            return "" if len(node.text) > LONGEST_NUMBER else value  # validators must not try to read a value this long
        return value

    def _check_missing(self, node: Scalar, shape: Shape, path: str, key: Scalar | None) -> None:
        if shape.is_anything and node.text:
            return
        if shape.takes_scalar:
            remove = "remove the key" if key else "remove the `-`"
            self._add_finding(
                node_to_show(key, node), "502", "wrong-value", f"has no value; {remove} or write one", path
            )
        else:
            self._wrong_shape(node, shape, path, key)

    def _wrong_shape(self, node: Node, shape: Shape, path: str, key: Scalar | None) -> None:
        written = f"`{node.text}`" if isinstance(node, Scalar) and node.text else shape_in_words(node)
        self._add_finding(
            node_to_show(key, node), "504", "wrong-shape", f"is {written}; write {_wanted_shapes_text(shape)}", path
        )

    def _add_finding(self, node: Node, number: str, name: str, message: str, path: str) -> None:
        self.findings.append(NodeProblem(node, number, name, phrase(path, message)))


def _problem_with_trap(trap: Trap, node: Scalar, shape: Shape) -> str:
    """Return the way out of a trap, which depends on the type of the field."""
    if shape.choices and not _is_possible_meaning(trap, shape):
        return (
            _problem_with_choice(node, node.text, shape) or f'`{node.text}` {trap.why}; put it in quotes: "{node.text}"'
        )
    instead = f"write {trap.instead}" if _is_possible_meaning(trap, shape) else ""
    is_text = shape.is_anything or not shape.types & _NUMBERS
    quote = f'put it in quotes: "{node.text}"' if is_text and shape.takes(node.text) else ""
    advice = ", or ".join(part for part in (instead, quote) if part) or _advice(shape)
    return f"`{node.text}` {trap.why}; {advice}"


def _is_possible_meaning(trap: Trap, shape: Shape) -> bool:
    """Could this field have a value that may have been meant?"""
    if shape.is_anything or not trap.instead:
        return bool(trap.instead)
    if trap.instead in ("true", "false"):
        return "boolean" in shape.types
    return bool(shape.types & _NUMBERS) and (not shape.patterns or shape.takes(trap.instead))


def _fits_in_no_way(node: Scalar, value: Json, shape: Shape) -> bool:
    """Does it fit neither as it is nor in quotes, where only certain texts fit?"""
    if isinstance(value, str) or value is None or len(node.text) > LONGEST_NUMBER:
        return False
    if not shape.patterns or shape.takes(node.text):
        return False
    if type(value) is Trap:
        return not _is_possible_meaning(value, shape)
    return not shape.types & (
        {"boolean"} if type(value) is bool else {"integer", "number"} if type(value) is int else {"number"}
    )


def _type_in_words(value: Json) -> str:
    return value.why if type(value) is Trap else "is a boolean" if type(value) is bool else "is a number"


_NUMBERS = {"integer", "number"}
_CONTAINERS = {"object": "a mapping (`key: value`)", "array": "a list (`[a, b]` or lines of `- a`)"}


def _wanted_shapes_text(shape: Shape) -> str:
    wanted = [words for kind, words in _CONTAINERS.items() if kind in shape.types]
    if shape.takes_scalar:
        wanted.append("a single value")
    return " or ".join(wanted)


def _problem_with_type(node: Scalar, value: Json, shape: Shape) -> str | None:
    """Report a wrong type of a scalar, where validation would accept it or explain it badly."""
    types = shape.types
    if shape.choices:
        return _problem_with_choice(node, value, shape) if not types & _NUMBERS or not isinstance(value, int) else None
    if type(value) is bool:
        return None if "boolean" in types else f"`{node.text}` is a boolean; {_advice(shape, node)}"
    if type(value) is str:
        return _problem_with_text(node, value, shape)
    if types & _NUMBERS:
        fits = type(value) is int or "number" in types or "string" in types
        return None if fits else f"`{node.text}` is not a whole number; {_advice(shape)}"
    if "string" in types and shape.formats:
        return f"`{node.text}` is a number; {_advice(shape)}"
    return f"`{node.text}` is a number; {_advice(shape, node)}"


def _problem_with_text(node: Scalar, value: str, shape: Shape) -> str | None:
    if shape.types & _NUMBERS and len(value) > LONGEST_NUMBER:
        return f"`{value[:20]}…` is too long for a number"
    if "string" in shape.types:
        return None
    written = node.text if node.plain else f'"{node.text}"'
    return f"`{written}` is text; {_advice(shape)}"


def _problem_with_choice(node: Scalar, value: Json, shape: Shape) -> str | None:
    if any(choice == value and type(choice) is type(value) for choice in shape.choices):
        return None
    if "string" in shape.types and len(shape.types - {"null"}) > 1 and isinstance(value, str):
        return None
    choices = [spell(choice) for choice in shape.choices if choice is not None]
    return f"`{node.text}` is not {listed(choices)}{did_you_mean(node.text, choices)}"


def spell(value: Json) -> str:
    """Return a value as YAML writes it."""
    return str(value).lower() if isinstance(value, bool) else "null" if value is None else str(value)


def _advice(shape: Shape, node: Scalar | None = None) -> str:
    if "boolean" in shape.types:
        return "write true, false or a mapping (`key: value`)" if "object" in shape.types else "write true or false"
    if shape.types & _NUMBERS:
        return "write a number without quotes"
    if "date" in shape.formats:
        return "write a date such as 2026-12-31"
    if "date-time" in shape.formats:
        return "write a time such as 2026-03-01T08:00:00Z"
    if not shape.takes_scalar:
        return f"write {_wanted_shapes_text(shape)}"
    return f'put it in quotes: "{node.text}"' if node else "put it in quotes"


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
