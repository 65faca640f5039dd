"""Subject transforms: what a destination such as `{{partition(8,1)}}.orders.{{wildcard(1)}}` says, and why a server
refuses it.

Reconciler is stricter than servers in one respect: it refuses zero partitions (2.11 crashes on them at the first
message), and wildcards numbered below 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from reconciler.kinds.fields.known import V2_12, V2_15
from reconciler.kinds.subjects.subjects import WHITE, intersection, is_literal, is_valid
from reconciler.model.resource import Json
from reconciler.model.wire.version import Version

LARGEST = (1 << 31) - 1

_BY_WILDCARD = ("splitfromleft", "splitfromright", "slicefromleft", "slicefromright", "left", "right")
_SINCE = {"random": V2_12, "left": V2_15, "right": V2_15}
_FUNCTION = re.compile(
    r"\{\{\s*([pP]artition|[wW]ildcard|[sS](?:plit|lice)[fF]rom(?:[lL]eft|[rR]ight)|[sS]plit|[lL]eft|[rR]ight|[rR]andom)"
    r"\s*\((.*)\)\s*\}\}"
)
_NUMBER = re.compile(r"[+-]?\d+")


class DestinationFunction(NamedTuple):
    """One function in a destination; it is a whole token."""

    name: str
    """In lower case: servers ignore the case of the first letters."""
    args: tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its arguments as numbers. Raises ValueError if one is a text, as the second of `split` is."""
        return tuple(int(arg) for arg in self.args)


def calls(dest: str) -> list[DestinationFunction]:
    """The functions of a destination, from left to right; unknown ones are left out."""
    return [call for token in dest.split(".") if (call := _parsed_call(token))]


def partition_call(dest: str) -> DestinationFunction | None:
    """The partition function that a destination starts with: `numbers[0]` partitions, then the deciding wildcards."""
    call = _parsed_call(dest.split(".", maxsplit=1)[0])
    is_partition = call and call.name == "partition" and not list(_argument_problems(call))
    return call if call and is_partition and 1 <= _size_argument(call) <= LARGEST else None


def outcome(dest: str) -> str:
    """Every subject that a transform's destination can give: functions become `*`."""
    return ".".join("*" if _is_function(token) else token for token in dest.split("."))


def _is_function(token: str) -> bool:
    return token.startswith("{{") or (token[:1] == "$" and token[1:].isdigit())


def published_as(subject: str, transform: Mapping[str, Json]) -> str | None:
    """Everything that a transform stores under this subject, by the subjects under which it is published; None: nothing. What
    other functions than `wildcard` make of a token does not narrow it, so the answer is rather too much."""
    dest = transform["dest"].split(".")
    if (met := intersection(subject, outcome(transform["dest"]))) is None:
        return None
    given = met.split(".")
    values = {number: value for token, value in zip(dest, given, strict=False) if (number := _wildcard_number(token))}
    *tokens, last = (transform.get("src") or ">").split(".")
    numbers = iter(range(1, len(tokens) + 2))
    published = [values.get(next(numbers), token) if token == "*" else token for token in (*tokens, last)]
    return ".".join([*published[:-1], *given[len(dest) - 1 :]] if last == ">" else published)


def _wildcard_number(token: str) -> int | None:
    """The number of the wildcard of `src` that this token repeats."""
    if token[:1] == "$" and token[1:].isdigit():
        return int(token[1:])
    call = _parsed_call(token)
    return int(call.args[0]) if call and call.name == "wildcard" and call.args[0].isdigit() else None


class Problem(NamedTuple):
    """What is wrong with a transform, in words."""

    words: str
    refused: bool = True
    """Servers refuse it. Otherwise they accept it and misread it, or crash on it."""


class _Purpose(NamedTuple):
    """What a destination is judged for."""

    src: str
    version: Version
    republishing: bool
    """Servers check this less strictly: white space, and functions that are too young for transforms, are fine."""

    @property
    def wildcards(self) -> int:
        return self.src.split(".").count("*")


def problem(src: str, dest: str, version: Version) -> str | None:
    """Why this transform is refused; None if it is fine. An empty `src` is `>`, an empty `dest` changes nothing."""
    worst = worst_problem(src, dest, version)
    return worst.words if worst else None


def worst_problem(src: str, dest: str, version: Version, *, republishing: bool = False) -> Problem | None:
    """The first problem that servers refuse, else the first that only reconciler objects to."""
    if src and not is_valid(src):
        return Problem(f"`{src}` is not a valid subject", refused=bool(dest) or not republishing)
    problems = _problems(dest, _Purpose(src or ">", version, republishing)) if dest else ()
    return min(problems, key=lambda one: not one.refused, default=None)


def _problems(dest: str, purpose: _Purpose) -> Iterator[Problem]:
    tokens, src = dest.split("."), purpose.src
    if not all(tokens) or ">" in tokens[:-1]:
        yield Problem(f"`{dest}` is not a valid subject")
    if "*" in tokens:
        yield Problem(f"`{dest}` contains `*`; write {{{{wildcard(1)}}}} for what the first `*` of `{src}` matched")
    if (tokens[-1] == ">") != (src.rsplit(".", maxsplit=1)[-1] == ">"):
        yield Problem(f"`>` ends only one of `{src}` and `{dest}`; it must end both or neither")
    for token in tokens:
        yield from _token_problems(token, purpose)


def _token_problems(token: str, purpose: _Purpose) -> Iterator[Problem]:
    if token[:1] == "$" and _NUMBER.fullmatch(token[1:]):  # the old spelling of {{wildcard(1)}}
        yield from _range_problems(token, (int(token[1:]),), purpose)
    elif not _looks_like_a_function(token):
        if WHITE & set(token):
            yield Problem(f"`{token}` contains white space", refused=not purpose.republishing)
    elif (call := _parsed_call(token)) is None:
        yield Problem(f"`{token}` is not a function that servers know")
    else:
        yield from _call_problems(token, call, purpose)


def _call_problems(token: str, call: DestinationFunction, purpose: _Purpose) -> Iterator[Problem]:
    since = _SINCE.get(call.name)
    if since and purpose.version < since and not (purpose.republishing and call.name in ("left", "right")):
        yield Problem(f"`{token}` needs nats-server {since.major}.{since.minor}")
    if wrong := next(_argument_problems(call), None):
        yield Problem(f"`{token}` {wrong}")
        return
    if call.name in ("partition", "random", *_BY_WILDCARD) and not 1 <= _size_argument(call) <= LARGEST:
        wraps = call.name == "partition" and purpose.version < V2_12  # 2.11 accepts it and counts with 32 bits of it
        yield Problem(
            f"`{token}` takes a size from 1 to {LARGEST}", refused=_size_argument(call) > LARGEST and not wraps
        )
    if call.name == "partition":
        yield from _whole_subject_problems(token, call, purpose)
        if not is_literal(purpose.src):  # else servers hash the whole subject and ignore the numbers
            yield from _range_problems(token, call.numbers[1:], purpose)
    elif call.name != "random":
        yield from _range_problems(token, (int(call.args[0]),), purpose)


def _whole_subject_problems(token: str, call: DestinationFunction, purpose: _Purpose) -> Iterator[Problem]:
    if (len(call.args) == 1 or is_literal(purpose.src)) and purpose.version < V2_12:
        yield Problem(f"`{token}` partitions by the whole subject, which needs nats-server 2.12")


def _argument_problems(call: DestinationFunction) -> Iterator[str]:
    numeric = call.args[:1] if call.name == "split" else call.args
    wanted = {"wildcard": 1, "random": 1, "split": 2, **dict.fromkeys(_BY_WILDCARD, 2)}.get(call.name)
    if wanted and len(call.args) != wanted:
        yield f"takes {wanted} argument{'s' if wanted > 1 else ''}"
    elif not all(_NUMBER.fullmatch(arg) for arg in numeric):
        yield "takes whole numbers"
    elif call.name == "split" and (not call.args[1] or " " in call.args[1]):
        yield "takes a wildcard's number and a text to split at, without space"


def _size_argument(call: DestinationFunction) -> int:
    return call.numbers[-1] if call.name in _BY_WILDCARD else call.numbers[0]


def _range_problems(token: str, numbers: tuple[int, ...], purpose: _Purpose) -> Iterator[Problem]:
    """Servers treat numbers below 1 as the first token, unless `src` has no wildcard that a number could name."""
    wildcards = purpose.wildcards
    if wrong := [number for number in numbers if not 1 <= number <= wildcards]:
        refused = is_literal(purpose.src) or max(wrong) > wildcards
        worst = max(wrong) if max(wrong) > wildcards else wrong[0]
        yield Problem(
            f"`{token}` names wildcard {worst}, and `{purpose.src}` has {wildcards or 'none'}", refused=refused
        )


def _looks_like_a_function(token: str) -> bool:
    return len(token) > 4 and token.startswith("{{") and token.endswith("}}")


def _parsed_call(token: str) -> DestinationFunction | None:
    match = _FUNCTION.search(token) if _looks_like_a_function(token) else None
    return (
        DestinationFunction(match[1].lower(), tuple(arg.strip(" ") for arg in match[2].split(","))) if match else None
    )
