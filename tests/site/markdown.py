"""Markdown that GitHub and the site show alike: tables, and cells that keep within them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reconciler.kinds import REGISTRY

RULES = frozenset(rule.code for rule in REGISTRY.rules())
CODE = re.compile(r"\b(?P<code>[A-Z]{2}\d{3})\b")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Its lines; a column that is empty in every row is left out."""
    cells = [[*map(cell, row)] for row in rows]
    kept = [n for n, _ in enumerate(head) if n == 0 or any(row[n] for row in cells)]
    lines = ([head[n] for n in kept], ["---"] * len(kept), *([row[n] for n in kept] for row in cells))
    return [f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines]


def cell(text: str) -> str:
    """On one line, and without a bar that would end it."""
    return " ".join(text.split()).replace("|", "\\|")


def prose(text: str) -> str:
    """Outside of code, what Markdown would take for its own is said as it is."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_<>\[\]])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def anchor(heading: str) -> str:
    """How a link names it, on GitHub as on the site."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def with_rules(text: str, to_rules: str) -> str:
    """The code of each rule leads to its page; `to_rules` is the way to their folder."""

    def linked(found: re.Match[str]) -> str:
        code = found["code"]
        return f"[{code}]({to_rules}{code}.md)" if code in RULES else code

    return CODE.sub(linked, text)


def fenced(language: str, text: str) -> list[str]:
    return [f"```{language}", *text.strip("\n").splitlines(), "```"]


def as_code(value: Any) -> str:
    """A value as code, in the flow style of YAML."""
    return f"`{value if isinstance(value, str) else flow(value)}`"


def as_pairs(values: Mapping[str, Any]) -> str:
    """The same of keys and values without the braces around them."""
    return f"`{flow(values)[1:-1]}`"


def flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {flow(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, str):
        return value if re.fullmatch(r"[\w.$>*][\w.$>* -]*", value) else f'"{value}"'
    return json.dumps(value)


def page(*parts: Iterable[str]) -> str:
    """Paragraphs and blocks with one empty line between them."""
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"
