"""Tries an act: its tests are run on the copy, and must fail by what they assert, not because nothing works any more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.sabotage.act import Act, Rotten
from tests.sabotage.tree import Tree
from tests.sabotage.witness import SAYS

WITHIN = 300.0
"""Seconds after which tests that do not end are ended."""
SENSELESS = ("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "NameError", "UnboundLocalError")
"""Failures that a harm of any sort would bring: they say nothing about the promise."""


class Verdict(StrEnum):
    CAUGHT = "caught"
    UNSEEN = "NOT CAUGHT"
    SENSELESS = "NOTHING WORKS"
    """The tests could not be run, so that nobody knows whether they would have noticed."""
    HANGS = "DOES NOT END"
    RED = "RED BEFORE"
    """The tests fail, or do not run at all, where nothing was done."""
    ROTTEN = "OUT OF DATE"
    """The place is not there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run of tests came to."""

    seconds: float
    seen: tuple[Mapping[str, str], ...] = ()
    has_ended: bool = True
    said: str = ""

    def of(self, tests: Iterable[str]) -> list[Mapping[str, str]]:
        """What was seen of these files or tests."""
        wanted = tuple(tests)
        return [one for one in self.seen if any(_is_in(one["test"], test) for test in wanted)]

    @property
    def failures(self) -> list[Mapping[str, str]]:
        return [one for one in self.seen if one["outcome"] == "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    act: Act
    verdict: Verdict
    seconds: float = 0.0
    by: str = ""
    """The test that noticed, or what is wrong."""

    @property
    def is_caught(self) -> bool:
        return self.verdict is Verdict.CAUGHT


def red_before(act: Act, before: Ran) -> Trial | None:
    """None: each of its files and tests has one that passes where nothing was done, and none that fails."""
    for test in act.seen_by:
        seen = before.of([test])
        wrong = next((one for one in seen if one["outcome"] == "failed"), None)
        if wrong is not None or not any(one["outcome"] == "passed" for one in seen):
            why = f"{wrong['test']}: {_first_line(wrong['how'])}" if wrong else f"{test}: nothing of it ran"
            return Trial(act=act, verdict=Verdict.RED, by=why)
    return None


def tried(act: Act, tree: Tree, *, within: float = WITHIN) -> Trial:
    try:
        with tree.with_(act):
            ran = run(tree, act.seen_by, "-x", within=within, compiles=False)
    except Rotten as why:
        return Trial(act=act, verdict=Verdict.ROTTEN, by=str(why))
    verdict, by = _judged(ran)
    return Trial(act=act, verdict=verdict, seconds=ran.seconds, by=by)


def _judged(ran: Ran) -> tuple[Verdict, str]:
    if not ran.has_ended:
        return Verdict.HANGS, _last_line(ran.said)
    failures = ran.failures
    if senseless := next((one for one in failures if is_senseless(one)), None):
        return Verdict.SENSELESS, f"{senseless['test']}: {_first_line(senseless['how'])}"
    if failures:
        return Verdict.CAUGHT, failures[0]["test"]
    if not ran.seen:
        return Verdict.SENSELESS, _last_line(ran.said)
    return Verdict.UNSEEN, f"{len(ran.seen)} tests saw nothing"


def is_senseless(failure: Mapping[str, str]) -> bool:
    """It is no assertion that failed, but the way there."""
    return failure["when"] != "call" or failure["how"].startswith(SENSELESS)


def run(tree: Tree, tests: Iterable[str], *options: str, within: float = WITHIN, compiles: bool = True) -> Ran:
    """`compiles`: what Python compiles stays for the next run."""
    with tempfile.NamedTemporaryFile(suffix=".json") as says, tempfile.TemporaryFile() as out:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.sabotage.witness"]
        began = time.monotonic()
        process = subprocess.Popen(
            [*command, *options, *tests], cwd=tree.root, env=_environment(says.name, compiles=compiles), stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        has_ended = _ended(process, within)
        seconds = time.monotonic() - began
        out.seek(0)
        said = out.read().decode(errors="replace")
        text = Path(says.name).read_text(encoding="utf-8")
    told = json.loads(text) if text else {"code": None, "seen": []}
    if told["code"] and not Path(told["code"]).is_relative_to(tree.root.resolve()):
        raise AssertionError(f"the tests were run with other code than the copy's: {told['code']}")
    return Ran(seconds=seconds, seen=tuple(told["seen"]), has_ended=has_ended, said=said)


def _ended(process: subprocess.Popen[bytes], within: float) -> bool:
    """By itself; else it is ended with all that it started."""
    try:
        process.wait(within)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return False
    return True


def _environment(says: str, *, compiles: bool) -> dict[str, str]:
    return {**without_pytest(), SAYS: says, **({} if compiles else {"PYTHONDONTWRITEBYTECODE": "1"})}


def without_pytest() -> dict[str, str]:
    """Nothing of a run of pytest that another one may be inside of."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONDONT"))}


def _is_in(test: str, wanted: str) -> bool:
    return test == wanted or test.startswith((f"{wanted}::", f"{wanted}[", f"{wanted}/"))


def _first_line(text: str) -> str:
    return text.strip().split("\n")[0]


def _last_line(text: str) -> str:
    return text.strip().split("\n")[-1]
