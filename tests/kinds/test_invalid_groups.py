"""Every group that can never work is an error at its line and column before anything is sent; one file for each way to be wrong.

The last lines of a file say, after `#`, where and why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.plan.validate import UNLESS_LIVE, validate
from reconciler.model.diagnostic import Diagnostic

FILES = sorted((Path(__file__).parent / "invalid_groups").glob("*.yaml"))


def expected(file: Path) -> list[str]:
    return [line.removeprefix("# ") for line in file.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]


def said(one: Diagnostic) -> str:
    assert one.span is not None, one
    return f"{one.span.line}:{one.span.column} {one.code} {one.message.removesuffix(f'. {UNLESS_LIVE}')}"


def is_refused(one: Diagnostic) -> bool:
    """What lies between a group and its neighbours can be live, and is refused when a plan would make it."""
    return one.is_error or (one.message.endswith(UNLESS_LIVE) and one.code.startswith("XX"))


def is_as(one: str, wanted: str) -> bool:
    """At the same place by the same rule, and in these words or ending in them."""
    place, words = wanted.split(" ", 2)[:2], wanted.split(" ", 2)[2]
    return one.split(" ", 2)[:2] == place and one.endswith(words)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_group_that_cannot_work_is_refused_where_it_is_wrong(file: Path) -> None:
    _, found = validate([file])
    errors = [said(one) for one in found if is_refused(one)]
    assert len(errors) == len(expected(file)) > 0, errors
    assert all(is_as(one, wanted) for one, wanted in zip(errors, expected(file), strict=True)), errors


def test_every_reason_comes_with_a_way_out() -> None:
    rules = [one for file in FILES for one in validate([file])[1] if one.is_error and not one.code.startswith("XX5")]
    assert [one.message for one in rules if not one.fix and one.code[2:] not in ("501", "502", "503", "504")] == []
