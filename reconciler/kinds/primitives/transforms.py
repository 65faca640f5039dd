"""Subject transforms: what a destination such as `{{partition(8,1)}}.orders.{{wildcard(1)}}` says, and why a server refuses it.

Stricter than servers in one respect: no partitions (2.11 dies of it at the first message), and wildcards numbered below 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from reconciler.core.wire import Version
from reconciler.kinds.primitives.known import V2_12
from reconciler.kinds.primitives.subjects import WHITE, is_valid

LARGEST = (1 << 31) - 1
V2_15 = Version(2, 15)

_BY_WILDCARD = ("splitfromleft", "splitfromright", "slicefromleft", "slicefromright", "left", "right")
_SINCE = {"random": V2_12, "left": V2_15, "right": V2_15}
_FUNCTION = re.compile(
    r"\{\{\s*([pP]artition|[wW]ildcard|[sS](?:plit|lice)[fF]rom(?:[lL]eft|[rR]ight)|[sS]plit|[lL]eft|[rR]ight|[rR]andom)"
    r"\s*\((.*)\)\s*\}\}"
)
_NUMBER = re.compile(r"[+-]?\d+")


class Call(NamedTuple):
    """One function in a destination; it is a whole token."""

    name: str
    """In lower case: servers do not mind the first letters."""
    args: tuple[str, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(int(arg) for arg in self.args)


def calls(dest: str) -> list[Call]:
    """The functions of a destination, from left to right; unknown ones are left out."""
    return [call for token in dest.split(".") if (call := _call(token))]


def partition_call(dest: str) -> Call | None:
    """The partition function a destination starts with: `numbers[0]` partitions, then the wildcards that decide."""
    call = _call(dest.split(".", maxsplit=1)[0])
    return call if call and call.name == "partition" and not list(_wrong_arguments(call)) else None


def problem(src: str, dest: str, version: Version) -> str | None:
    """Why this transform is refused; None when it is fine. An empty `src` is `>`, an empty `dest` changes nothing."""
    if src and not is_valid(src):
        return f"`{src}` is not a subject"
    return next(_problems(src or ">", dest, version), None) if dest else None


def _problems(src: str, dest: str, version: Version) -> Iterator[str]:
    tokens, wildcards = dest.split("."), src.split(".").count("*")
    if not all(tokens) or ">" in tokens[:-1]:
        yield f"`{dest}` is not a subject"
    if "*" in tokens:
        yield f"`{dest}` holds `*`; write {{{{wildcard(1)}}}} for what the first `*` of `{src}` matched"
    if (tokens[-1] == ">") != (src.rsplit(".", maxsplit=1)[-1] == ">"):
        yield f"`>` ends only one of `{src}` and `{dest}`; it must end both or neither"
    for token in tokens:
        yield from _token_problems(token, wildcards, src, version)


def _token_problems(token: str, wildcards: int, src: str, version: Version) -> Iterator[str]:
    if token[:1] == "$" and _NUMBER.fullmatch(token[1:]):  # the old spelling of {{wildcard(1)}}
        yield from _out_of_range(token, [int(token[1:])], wildcards, src)
    elif not _looks_like_a_function(token):
        if WHITE & set(token):
            yield f"`{token}` holds white space"
    elif (call := _call(token)) is None:
        yield f"`{token}` is no function servers know"
    else:
        yield from _call_problems(token, call, wildcards, src, version)


def _call_problems(token: str, call: Call, wildcards: int, src: str, version: Version) -> Iterator[str]:
    if version < _SINCE.get(call.name, version):
        yield f"`{token}` needs nats-server {_SINCE[call.name].major}.{_SINCE[call.name].minor}"
    if wrong := next(_wrong_arguments(call), None):
        yield f"`{token}` {wrong}"
        return
    if call.name == "partition":
        yield from _whole_subject(token, call, src, version)
        if wildcards or src.endswith(">"):  # else servers hash the whole subject and ignore the numbers
            yield from _out_of_range(token, call.numbers[1:], wildcards, src)
    elif call.name != "random":
        yield from _out_of_range(token, [int(call.args[0])], wildcards, src)


def _whole_subject(token: str, call: Call, src: str, version: Version) -> Iterator[str]:
    whole = len(call.args) == 1 or not {"*", ">"} & set(src.split("."))
    if whole and version < V2_12:
        yield f"`{token}` partitions by the whole subject, which needs nats-server 2.12"


def _wrong_arguments(call: Call) -> Iterator[str]:
    numeric = call.args[:1] if call.name == "split" else call.args
    wanted = {"wildcard": 1, "random": 1, "split": 2, **dict.fromkeys(_BY_WILDCARD, 2)}.get(call.name)
    if wanted and len(call.args) != wanted:
        yield f"takes {wanted} argument{'s' if wanted > 1 else ''}"
    elif not all(_NUMBER.fullmatch(arg) for arg in numeric):
        yield "takes whole numbers"
    elif call.name == "split" and (not call.args[1] or " " in call.args[1]):
        yield "takes a wildcard's number and a text to split at, without space"
    elif call.name in ("partition", "random", *_BY_WILDCARD) and not _sizes_fit(call):
        yield f"takes a size from 1 to {LARGEST}"


def _sizes_fit(call: Call) -> bool:
    size = call.numbers[-1] if call.name in _BY_WILDCARD else call.numbers[0]
    return 1 <= size <= LARGEST


def _out_of_range(token: str, numbers: list[int] | tuple[int, ...], wildcards: int, src: str) -> Iterator[str]:
    if wrong := [number for number in numbers if not 1 <= number <= wildcards]:
        yield f"`{token}` names wildcard {wrong[0]}, and `{src}` has {wildcards or 'none'}"


def _looks_like_a_function(token: str) -> bool:
    return len(token) > 4 and token.startswith("{{") and token.endswith("}}")


def _call(token: str) -> Call | None:
    match = _FUNCTION.search(token) if _looks_like_a_function(token) else None
    return Call(match[1].lower(), tuple(arg.strip(" ") for arg in match[2].split(","))) if match else None
