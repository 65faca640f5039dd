"""Advice followed to the letter works: what is written as the message says is no error any more, wherever it stood."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from reconciler.changes.kind import Kind
from reconciler.documents.parse.shape import Shape, shape_of_spec
from reconciler.journeys.plan.validate import validate
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import Diagnostic

SCALARS = (
    "on", "N", "true", "False", "1.10", "010", "0x1F", "0b11", "1e3", ".nan", "-.inf", ".5", "5.", "-1.5", "+7", "0", "3600",
    "1_000", "9223372036854775808", "1e999", "2026-12-31", "2026-12-31T08:00:00Z", "20261231", "~", "null", "''", '"3"',
    '"true"', "many",
)  # fmt: skip
BESIDE = {
    "name": "ORIGIN", "code": "ST301", "reason": "because", "member": "m", "partitions": "[0]", "max_members": "4",
    "filter": ".".join("*" * 40), "src": "a.*", "dest": "b.*",
}  # fmt: skip
"""What must stand beside other fields, or makes them mean something."""
ADVICE = (
    re.compile(r'put it in quotes: (".*")'),
    re.compile(r"\bwrite (true|false|-?\d+)(?=$|, or | or )"),
    re.compile(r"\bor (false)$"),
    re.compile(r"did you mean `([^`]+)`"),
    re.compile(r"\bwrite (\d[^\s,]*)(?=, )"),
    re.compile(r"\b(?:such as|for example) ([^\s,]+)"),
)


OF_THE_FIELD = {
    "CO561": "the field is for the other way of delivering, whatever it says",
    "ST545": "the field excludes another one",
    "XX530": "the number is read as it was meant, and no version",
    "CO547": "the field means nothing without another one",
    "CO546": "the number is read as it was meant, and more than the stream's",
    **dict.fromkeys(("ST551", "KV551", "OB551"), "the field stands where it has no meaning"),
    **dict.fromkeys(("ST552", "KV552", "OB552"), "the number is read as it was meant, and too large"),
}
"""Errors that are not about how a value is written."""


class Spot(NamedTuple):
    """A text with a place for a scalar."""

    before: str
    after: str

    def said(self, scalar: str, folder: Path) -> list[Diagnostic]:
        """What is said about that very value."""
        file = folder / "t.yaml"
        file.write_text(self.before + scalar + self.after, encoding="utf-8")
        line, column = self.before.count("\n") + 1, len(self.before) - self.before.rfind("\n")
        _, found = validate([file])
        there = (
            one
            for one in found
            if one.code not in OF_THE_FIELD and one.span and (one.span.line, one.span.column) == (line, column)
        )
        return [one for one in there if one.is_error]


def spots(shape: Shape, left: str = "", right: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every place of a scalar below what is expected, with what is written around it."""
    for name, below in shape.properties.items():
        if name == "allow" and depth:
            continue
        beside = "".join(f"{key}: {text}, " for key, text in BESIDE.items() if key in shape.properties and key != name)
        yield from _value(below, f"{left}{{{beside}{name}: ", f"}}{right}", depth)
    if shape.values is not None:
        yield from _value(shape.values, f"{left}{{key: ", f"}}{right}", depth)


def _value(shape: Shape, left: str, right: str, depth: int) -> Iterator[tuple[str, str]]:
    if shape.takes_scalar:
        yield left, right
    if shape.items is not None and depth < 4:
        yield from _value(shape.items, f"{left}[", f"]{right}", depth + 1)
    if not shape.is_anything and shape.takes_mapping and depth < 4:
        yield from spots(shape, left, right, depth + 1)


def around(kind: Kind) -> tuple[str, str]:
    """What stands before and after a resource of this kind."""
    tag = f"type: {kind.place.tag[1]}, " if kind.place.tag else ""
    if kind.place.within:
        return f"streams: {{S: {{subjects: [a.*], {kind.place.section}: {{", f"NAME: {{{tag}"
    return f"{kind.place.section}: {{", f"NAME: {{{tag}"


def values_of(kind: Kind) -> Iterator[Spot]:
    before, name = around(kind)
    for left, right in spots(shape_of_spec(kind.spec)):
        yield Spot(
            f"reconciler: 1\ntopology: t\n{before}{name}{left.removeprefix('{')}",
            right + "}" * before.count("{") + "\n",
        )


def name_of(kind: Kind) -> Spot:
    before, name = around(kind)
    more = "max_members: 4" if "max_members" in kind.spec.model_fields else ""
    return Spot(
        f"reconciler: 1\ntopology: t\n{before}", f"{name.removeprefix('NAME')}{more}}}{'}' * before.count('{')}\n"
    )


def advice(said: Diagnostic) -> list[str]:
    return [found for pattern in ADVICE for found in pattern.findall(f"{said.message}")]


class Followed(NamedTuple):
    """How often advice was followed, and where it led to an error about the very value it gave, or spoke of quotes and
    named none."""

    times: int
    wrong: list[str]


def follow(spot: Spot, folder: Path) -> Followed:
    times, wrong = 0, []
    for scalar in SCALARS:
        for one in spot.said(scalar, folder):
            for better in advice(one):
                times += 1
                after = spot.said(better, folder)
                wrong += [
                    f"{spot.before[24:]}{scalar} → {one.message} → {again.code} {again.message}" for again in after
                ]
            if "in quotes" in one.message and not advice(one):
                wrong.append(f"{spot.before[24:]}{scalar} → {one.message}")
    return Followed(times, wrong)


@pytest.mark.parametrize("kind", REGISTRY.kinds, ids=lambda kind: kind.name)
def test_what_is_advised_for_a_value_is_right_there(kind: Kind, tmp_path: Path) -> None:
    found = [follow(spot, tmp_path) for spot in values_of(kind)]
    assert [line for one in found for line in one.wrong] == []
    assert sum(one.times for one in found) > 99


@pytest.mark.parametrize("kind", REGISTRY.kinds, ids=lambda kind: kind.name)
def test_what_is_advised_for_a_name_can_be_its_name(kind: Kind, tmp_path: Path) -> None:
    found = follow(name_of(kind), tmp_path)
    assert (found.wrong, found.times > 9) == ([], True), found


HEADERS = ("topology: ", "expect: {cluster: ", "expect: {min_server: ", "removed: [{address: stream/OLD, reason: ",
           "removed: [{address: stream/OLD, reason: because, until: ", "forget: [",
           "streams: {ORDERS: {}}\nmoved: [{from: stream/OLD, to: ",
           "guards: [{kind: stream, reason: because, upto: ", "reconciler: ")  # fmt: skip


@pytest.mark.parametrize("before", HEADERS)
def test_what_is_advised_at_the_top_is_right_there(before: str, tmp_path: Path) -> None:
    beside = "".join(
        f"{key}: {text}\n" for key, text in (("reconciler", "1"), ("topology", "t")) if not before.startswith(key)
    )
    after = "".join({"{": "}", "[": "]"}[one] for one in reversed(before.splitlines()[-1]) if one in "{[")
    found = follow(Spot(beside + before, after + "\n"), tmp_path)
    assert (found.wrong, found.times > 2) == ([], True), found


def in_stream(text: str, folder: Path) -> list[str]:
    file = folder / "t.yaml"
    file.write_text(f"reconciler: 1\ntopology: t\nstreams:\n  S:\n    subjects: [a.>]\n{text}", encoding="utf-8")
    return [one.message for one in validate([file])[1] if one.is_error]


UNIT = ", for a number without a unit counts nanoseconds; did you mean `%ds`? So few nanoseconds need their unit: %dns"


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("max_age: 3600", f"max_age `3600` is 3.6µs{UNIT % (3600, 3600)}"),
        ("max_age: 86_400", f"max_age `86_400` is 86.4µs{UNIT % (86400, 86400)}"),
        (
            "consumer_limits: {inactive_threshold: 30}",
            f"consumer_limits.inactive_threshold `30` is 30ns{UNIT % (30, 30)}",
        ),
        ("consumers: {c: {backoff: [1s, 5]}}", f"backoff[1] `5` is 5ns{UNIT % (5, 5)}"),
        ("max_age: on", "max_age `on` is not a duration; write 7d, 36h, 90s or nanoseconds"),
        ("storage: on", "storage `on` is not `file` or `memory`"),
    ],
)  # fmt: skip
def test_a_duration_is_told_in_its_own_words(written: str, told: str, tmp_path: Path) -> None:
    assert in_stream(f"    {written}\n", tmp_path) == [told]


@pytest.mark.parametrize(
    "written", ["max_age: 604800000000000", "consumers: {c: {ack_wait: 3600ns, backoff: [1000000]}}", "max_age: 0"]
)
def test_nanoseconds_that_can_be_meant_are_taken(written: str, tmp_path: Path) -> None:
    assert in_stream(f"    {written}\n", tmp_path) == []


def test_a_member_that_quotes_cannot_save_is_told_which_names_there_are(tmp_path: Path) -> None:
    group = (
        "    groups: {g: {type: elastic, max_members: 4, partitioning_filters: [{filter: a.*}], members: [1.10, 5]}}\n"
    )
    assert in_stream(group, tmp_path) == [
        "members[0] `1.10` is a number; write a name of letters, digits, `_`, `=` and `-`",
        'members[1] `5` is a number; put it in quotes: "5"',
    ]


@pytest.mark.parametrize("version", ['"on"', '"2.x"', "on", "2.10"])
def test_a_version_that_is_none_is_an_error_and_no_crash(version: str, tmp_path: Path) -> None:
    file = tmp_path / "t.yaml"
    file.write_text(f"reconciler: 1\ntopology: t\nexpect: {{min_server: {version}}}\n", encoding="utf-8")
    assert [one.code for one in validate([file])[1]] == ["XX502"]
