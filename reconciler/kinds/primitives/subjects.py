"""The algebra of subjects: what is valid, what matches, what may meet, what lies inside what; and legal names."""

from __future__ import annotations

WHITE = frozenset(" \t\r\n\f")
LONGEST_NAME = 255
WILDCARDS = ("*", ">")


def is_valid(subject: str) -> bool:
    """No empty token, no white space, `>` alone only at the end. Wildcards inside a longer token are literals."""
    tokens = subject.split(".")
    return all(tokens) and ">" not in tokens[:-1] and not WHITE & set(subject)


def is_literal(subject: str) -> bool:
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


def collide(one: str, other: str) -> bool:
    """May some literal subject match both? Between two patterns the server takes a token that merely starts with a
    wildcard (`*a`) for one, so it refuses a little more than it would have to, and so do we."""
    if is_literal(one) or is_literal(other):
        return is_subset(one, other) or is_subset(other, one)
    ones, others = one.split("."), other.split(".")
    for mine, theirs in zip(ones, others, strict=False):
        if ">" in (mine, theirs):
            return True
        if mine != theirs and mine[:1] not in WILDCARDS and theirs[:1] not in WILDCARDS:
            return False
    return len(ones) == len(others)


def name_problem(name: str) -> str | None:
    """Why the server refuses this name of a stream or consumer; None when it is fine."""
    if not name:
        return "it is empty"
    if len(name.encode()) > LONGEST_NAME:
        return f"it is longer than {LONGEST_NAME} bytes"
    bad = sorted(set(name) & (WHITE | set(".*>\\/")))
    if bad:
        return "it contains " + " and ".join("white space" if c in WHITE else f"`{c}`" for c in bad)
    return None
