"""The smallest case that still disagrees in the same words: all simpler ones are tried at once, again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.agreement.case import Body, Case
from tests.agreement.judging import judgement
from tests.agreement.rooms import Ground
from tests.agreement.running import run

ROUNDS = 15


def shrunk(ground: Ground, case: Case, why: str) -> Case:
    """`case` with everything taken out that does not matter."""
    restart = why.startswith("after a restart")
    for _ in range(ROUNDS):
        outcomes = run(ground, list(simpler(case)), restart=restart)
        found = next((one.drawn for one in outcomes if judgement(one).why == why), None)
        if found is None:
            return case
        case = found
    return case


def simpler(case: Case) -> Iterator[Case]:
    """Every case with one thing less, the greatest pieces first."""
    for index, one in enumerate(case.live):
        rest = (*case.live[:index], *case.live[index + 1 :])
        yield replace(case, live=rest)
        if one.messages:
            yield replace(case, live=(*case.live[:index], replace(one, messages=()), *case.live[index + 1 :]))
    for body in _less(case.body):
        yield replace(case, body=body)
    for index, one in enumerate(case.live):
        for body in _less(one.body):
            yield replace(case, live=(*case.live[:index], replace(one, body=body), *case.live[index + 1 :]))


def _less(body: Body) -> Iterator[dict[str, Any]]:
    """Without one field, or one item or field less inside it."""
    for name in body:
        yield {other: value for other, value in body.items() if other != name}
    for name, value in body.items():
        if isinstance(value, dict):
            yield from ({**body, name: inner} for inner in _less(value))
        elif isinstance(value, list) and len(value) > 1:
            yield from ({**body, name: [*value[:i], *value[i + 1 :]]} for i in range(len(value)))
        elif isinstance(value, str) and len(value) > 20:
            yield {**body, name: "x"}
