"""Writes a document as untidily as YAML allows: any indentation and order, every style of value, comments wherever one can be.

One text takes hundreds of choices: Hypothesis draws the document, and what the choices hang on as one number. Drawing each of them
costs more than all that is tested with the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from reconciler.documents.write.dump import double_quoted, scalar_text

WORDS = ("# c{0} what for", "#c{0}", "# c{0}: [a, b] # more", "# - c{0} 'x", '# "c{0}', "# ü \U0001f600 c{0}\tx")
TEXTS = ("ü \U0001f600 = ", "one\ntwo\n", "one\n\n  two # no comment\nthree", "  deep\n", "end\n\n", "a: b\n- c\n")
"""Where a text may hold anything, these are added: they need block scalars, or escapes."""


T = TypeVar("T")
FREE = 99
"""A column that no comment reaches."""


@dataclass
class Untidy:
    """A text in the making."""

    random: Random
    has_anchors: bool = True
    text: str = ""
    lines: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    anchors: dict[str, str] = field(default_factory=dict)
    deepest: int = FREE
    """A comment that is indented deeper would be part of the text above it."""

    def written(self, document: Mapping[str, Any]) -> str:
        """The document's text."""
        if self.some(5):
            self.lines += ["%YAML 1.1"] * self.some(2) + ["---" + self.note()]
        self.mapping(document, self.number(2))
        self.between(0)
        if self.some(5):
            self.lines += ["...", *([self.comment()] if self.some(2) else [])]
        brk = self.one("\n", "\n", "\r\n")
        is_text = self.deepest < FREE  # a break behind it would be part of it
        return brk.join(self.lines) + brk * (is_text or self.some(2))

    def mapping(self, value: Mapping[str, Any], column: int, beside: str = "") -> None:
        for key in self.shuffled(value):
            if not beside:
                self.between(column)
            head = (beside or " " * column) + self.key(key) + self.one(":", ":", ":", " :")
            beside = ""
            self.value(value[key], head, column, is_flush=True)

    def value(self, value: Any, head: str, column: int, *, is_flush: bool = False) -> None:
        """Behind a key or a dash."""
        self.deepest = FREE
        mark = json.dumps(value)
        if mark in self.anchors and self.some(2):
            self.end(f"{head} *{self.anchors[mark]}")
            return
        if self.has_anchors and value not in ("", None) and self.some(8):
            name = self.one("x", f"a{len(self.anchors)}")
            self.anchors = {key: name_ for key, name_ in self.anchors.items() if name_ != name} | {mark: name}
            head += f" &{name}"
        if isinstance(value, str | int | float | None):
            self.scalar(value, head, column)
        elif not value or self.some(3):
            self.flow(value, head, column)
        else:
            self.nested(value, head, column, is_flush=is_flush)

    def nested(self, value: Any, head: str, column: int, *, is_flush: bool) -> None:
        own = column + (0 if is_flush and isinstance(value, list) and self.some(2) else 1 + self.number(4))
        is_dash = head.strip() == "-"
        if is_dash and self.some(2):
            beside = head + " " * (own - column)
            own = len(beside)
        else:
            self.end(head)
            beside = ""
        if isinstance(value, dict):
            self.mapping(value, own, beside)
            return
        for item in value:
            if not beside:
                self.between(own)
            self.value(item, (beside or " " * own) + "-", own)
            beside = ""

    def scalar(self, value: Any, head: str, column: int) -> None:
        if not isinstance(value, str):
            self.end(f"{head} {scalar_text(value)}")
        elif "\n" in value:
            self.block(value, head, column)
        elif self.some(6):
            self.lines.append(f"{head}{self.note()}")
            self.lines.append(" " * (column + 1 + self.number(3)) + self.word(value) + self.note())
        else:
            self.end(f"{head}{self.one(' ', ' ', '   ')}{self.word(value)}")

    def block(self, value: str, head: str, column: int) -> None:
        """As `|`, with the sign that says how it ends."""
        step = 1 + self.number(4)
        body = value.rstrip("\n")
        chomp = {0: "-", 1: ""}.get(len(value) - len(body), "+")
        sign = str(step) if value.startswith(" ") or self.some(4) else ""
        self.lines.append(f"{head} |{sign}{chomp}{self.note()}")
        self.lines += [" " * (column + step) + line if line else "" for line in body.split("\n")]
        self.lines += [""] * (len(value) - len(body) - 1)
        self.deepest = column

    def flow(self, value: Any, head: str, column: int) -> None:
        if self.some(3):
            lines = [*self.spread(value, column + 2)]
            self.lines.append(f"{head} {lines[0]}")
            self.lines += lines[1:]
            self.lines[-1] += self.note()
        else:
            self.end(f"{head} {self.in_brackets(value)}")

    def spread(self, value: Any, column: int) -> Iterator[str]:
        """In brackets, over several lines, with comments among them."""
        start, end = "[]" if isinstance(value, list) else "{}"
        yield start + self.note()
        parts = value if isinstance(value, list) else [(key, value[key]) for key in self.shuffled(value)]
        for part in parts:
            if self.some(4):
                yield " " * self.number(column) + self.comment()
            said = (
                self.in_brackets(part)
                if isinstance(value, list)
                else f"{self.flow_key(part[0])}: {self.in_brackets(part[1])}"
            )
            yield f"{' ' * self.number(column + 3)} {said},{self.note()}"
        yield " " * self.number(column + 1) + " " + end

    def in_brackets(self, value: Any) -> str:
        space, comma = self.one("", "", " "), self.one(", ", ", ", ",", " ,  ")
        if isinstance(value, list):
            return f"[{space}{comma.join(map(self.in_brackets, value))}{space}]"
        if isinstance(value, dict):
            keys = self.shuffled(value)
            return (
                "{"
                + space
                + comma.join(f"{self.flow_key(key)}: {self.in_brackets(value[key])}" for key in keys)
                + space
                + "}"
            )
        return self.word(value, in_flow=True) if isinstance(value, str) else scalar_text(value, in_flow=True)

    def word(self, value: str, *, in_flow: bool = False) -> str:
        """A text on one line, in any quotes that can hold it."""
        styles = [scalar_text(value, in_flow=in_flow), double_quoted(value)]
        if "\n" not in value:
            styles.append("'" + value.replace("'", "''") + "'")
        return self.one(*styles)

    def key(self, key: str) -> str:
        return self.one(scalar_text(key), scalar_text(key), double_quoted(key))

    def flow_key(self, key: str) -> str:
        return self.one(scalar_text(key, in_flow=True), double_quoted(key))

    def end(self, line: str) -> None:
        self.lines.append(line + self.note())

    def between(self, column: int) -> None:
        """Lines with nothing but blanks and comments."""
        while self.some(3):
            if self.some(3):
                self.lines.append(" " * self.number(3) if self.deepest == FREE else "")
            else:
                at = min(self.deepest, self.one(column, column, self.number(12)))
                self.lines.append(" " * at + self.comment())

    def note(self) -> str:
        """At the end of a line."""
        return " " * self.one(1, 2, 5, 20) + self.comment() if self.some(5) else self.one("", "", "  ")

    def comment(self) -> str:
        self.comments.append(self.one(*WORDS).format(f"{len(self.comments)}."))
        return self.comments[-1]

    def shuffled(self, value: Mapping[str, Any]) -> list[str]:
        return self.random.sample(sorted(value), len(value))

    def one(self, *choices: T) -> T:
        return self.random.choice(choices)

    def number(self, most: int) -> int:
        return self.random.randint(0, most)

    def some(self, of: int) -> bool:
        """One time in so many."""
        return self.random.randrange(of) == 0
