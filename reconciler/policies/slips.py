"""Finds what only shows when a condition is judged, and can be known when it is read: fields that no item of a list has, and
texts that are no pattern or no duration."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reconciler.model.spelling import meant_choice
from reconciler.policies.variables import CHAIN, LITERAL, Variable

ASKS_IN_VAIN = "asks in vain"
MACROS = ("all", "exists", "exists_one", "filter", "map")
_ITEM = re.compile(r"\s*\(\s*([A-Za-z_]\w*)\s*,")
_INDEXED = re.compile(r"\s*\[[^\[\]]*\]((?:\s*\.\s*[A-Za-z_]\w*)+)")
_CALL = re.compile(
    rf"//[^\n]*|\b(?P<function>matches|duration|timestamp|int|uint|double)\s*\((?:[^'\"()]*,)?\s*(?P<text>{LITERAL})\s*\)|{LITERAL}",
    re.DOTALL,
)
_NOUNS = {"matches": "no regular expression", "duration": "no duration", "timestamp": "no time"}


class Slip(NamedTuple):
    """What is wrong, and its offset in the condition."""

    message: str
    at: int
    fault: str = "cannot be judged"


class _Chain(NamedTuple):
    """Names with dots between them, and what they begin with."""

    names: Sequence[str]
    fields: Mapping[str, Any]
    """What items of the list have; empty where this is no list."""
    is_item: bool
    """Whether it begins with an item, and not with the list."""
    at: int
    end: int


def slips_in_items(condition: str, known_variables: Mapping[str, Variable]) -> Iterator[Slip]:
    """Find fields of list items that do not exist, and questions whether one exists that always does."""
    of_items = dict[str, Mapping[str, Any]]()
    for match in CHAIN.finditer(condition):
        chain = _chain_of(match, known_variables, of_items)
        if not chain.fields:
            continue
        if chain.is_item:
            yield from _slips_in_chain(chain, condition, of_items)
        elif not chain.names and (indexed := _INDEXED.match(condition, chain.end)):
            names = [name.strip() for name in indexed[1].split(".")[1:]]
            inner = _Chain(names, chain.fields, True, indexed.start(1) + 1, indexed.end())
            yield from _slips_in_chain(inner, condition, of_items)
        else:
            _name_items(chain.names, chain.fields, condition, chain.end, of_items)


def _chain_of(
    match: re.Match[str], known_variables: Mapping[str, Variable], of_items: Mapping[str, Mapping[str, Any]]
) -> _Chain:
    parts = re.split(r"\s*\.\s*", match["chain"] or "")
    for length in range(len(parts), 1, -1):
        if variable := known_variables.get(".".join(parts[:length])):
            return _Chain(parts[length:], variable.fields, False, match.start(), match.end())
    return _Chain(parts[1:], of_items.get(parts[0], {}), True, match.start(), match.end())


def _slips_in_chain(chain: _Chain, condition: str, of_items: dict[str, Mapping[str, Any]]) -> Iterator[Slip]:
    """Follow the names through fields in fields."""
    fields = chain.fields
    for number, name in enumerate(chain.names):
        is_called = number == len(chain.names) - 1 and condition[chain.end :].lstrip().startswith("(")
        if name not in fields:
            if not is_called:
                near = meant_choice(name, fields)
                hint = f"did you mean `{near}`?" if near else f"they have {', '.join(fields)}"
                yield Slip(f"items have no `{name}`; {hint}", chain.at)
            return
        info = fields[name]
        if getattr(info, "unit", "") != "mapping":
            _name_items(chain.names[number + 1 :], getattr(info, "nested", None) or {}, condition, chain.end, of_items)
            break
        fields = info.nested or {}
    if re.search(r"\bhas\s*\(\s*$", condition[: chain.at]):
        yield Slip(
            f"`has({condition[chain.at : chain.end]})` is not needed: a field that an item leaves out is empty",
            chain.at,
            ASKS_IN_VAIN,
        )


def _name_items(
    names: Sequence[str], fields: Mapping[str, Any], condition: str, end: int, of_items: dict[str, Mapping[str, Any]]
) -> None:
    """Remember the name that a macro gives to each item: `one` of `resource.sources.exists(one, …)`."""
    if [*names[-1:]] and names[-1] in MACROS and len(names) == 1 and (item := _ITEM.match(condition, end)):
        of_items[item[1]] = {**of_items.get(item[1], {}), **fields}


def slips_in_texts(condition: str, failure: Callable[[str], str]) -> Iterator[Slip]:
    """Find texts with which a function fails whatever is judged. `failure` says why an expression fails; empty: it does
    not."""
    for match in _CALL.finditer(condition):
        function, text = match["function"], match["text"]
        if function and (why := failure(f"''.matches({text})" if function == "matches" else f"{function}({text})")):
            noun = _NOUNS.get(function, "no number")
            reason = why.partition("invalid regular expression: ")[2].partition(": ")[0]
            yield Slip(f"{text} is {noun}{f' ({reason})' if reason else ''}", match.start("text"))
