"""Finds texts in a condition that a field never has. Such a policy would silently forbid nothing, or everything."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from reconciler.changes.kind import Kind, Registry

_TOKEN = re.compile(
    r"""//[^\n]*|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"|(?P<name>[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)|==|!=|\S"
)
_EQUALS = ("==", "!=")
FIELDS = "change.fields"


class ImpossibleText(NamedTuple):
    """A text that a name never is."""

    name: str
    text: str
    possible: Sequence[str]
    at: int
    """Its offset in the condition."""


class _Token(NamedTuple):
    word: str
    is_text: bool
    at: int


def impossible_texts(condition: str, possible: Mapping[str, Sequence[str]]) -> Iterator[ImpossibleText]:
    """Find the texts that a condition compares in vain with a name of which all `possible` texts are known."""
    tokens = [
        _Token(re.sub(r"\s", "", match[0]) if match["name"] else match[0], match["text"] is not None, match.start())
        for match in _TOKEN.finditer(condition)
        if not match[0].startswith("//")
    ]
    for number, token in enumerate(tokens):
        text = token.word[1:-1]
        if not token.is_text or not text or "\\" in text:
            continue
        name = _compared_name([one.word for one in tokens[:number]], [one.word for one in tokens[number + 1 :][:3]])
        if name in possible and text not in possible[name]:
            yield ImpossibleText(name, text, possible[name], token.at)


def _compared_name(before: Sequence[str], after: Sequence[str]) -> str:
    """The name that a text between these words is compared with; empty where it is none by itself."""
    if [*after[:2]] == ["in", FIELDS]:
        return FIELDS
    if before[-1:] and before[-1] in _EQUALS and after[:1] != ["+"]:
        return before[-2] if before[-3:-2] != ["+"] else ""
    if after[:1] and after[0] in _EQUALS and before[-1:] != ["+"]:
        return after[1] if not {*after[2:3]} & {"+", "[", "("} else ""
    while before and before[-1][0] in "\"',":
        before = before[:-1]
    return before[-3] if [*before[-2:]] == ["in", "["] and len(before) > 2 else ""


def possible_texts(
    kind: Kind, registry: Registry, kinds: Collection[str], actions: Sequence[str]
) -> dict[str, Sequence[str]]:
    """Every text of each name that has only a few, for a policy about these `kinds` that is read for one `kind` of them."""
    above = kind.place.within
    specs = {"resource": kind.spec, "before": kind.spec, **({"stream": registry[above].spec} if above else {})}
    of_fields = {
        f"{prefix}.{field}": choices
        for prefix, spec in specs.items()
        for field, info in spec.model_fields.items()
        if (choices := [*_annotation_literals(info.annotation)])
    }
    about = [registry[name] for name in kinds or registry.by_name]
    fields = [field for one in about for field in (*one.fields, *one.spec.model_fields)]
    return {**of_fields, "resource.kind": [*registry.by_name], "change.action": actions, FIELDS: fields}


def _annotation_literals(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (choice for choice in get_args(annotation) if isinstance(choice, str))
    else:
        for inner in get_args(annotation):
            yield from _annotation_literals(inner)
