"""What stands on one line, in form: `[a, b]` and `{key: value}` with one space where one belongs, and keys in their order."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol, TypeVar

from ruamel.yaml.tokens import (
    AliasToken,
    AnchorToken,
    FlowEntryToken,
    FlowMappingEndToken,
    FlowMappingStartToken,
    FlowSequenceEndToken,
    FlowSequenceStartToken,
    KeyToken,
    ScalarToken,
    ValueToken,
)

from reconciler.documents.fill.values import HIDDEN
from reconciler.documents.parse.shape import ANYTHING, Shape
from reconciler.documents.write.tokens import Token

STARTS = (FlowMappingStartToken, FlowSequenceStartToken)
ENDS = (FlowMappingEndToken, FlowSequenceEndToken)
MERGE = "<<"
_NOT_IN_DOUBLE_QUOTES = re.compile(rf'["\\]|{HIDDEN.pattern}')
"""What would need an escape there, or stand for what may need one."""


class HasKey(Protocol):
    """An entry of a mapping, with the place of its first token and of the one behind its last."""

    @property
    def key(self) -> str: ...

    @property
    def tokens(self) -> tuple[int, int]: ...


class _Odd(Exception):
    """Said in a way that is seldom seen, and stays as it is."""


class _Entry(NamedTuple):
    key: str
    tokens: tuple[int, int]
    text: str


T = TypeVar("T", bound=HasKey)


def arrange(entries: Sequence[T], names: Collection[str], tokens: Sequence[Token]) -> list[T]:
    """The entries in the order of `names`, others behind them. What an alias refers to stays before it."""
    ranks = {MERGE: -1, **{name: number for number, name in enumerate(names)}}
    left = sorted(entries, key=lambda entry: ranks.get(entry.key, len(ranks))) if names else list(entries)
    if left == entries or not any(_anchors_and_aliases(entry, tokens)[0] for entry in entries):
        return left
    return _anchors_first(left, entries, tokens)


def _anchors_first(left: list[T], before: Sequence[T], tokens: Sequence[Token]) -> list[T]:
    """Keep what an alias refers to before it. An anchor may be given to something else later on: so neither do two of
    one name change places."""
    arranged: list[T] = []
    names_by_entry = {id(entry): _anchors_and_aliases(entry, tokens) for entry in before}
    earlier = {
        id(entry): {
            id(other) for other in before[:index] if _has_conflict(names_by_entry[id(other)], names_by_entry[id(entry)])
        }
        for index, entry in enumerate(before)
    }
    while left:
        placed = {id(entry) for entry in arranged}
        following = next(entry for entry in left if earlier[id(entry)] <= placed)
        left = [entry for entry in left if entry is not following]
        arranged.append(following)
    return arranged


Named = tuple[set[str], set[str]]
"""Anchors, and what aliases refer to."""


def _anchors_and_aliases(entry: HasKey, tokens: Sequence[Token]) -> Named:
    within = tokens[slice(*entry.tokens)]
    return (
        {token.value for token in within if type(token) is AnchorToken},
        {token.value for token in within if type(token) is AliasToken},
    )


def _has_conflict(one: Named, other: Named) -> bool:
    return not (one[0].isdisjoint(other[0] | other[1]) and one[1].isdisjoint(other[0]))


def closing_index(tokens: Sequence[Token], index: int) -> int:
    """Find where the bracket or brace that is opened at a token is closed."""
    depth = 0
    while True:
        depth += (type(tokens[index]) in STARTS) - (type(tokens[index]) in ENDS)
        if not depth:
            return index
        index += 1


def prefer_double_quotes(written: str, token: Token) -> str:
    """Use double quotes instead of single ones, where what stands between them means the same in both."""
    if token.style != "'" or _NOT_IN_DOUBLE_QUOTES.search(token.value):
        return written
    return f'"{token.value}"'


class OneLine:
    """Writes a value that stands on one line."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text, self._tokens = text, tokens
        self._at = 0

    def write(self, first: int, last: int, order: Shape) -> str:
        """The value from one token to another, both included."""
        self._at = first
        try:
            return self._write_value(order)
        except _Odd:
            return self.slice(first, last)

    def slice(self, first: int, last: int) -> str:
        """The text from one token to another, unchanged."""
        return self._text[self._tokens[first].start_mark.index : self._tokens[last].end_mark.index]

    def _write_value(self, order: Shape) -> str:
        token, index = self._next_token(), self._at - 1
        if type(token) is AnchorToken:
            return f"{self.slice(index, index)} {self._write_value(order)}"
        if type(token) is ScalarToken:
            return prefer_double_quotes(self.slice(index, index), token)
        if type(token) is AliasToken:
            return self.slice(index, index)
        if type(token) is FlowSequenceStartToken:
            return f"[{', '.join(self._item_texts(order.items or ANYTHING))}]"
        if type(token) is FlowMappingStartToken:
            entries = arrange(self._entries(order), order.properties, self._tokens)
            return f"{{{', '.join(entry.text for entry in entries)}}}"
        raise _Odd

    def _item_texts(self, order: Shape) -> list[str]:
        texts = []
        while self._has_next():
            texts.append(self._write_value(order))
        return texts

    def _entries(self, order: Shape) -> list[_Entry]:
        entries = []
        while self._has_next():
            start = self._at
            mark, key, colon = self._next_token(), self._next_token(), self._next_token()
            if (type(mark), type(key), type(colon)) != (KeyToken, ScalarToken, ValueToken) or is_explicit(mark):
                raise _Odd
            written = prefer_double_quotes(self.slice(start + 1, start + 1), key)
            value = self._write_value(order.below(key.value) or ANYTHING)
            entries.append(_Entry(key.value, (start, self._at), f"{written}: {value}"))
        return entries

    def _has_next(self) -> bool:
        """Pass the comma, or the end. Is there another entry?"""
        if type(self._tokens[self._at]) is FlowEntryToken:
            self._at += 1
        if type(self._tokens[self._at]) in ENDS:
            self._at += 1
            return False
        return True

    def _next_token(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]


def is_explicit(mark: Token) -> bool:
    """Is it a question mark, and no mere sign that a key follows?"""
    return bool(mark.end_mark.index > mark.start_mark.index)
