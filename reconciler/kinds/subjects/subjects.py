"""The algebra of subjects: what is valid, what matches, what overlaps, what lies inside what; and valid names."""

from __future__ import annotations

from reconciler.model.resource import Config

WHITE = frozenset(" \t\r\n\f")
LONGEST_NAME = 255
WILDCARDS = ("*", ">")


def is_valid(subject: str) -> bool:
    """No empty token, no white space, `>` alone only at the end. Wildcards inside a longer token are literals."""
    tokens = subject.split(".")
    return all(tokens) and ">" not in tokens[:-1] and not WHITE & set(subject)


def is_literal(subject: str) -> bool:
    """No token is a wildcard; `a*` is a token like any other."""
    return not {"*", ">"} & set(subject.split("."))


def matches(literal: str, pattern: str) -> bool:
    """Does a message on this literal subject match the pattern?"""
    return is_subset(literal, pattern)


def is_subset(inner: str, outer: str) -> bool:
    """Does everything that matches `inner` match `outer`?"""
    ins, outs = inner.split("."), outer.split(".")
    for index, out in enumerate(outs):
        if out == ">":
            return len(ins) > index
        if index >= len(ins) or ins[index] == ">" or (out != "*" and out != ins[index]):
            return False
    return len(ins) == len(outs)


def intersection(one: str, other: str) -> str | None:
    """The subject that matches exactly what both match; None if nothing does."""
    if is_subset(one, other):
        return one
    if is_subset(other, one):
        return other
    met: list[str] = []
    ones, others = one.split("."), other.split(".")
    for index in range(max(len(ones), len(others))):
        mine, theirs = _token(ones, index), _token(others, index)
        if mine is None or theirs is None or (mine != theirs and not {mine, theirs} & set(WILDCARDS)):
            return None
        met.append(theirs if mine == ">" or (mine == "*" and theirs != ">") else mine)
    return ".".join(met)


def _token(tokens: list[str], index: int) -> str | None:
    """The token at this place; a `>` at the end stands for every place that follows."""
    if index < len(tokens):
        return tokens[index]
    return ">" if tokens[-1] == ">" else None


def collide(one: str, other: str) -> bool:
    """Can some literal subject match both? None matches an invalid subject, whose only error is that it is invalid."""
    return overlap(one, other) and is_valid(one) and is_valid(other)


def overlap(one: str, other: str) -> bool:
    """The same for subjects known to be valid, as the server checks it. Beside a real wildcard it also treats tokens
    that merely start with one (`*a`) as wildcards, and so refuses slightly more than it would have to."""
    if one == other:
        return True
    ones, others = one.split("."), other.split(".")
    if is_literal(one) or is_literal(other):
        return (not is_literal(other) and _server_matches(others, ones)) or (
            not is_literal(one) and _server_matches(ones, others)
        )
    for mine, theirs in zip(ones, others, strict=False):
        if ">" in (mine, theirs):
            return True
        if mine != theirs and mine[:1] not in WILDCARDS and theirs[:1] not in WILDCARDS:
            return False
    return len(ones) == len(others)


def _server_matches(pattern: list[str], literal: list[str]) -> bool:
    for index, token in enumerate(pattern):
        if token == ">":
            return len(literal) > index
        if index >= len(literal) or (token[:1] != "*" and token != literal[index]):
            return False
    return len(pattern) == len(literal)


RESERVED = ("$JS.>", "$JSC.>", "$NRG.>", "$SYS.>")
ALLOWED = ("$JS.EVENT.>", "$SYS.ACCOUNT.>")


def colliding_reserved_subject(subject: str) -> str | None:
    """The server's own subjects that it captures."""
    taken = next((reserved for reserved in RESERVED if subject[:1] in "$*>" and collide(subject, reserved)), None)
    return None if taken and any(is_subset(subject, reserved) for reserved in ALLOWED) else taken


def storable_subjects(config: Config) -> dict[int, str]:
    """A stream's subjects by their index, without those that no server allows it. Those are errors by themselves, so
    their overlaps are none."""
    subjects = enumerate(config.get("subjects") or ())
    return {
        i: subject
        for i, subject in subjects
        if is_valid(subject) and (config.get("no_ack") or not colliding_reserved_subject(subject))
    }


def name_problem(name: str) -> str | None:
    """Why the server refuses this name of a stream or consumer; None if it is fine."""
    if not name:
        return "it is empty"
    if len(name.encode()) > LONGEST_NAME:
        return f"it is longer than {LONGEST_NAME} bytes"
    bad = sorted(set(name) & (WHITE | set(".*>\\/\0")))
    if bad:
        spelled = ("white space" if char in WHITE else "NUL" if char == "\0" else f"`{char}`" for char in bad)
        return "it contains " + " and ".join(spelled)
    return None
