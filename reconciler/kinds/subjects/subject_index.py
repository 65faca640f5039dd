"""Which of many subjects may overlap with this one? A tree by tokens, since comparing all with all takes minutes for
thousands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Generic, TypeVar

from reconciler.model.dataclass import dataclass

Owner = TypeVar("Owner")


@dataclass(slots=True)
class _Node:
    ends: list[int] = field(default_factory=list)
    """Entries whose last token led here."""
    tails: list[int] = field(default_factory=list)
    """Entries that continue with `>`: they may overlap with whatever follows."""
    next: dict[str, _Node] = field(default_factory=dict)


class SubjectIndex(Generic[Owner]):
    """Candidates only: `subjects.collide` decides whether two subjects really collide."""

    def __init__(self, entries: Iterable[tuple[Owner, str]] = ()) -> None:
        self._entries: list[tuple[Owner, str]] = []
        self._root = _Node()
        for owner, subject in entries:
            self.add(owner, subject)

    def add(self, owner: Owner, subject: str) -> None:
        """Enter a subject under its owner: a stream, a consumer, an address or a place in a list."""
        entry, node = len(self._entries), self._root
        self._entries.append((owner, subject))
        for token in subject.split("."):
            if token.startswith(">"):
                node.tails.append(entry)
                return
            key = _wildcard_or_token(token)
            if key not in node.next:
                node.next[key] = _Node()
            node = node.next[key]
        node.ends.append(entry)

    def near(self, subject: str) -> list[tuple[Owner, str]]:
        """Every entered subject that may collide with this one, with its owner, as entered; some of them do not."""
        tokens = [_wildcard_or_token(token) for token in subject.split(".")]
        return [self._entries[entry] for entry in sorted(_matching_entries(self._root, tokens, 0))]


def _wildcard_or_token(token: str) -> str:
    """When it looks for collisions, the server treats every token that begins like a wildcard as one."""
    return token[0] if token[:1] in ("*", ">") else token


def _matching_entries(node: _Node, tokens: list[str], index: int) -> Iterator[int]:
    if index == len(tokens):
        yield from node.ends
        return
    yield from node.tails
    token = tokens[index]
    if token == ">":
        yield from _all_below(node)
    elif token == "*":
        for following in node.next.values():
            yield from _matching_entries(following, tokens, index + 1)
    else:
        for same in (token, "*"):
            if same in node.next:
                yield from _matching_entries(node.next[same], tokens, index + 1)


def _all_below(node: _Node) -> Iterator[int]:
    for following in node.next.values():
        yield from following.ends
        yield from following.tails
        yield from _all_below(following)
