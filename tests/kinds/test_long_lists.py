"""A subject costs as much in a list of thousands as in a short one: of a stream, of a consumer, of many consumers."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.engine.decide import unanswered_questions
from reconciler.kinds import REGISTRY
from tests.support.topologies import scene

Files = Callable[[int], tuple[str, str]]
"""What is live, and what is declared, with so many subjects."""
MANY, MORE = 200, 800
MOST = 8
"""Times as long for four times as many; all with all takes sixteen times as long."""


def _stream(subjects: list[str], consumers: dict[str, list[str]], **fields: str) -> str:
    settings = "".join(f"    {name}: {value}\n" for name, value in fields.items())
    theirs = "".join(
        f"      {name}: {{filter_subjects: [{', '.join(filters)}]}}\n" for name, filters in consumers.items()
    )
    return f"streams:\n  S:\n    subjects: [{', '.join(subjects)}]\n{settings}    consumers:\n{theirs}"


def _subjects(number: int, last: str = "x") -> list[str]:
    return [f"a.{place}.{last}" for place in range(number)]


def _one_less(number: int) -> tuple[str, str]:
    every = _subjects(number)
    return _stream(every, {"c": every}), _stream(every[:-1], {"c": every[:-1]})


def _half_others(number: int) -> tuple[str, str]:
    every, half = _subjects(number), [*_subjects(number // 2), *_subjects(number // 2, "y")]
    return _stream(every, {"c": every}), _stream(half, {"c": half})


def _interest(number: int) -> tuple[str, str]:
    every = _subjects(number)
    return _stream(every, {"c": every[1:]}), _stream(every, {"c": every[1:]}, retention="interest")


def _other_filters(retention: str, after: Callable[[int], list[str]]) -> Files:
    def files(number: int) -> tuple[str, str]:
        before, afterwards = (
            {f"c{place}": [subject] for place, subject in enumerate(subjects)}
            for subjects in (_subjects(number), after(number))
        )
        return _stream(["a.>"], before, retention=retention), _stream(["a.>"], afterwards, retention=retention)

    return files


CASES: dict[str, Files] = {
    "only what somebody wants is stored": _interest,
    "a subject and a filter go": _one_less,
    "half of the subjects and filters are others": _half_others,
    "consumers of a work queue exchange filters": _other_filters("workqueue", lambda n: _subjects(n)[::-1]),
    "consumers of an interest stream get new filters": _other_filters("interest", lambda n: _subjects(n, "y")),
}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_four_times_as_many_take_about_four_times_as_long(files: Files, tmp_path: Path) -> None:
    few, many = (_seconds_to_plan(*files(number), tmp_path / str(number)) for number in (MANY, MORE))
    assert many < few * MOST


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_sentences_name_only_the_first_of_many_subjects(files: Files, tmp_path: Path) -> None:
    live, desired = files(MANY)
    changes = scene(tmp_path, desired, live, server="2.15").plan().changes
    told = [
        message
        for change in changes
        for message in (*(one.message for one in change.verdicts), *(one.message for one in change.consequences))
    ]
    assert told
    assert not [message for message in told if message.count("a.") > 20]


def _seconds_to_plan(live: str, desired: str, folder: Path) -> float:
    """The quickest of two plans, with what they ask the server."""
    found, taken = scene(folder, desired, live, server="2.15"), list[float]()
    for _ in range(2):
        start = time.process_time()
        plan = found.plan()
        list(unanswered_questions(found.view(), REGISTRY))
        taken.append(time.process_time() - start)
        assert plan.changes
    return min(taken)
