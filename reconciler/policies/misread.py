"""Says in plain words why a condition is not CEL, and where in it."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from reconciler.model.spelling import meant_choice

_ERROR = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([\w.]+)'")
_OVERLOAD = re.compile(r"found no matching overload for '(\S+)' applied to '(.*?)'(?= |$)")
_UNEXPECTED = re.compile(r"(?:mismatched|extraneous) input '(.*?)' expecting|no viable alternative at input '(.*?)'$")
_DEEP = re.compile(r"recursion (?:limit|depth)", re.IGNORECASE)
SHOWN = 40
"""How many characters of a condition a message shows."""
_WORDS = {
    "int": "a number", "uint": "a number", "double": "a number", "string": "a text", "bool": "true or false", "dyn": "anything",
    "google.protobuf.duration": "a duration", "duration": "a duration", "null": "null", "null_type": "null",
    "google.protobuf.timestamp": "a time", "timestamp": "a time", "bytes": "bytes",
}  # fmt: skip


class Misread(NamedTuple):
    """Why a condition cannot be compiled."""

    message: str
    line: int = 0
    """Inside the condition, from 1; 0: nowhere in particular."""
    column: int = 0

    def message_with_place(self, condition: str) -> str:
        """The message, with the place in the condition and what stands there."""
        lines = condition.splitlines() or [""]
        if not 0 < self.line <= len(lines):
            return self.message
        rest = lines[self.line - 1][self.column - 1 :].strip()
        where = f"line {self.line}, column {self.column}" if len(lines) > 1 else f"column {self.column}"
        shown = f": `{rest[:SHOWN]}{'…' if len(rest) > SHOWN else ''}`" if rest else ""
        return f"{self.message}; {where} of the condition{shown}"


def type_in_words(type_: str) -> str:
    """A type of CEL in words."""
    plain = type_.lower()
    if plain.startswith(("list", "map")):
        return "a list" if plain.startswith("list") else "a mapping"
    return _WORDS.get(plain, type_)


def explain_compile_error(error: str, names: Collection[str], condition: str) -> Misread:
    """Say in words what the library says of a condition."""
    match = _ERROR.search(error)
    if _DEEP.search(error) or match is None:
        text = error.partition(" [")[0].partition(": ")[2] or error
        return Misread(
            "it nests too deep; divide it into several policies" if _DEEP.search(error) else text.splitlines()[0]
        )
    line, column, message = int(match[1]), int(match[2]), match[3].removesuffix(" (in container '')")
    if name := _UNDECLARED.search(message):
        return _explain_undeclared(name[1], names, condition, line, column)
    if overload := _OVERLOAD.search(message):
        return Misread(_explain_overload(overload[1], overload[2]), line, column)
    if unexpected := _UNEXPECTED.search(message):
        token = unexpected[1] or unexpected[2]
        return Misread("it ends too early" if token == "<EOF>" else f"`{token}` cannot stand there", line, column)
    return Misread(message.removeprefix("Syntax error: "), line, column)


def _explain_undeclared(name: str, names: Collection[str], condition: str, line: int, column: int) -> Misread:
    """Explain a name that does not exist. The library points at a dot, and names as much as it looked at; a reader
    wants the whole name."""
    lines = condition.splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    around = next((word for word in re.finditer(r"[A-Za-z_][\w.]*", text) if word.start() < column <= word.end()), None)
    whole = around[0] if around and around[0].startswith(name) else name
    start = around.start() + 1 if around else column
    is_called = text[column - 1 : column] == "(" or (around and text[around.end() : around.end() + 1] == "(")
    if is_called and "." not in name and not whole.startswith(f"{name}."):
        return Misread(f"there is no function `{name}`", line, start)
    if around and whole == around[0] and text[around.end() : around.end() + 1] == "(":
        whole = whole.rpartition(".")[0]  # the rest is a function that is asked of it
    of_resource = f"resource.{whole.partition('.')[2]}"
    near = of_resource if whole.startswith("stream.") and of_resource in names else _likely_name(whole, names)
    return Misread(f"there is no `{whole}`" + (f"; did you mean `{near}`?" if near else ""), line, start)


def _likely_name(full_name: str, names: Collection[str]) -> str | None:
    """Find what was probably meant: of names with the same beginning, which alone says nothing."""
    beginning, _, rest = full_name.partition(".")
    same = {name.partition(".")[2]: name for name in names if name.startswith(f"{beginning}.")}
    if not same:
        return meant_choice(full_name, names)
    near = meant_choice(rest, same) if rest else None
    return same[near] if near else None


def _explain_overload(function: str, types: str) -> str:
    given_types = [
        type_in_words(type_name)
        for type_name in re.findall(
            r"[\w.]+(?:\([^()]*\))?", types.strip("()") if "(" not in types[1:] else types[1:-1]
        )
    ]
    name = function.strip("_").replace("_", " ").strip() or function
    hint = "; write a duration as duration('36h')" if "a duration" in given_types and len({*given_types}) > 1 else ""
    return f"`{name}` does not take {' and '.join(given_types)}{hint}"
