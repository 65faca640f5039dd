"""Fills in `${name}` in files with values given from outside: one file, many accounts. `$${name}` is the text
`${name}`.

Values are put into the text before it is read as YAML. So places on a line with a value are those of the filled text,
and the line is judged as if the value had been written there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from reconciler.documents.read.complain import complain, did_you_mean
from reconciler.documents.read.files import DISK, Tree
from reconciler.model.diagnostic import Diagnostic, SourceSpan

NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
MENTIONED = re.compile(rf"\$(?P<own>\$)?\{{(?P<name>{NAME})\}}")
_LITERAL = re.compile(rf"\$(?=\{{{NAME}\}})")
_COMMENT = re.compile(r"""^(?:[^'"#]|(?<=\S)\#|'[^']*'|"(?:\\.|[^"\\])*")*?(?:^|\s)\#""")


class OrItsName(dict[str, str]):
    """Fills in the name itself for a missing value: enough to find the owner of a file."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return name


@dataclass(frozen=True, slots=True)
class Filled:
    """Files with their values filled in."""

    tree: Tree = DISK
    values: Mapping[str, str] = field(default_factory=dict)
    needed: Collection[str] = ()
    """Names of values that must be used: they were given for these files alone."""
    mentioned: set[str] = field(default_factory=set)
    """Names that stand in the files read so far."""

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        """Find the files of the tree below; values in paths are not filled in."""
        return self.tree.find(paths)

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        """Return the text with every value filled in. A missing value stays unfilled, with a problem."""
        text, problems = self.tree.read(path)
        if problems or "${" not in text:
            return text, problems
        self.mentioned.update(mentions(text))
        return filled(str(path), text, self.values)

    def unused(self) -> list[Diagnostic]:
        """Report values that no file uses, as far as the files were read: a misspelt name must not pass for a value in
        place."""
        return [_unused(name, self.mentioned) for name in self.needed if name not in self.mentioned]


def mentions(text: str) -> set[str]:
    """Return the names in a text that stand for a value."""
    found = MENTIONED.finditer(text)
    return {one["name"] for one in found if not one["own"] and not _is_comment(text, one.start())}


def filled(file: str, text: str, values: Mapping[str, str]) -> tuple[str, list[Diagnostic]]:
    """Return the text with every value filled in, and a problem for each missing one."""
    problems: list[Diagnostic] = []

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        if found["own"] or _is_comment(text, found.start()):
            return found[0].removeprefix("$") if found["own"] else found[0]
        if name not in values:
            problems.append(_missing(name, values, _span(file, text, found)))
            return ""
        if not values[name].isprintable():
            said = f"the value of `${{{name}}}` contains a line break, or another character that does not fit on a line"
            problems.append(complain("XX515", "no-value", said, _span(file, text, found)))
        return values[name]

    whole = MENTIONED.sub(value, text)
    return (text, problems) if problems else (whole, [])


def literal(text: str) -> str:
    """Escape a text for a file, where `${name}` would otherwise stand for a value."""
    return _LITERAL.sub("$$", text) if "${" in text else text


def _is_comment(text: str, at: int) -> bool:
    return _COMMENT.match(text[text.rfind("\n", 0, at) + 1 : at]) is not None


def _missing(name: str, values: Mapping[str, str], span: SourceSpan) -> Diagnostic:
    known = did_you_mean(name, values) if values else ""
    fix = f"give it a value (--value {name}=…, or `values` in fleet.yaml), or write `$${{{name}}}` for the text itself"
    return complain("XX515", "no-value", f"`${{{name}}}` has no value{known}", span, fix=fix)


def _unused(name: str, mentioned: set[str]) -> Diagnostic:
    message = f"value `{name}` is given, but no file mentions `${{{name}}}`{did_you_mean(name, mentioned)}"
    return complain("XX516", "unused-value", message, None, fix=f"leave {name} out, or give the name that you meant")


def _span(file: str, text: str, found: re.Match[str]) -> SourceSpan:
    line = text.count("\n", 0, found.start()) + 1
    start = text.rfind("\n", 0, found.start())
    return SourceSpan(file, line, found.start() - start, line, found.end() - start)
