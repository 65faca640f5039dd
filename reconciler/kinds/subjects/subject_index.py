"""Which of many subjects may overlap with this one? A tree by tokens, since comparing all with all takes minutes for
thousands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from reconciler.model.dataclass import dataclass

Owned = tuple[str, str]
"""A stream and one of its subjects."""


@dataclass(slots=True)
class _Node:
    ends: list[Owned] = field(default_factory=list)
    """Subjects whose last token led here."""
    tails: list[Owned] = field(default_factory=list)
    """Subjects that continue with `>`: they may overlap with whatever follows."""
    next: dict[str, _Node] = field(default_factory=dict)


class SubjectIndex:
    """Candidates only: `subjects.collide` decides whether two subjects really collide."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, stream: str, subject: str) -> None:
        """Enter a subject under its owner's name: a stream, a consumer or an address."""
        node = self._root
        for token in subject.split("."):
            if token.startswith(">"):
                node.tails.append((stream, subject))
                return
            node = node.next.setdefault(_wildcard_or_token(token), _Node())
        node.ends.append((stream, subject))

    def near(self, subject: str) -> Iterator[Owned]:
        """Every entered subject that may collide with this one, with its owner; some of them do not."""
        yield from _matching_subjects(self._root, [_wildcard_or_token(token) for token in subject.split(".")], 0)


def _wildcard_or_token(token: str) -> str:
    """When it looks for collisions, the server treats every token that begins like a wildcard as one."""
    return token[0] if token[:1] in ("*", ">") else token


def _matching_subjects(node: _Node, tokens: list[str], index: int) -> Iterator[Owned]:
    if index == len(tokens):
        yield from node.ends
        return
    yield from node.tails
    token = tokens[index]
    if token == ">":
        yield from _all_below(node)
    elif token == "*":
        for following in node.next.values():
            yield from _matching_subjects(following, tokens, index + 1)
    else:
        for same in (token, "*"):
            if same in node.next:
                yield from _matching_subjects(node.next[same], tokens, index + 1)


def _all_below(node: _Node) -> Iterator[Owned]:
    for following in node.next.values():
        yield from following.ends
        yield from following.tails
        yield from _all_below(following)
