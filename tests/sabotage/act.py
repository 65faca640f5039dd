"""An act: one promise broken in one place, and the tests that have to notice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class Rotten(Exception):
    """The code has moved on, and the act with it no longer says what to break."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    name: str
    """What is wrong then, in words."""
    file: str
    """From the root of the project."""
    before: str
    """Stands in that file exactly once."""
    after: str
    seen_by: tuple[str, ...]
    """Test files, or single tests, as pytest takes them. One of them must fail."""
    is_quick: bool = False
    """Part of the sample that `make test` takes."""

    def done_to(self, text: str) -> str:
        """Raises Rotten where the place is not there, or not the only one."""
        if (found := text.count(self.before)) != 1:
            raise Rotten(f"`{self.name}`: {self.file} holds its text {found} times, not once: {self.before!r}")
        return text.replace(self.before, self.after)


def chosen(acts: Iterable[Act], word: str = "") -> list[Act]:
    """Those that the word occurs in: in their names, their files or their tests."""
    return [one for one in acts if any(word.lower() in said.lower() for said in (one.name, one.file, *one.seen_by))]


def says(code: str) -> str:
    """The test of what a rule says of its cases."""
    return f"tests/rules/test_rules.py::test_the_rule_says_what_its_cases_expect[{code}]"
