"""Measures what a real server of each version does with what rules flag: their examples, and every row beside them.

Nothing is judged here: what was asked for is sent as it would be if no rule stood against it, and the answer is written down.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from reconciler.changes.verdict import Outcome as Judged
from reconciler.changes.verdict import Reaction
from tests.agreement.answered import Answered, answered, shown
from tests.agreement.case import SHARED, Case
from tests.agreement.drawing import SIDES, on_disk
from tests.agreement.examples import examples_on
from tests.agreement.harm import RECORDED, ROOT, Harm
from tests.agreement.rooms import HIDDEN, LIMITED, TOGETHER, Ground
from tests.agreement.rows import ROWS
from tests.agreement.running import Outcome, missing, run
from tests.agreement.test_every_harm_is_shown import shown as shown_harms
from tests.rules.test_rules import CODES
from tests.support.binaries import MINORS

CASES: Mapping[str, Case] = {
    str(case): case for row in ROWS for side in SIDES for case in row.cases(side) if case.room != HIDDEN
}
"""Every case of a row, by what it says. What only settings of the server refuse is no matter of a rule."""


AGAIN = 10
"""New servers that are started a second time."""
LONG = 100
"""Characters beyond which a value is cut."""
BESIDE = frozenset({"XX104"})
"""Nothing in these cases was applied by us, so that this is said of everything that hurts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one server did with one case."""

    answer: Answered | None
    """None: what is live before could not be made as it is said, or there was nothing to send."""
    codes: frozenset[str]
    """Everything that we say of it."""
    is_doomed: bool


def everything() -> dict[str, Any]:
    """What was measured, by code, on every version; empty where no server could be asked."""
    rows = {minor: rows_on(minor, CASES.values()) for minor in MINORS}
    losses = _losses(rows)
    examples = examples_of(CODES)
    seen_by_tests = harms()
    found = {}
    for code in sorted({*CODES, *(one for seen in rows.values() for case in seen.values() for one in case.codes)}):
        own = examples.get(code, {})
        changes = [one for one in changes_of(code, rows, losses) if one["answers"] != own]
        said = {"example": own, "changes": changes, "harms": seen_by_tests.get(code)}
        found[code] = {name: value for name, value in said.items() if value}
    return found


def examples_of(codes: Sequence[str]) -> dict[str, dict[str, Answered]]:
    """What each version answers to the examples of these codes, by code and version."""
    found: dict[str, dict[str, Answered]] = {}
    for minor in MINORS:
        for code, answer in examples_on(minor, codes).items():
            found.setdefault(code, {})[minor] = answer
    return found


def harms(of: Sequence[str] = ()) -> dict[str, dict[str, list[str]]]:
    """What the tests of harms saw each version do, by code and version, in the order of the tests. `of`: these codes alone."""
    tests = sorted(set().union(*(tests for code, tests in shown_harms().items() if not of or code in of)))
    found: dict[str, dict[str, list[str]]] = {}
    if not tests:  # pytest without a name runs them all
        return found
    with NamedTemporaryFile() as file:
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *tests],
            cwd=ROOT,
            env={**os.environ, RECORDED: file.name},
            check=True,
        )
        for harm in (Harm(*json.loads(line)) for line in Path(file.name).read_text(encoding="utf-8").splitlines()):
            for code in (one for one in harm.codes if not of or one in of):
                said = found.setdefault(code, {}).setdefault(harm.minor, [])
                said += [] if harm.words in said else [harm.words]
    return found


def _losses(rows: Mapping[str, Mapping[str, Seen]]) -> dict[str, dict[str, Answered]]:
    """By version and case, where a rule of ours foretells a loss on any version: what is gone after a restart, and after the
    next version was started."""
    doomed = [one for text, one in CASES.items() if one.room == SHARED and any(rows[m][text].is_doomed for m in MINORS)]
    found: dict[str, dict[str, Answered]] = {}
    for minor, later in zip(MINORS, (*MINORS[1:], None), strict=True):
        again = restarted(minor, doomed, minor)
        after = restarted(minor, doomed, later) if later else {}
        found[minor] = {text: {"lost": sorted(words), "restarts": AGAIN} for text, words in again.items()}
        for text, words in after.items():
            if words - again.get(text, set()):
                found[minor][text]["lost_after_upgrade"] = sorted(words - again.get(text, set()))
    return found


def rows_on(minor: str, cases: Iterable[Case]) -> dict[str, Seen]:
    """What this version does with these cases."""
    with Ground(minor) as ground:
        return {str(one.drawn): _seen(one) for one in run(ground, [*cases])}


def _seen(one: Outcome) -> Seen:
    if one.ours is None:
        return Seen(answer=None, codes=frozenset(), is_doomed=False)
    said = [verdict for verdict in one.ours.verdicts if verdict.outcome is not Judged.ALLOWED]
    codes = {verdict.code for verdict in said} | {complaint.code for complaint in one.ours.complaints}
    return Seen(
        answer=None if one.made_without else answered(one.answer, one.dropped, one.prefix),
        codes=frozenset(codes) - BESIDE,
        is_doomed=any(verdict.blocks and verdict.reaction is Reaction.DOOMS for verdict in said),
    )


def restarted(minor: str, cases: Sequence[Case], then: str) -> dict[str, set[str]]:
    """What is gone, of each case that this version accepts, once the other one was started on the same store. What is lost may
    depend on the order in which a server finds its streams again, so that it is started several times."""
    found: dict[str, set[str]] = {}
    for start in range(0, len(cases), TOGETHER):
        some = cases[start : start + TOGETHER]
        for _ in range(AGAIN):
            for case, one in zip(some, _started_again(minor, some, then), strict=True):
                if isinstance(one.answer, Mapping) and one.around:
                    words = {shown(words.replace(one.prefix, "@")) for words in missing(*one.around)}
                    found.setdefault(str(case), set()).update(words)
    return found


def _started_again(minor: str, cases: Sequence[Case], then: str) -> list[Outcome]:
    with Ground(minor) as ground:
        ground.server.minor = then
        return run(ground, [on_disk(case) for case in cases], restart=True)


def changes_of(
    code: str, rows: Mapping[str, Mapping[str, Seen]], losses: Mapping[str, Mapping[str, Answered]]
) -> list[dict[str, Any]]:
    """The simplest change for each way in which the servers whose versions the rule is about answer what it flags; best where it
    flags that alone."""
    fewest: dict[str, int] = {}
    for seen in rows.values():
        for text, one in seen.items():
            if code in one.codes:
                fewest[text] = min(len(one.codes), fewest.get(text, len(one.codes)))
    least = min(fewest.values(), default=0)
    simplest: dict[str, dict[str, Any]] = {}
    for text in sorted((text for text in fewest if fewest[text] == least), key=lambda text: (len(text), text)):
        answers = {minor: seen[text].answer for minor, seen in rows.items()}
        there = {minor: {**answer, **losses[minor].get(text, {})} for minor, answer in answers.items() if answer}
        own = {minor: answer for minor, answer in there.items() if code in rows[minor][text].codes}
        if own:
            simplest.setdefault(json.dumps(own, sort_keys=True), {"change": as_data(CASES[text]), "answers": there})
    return list(simplest.values())


def as_data(case: Case) -> dict[str, Any]:
    """What is live and what is asked for, under names as they are shown."""
    deed = "removes" if case.removes else "edits" if case.edits else "says"
    said: dict[str, Any] = {"at": str(case.at), deed: case.body}
    said |= {"live": {"/".join(one.on): one.body for one in case.live}} if case.live else {}
    said |= {"listens": case.listens} if case.listens else {}
    said |= {"account": LIMITED[case.room]} if case.room not in (SHARED, "alone") else {}
    found: dict[str, Any] = _short(json.loads(shown(json.dumps(said))))
    return found


def _short(value: Any) -> Any:
    """Nobody reads a text of 100,000 characters."""
    if isinstance(value, Mapping):
        return {name: _short(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_short(one) for one in value]
    is_long = isinstance(value, str) and len(value) > LONG
    return f"{value[:8]}… ({len(value):_} characters)" if is_long else value
