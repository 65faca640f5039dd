"""Sentences, and ways out: words, numbered steps and text to copy."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Literal, NamedTuple


def sentence(message: str, path: str = "") -> str:
    """Return a message for use after a full stop: it gets a capital, unless it begins with a name, and its own full
    stop."""
    first = message.partition(" ")[0]
    if first.isalpha() and first != path:
        message = message[0].upper() + message[1:]
    return message if message[-1:] in (".", "!", "?", "…", "") else f"{message}."


_ALLOW, _BELOW = re.compile(r"\s+allow: \["), "\n  allow: ["
"""Text to copy stands on a line of its own."""


def way_out_lines(fix: str) -> list[str]:
    """Return the way out in lines, of which one may be copied whole."""
    return f"Instead: {_ALLOW.sub(_BELOW, fix)}".splitlines() if fix else []


class WayOutPart(NamedTuple):
    """One part of a way out."""

    form: Literal["words", "steps", "copy"]
    """Words, the steps of a numbered list without their numbers, or text to copy."""
    lines: tuple[str, ...]


_STEP = re.compile(r" *\d+\. (.*)")


def parts_of_way_out(fix: str) -> list[WayOutPart]:
    """Return the way out in parts, each of lines of one form."""
    lines = (_line_with_form(line) for line in _ALLOW.sub(_BELOW, f" {fix}").splitlines() if line.strip())
    return [
        WayOutPart(form, tuple(text for _, text in same)) for form, same in groupby(lines, key=lambda line: line[0])
    ]


def _line_with_form(line: str) -> tuple[Literal["words", "steps", "copy"], str]:
    if step := _STEP.fullmatch(line):
        return "steps", step[1]
    return "copy" if line.startswith("  ") else "words", line.strip()
