"""The table: step type × cut × outcome, with counts; and everything that went wrong, in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tests.faults.case import LATE, UNSEEN, Outcome
from tests.faults.kinds import Fault


def table(outcomes: Sequence[Outcome]) -> str:
    """One line for each step type and kind of cut."""
    counted: Counter[tuple[str, str, str]] = Counter()
    for one in outcomes:
        if one.was_reached and one.case.at:
            cut = f"{one.case.fault} at the {one.case.at.side}"
            counted[one.step_type, cut, _word(one)] += 1
    head = f"{'step type':16} {'cut':30} {'outcome':24} cases"
    rows = [f"{type_:16} {cut:30} {word:24} {number:5}" for (type_, cut, word), number in sorted(counted.items())]
    return "\n".join([head, *rows])


def _word(one: Outcome) -> str:
    if not one.is_good:
        return "WRONG"
    return one.word if one.case.fault is Fault.EDITED else f"converged {one.word}"


def summary(setup: str, outcomes: Sequence[Outcome]) -> str:
    reached = [one for one in outcomes if one.was_reached or one.case.fault is Fault.NONE]
    good = sum(one.is_good for one in reached)
    tenths = 1000 * good // max(len(reached), 1)  # rounded down: 100.0 % is all of them
    lost = sum(one.lost for one in outcomes)
    missed = len(outcomes) - len(reached)
    unseen, late = (sum(one.word == word for one in reached) for word in (UNSEEN, LATE))
    return (
        f"{setup}: {len(reached)} cut points of {len({one.case.scene.name for one in reached})} topologies, "
        f"{tenths / 10:.1f} % converged, {lost} lost, {unseen} edits unseen, {late} one request late, {missed} points not reached"
    )


def idle(outcomes: Sequence[Outcome]) -> list[str]:
    """Kinds of faults that prove nothing: they happened at few of their points, or left few traces where they happened."""
    return [text for fault in Fault if (text := _idle(fault, [one for one in outcomes if one.case.fault is fault]))]


def _idle(fault: Fault, cases: Sequence[Outcome]) -> str:
    """Where a request is sent at all depends on what came before, and some things that happen are of no concern. An edit made
    in the very instant of a step is seen by nobody: once in a few points, or once in ten."""
    reached = [one for one in cases if one.was_reached]
    felt = [one for one in reached if one.was_felt]
    unseen = sum(one.word == UNSEEN for one in reached)
    enough = fault is Fault.NONE or (len(reached) >= 0.5 * len(cases) and 0 < len(felt) >= 0.3 * len(reached))
    by_chance = unseen <= max(1, 0.1 * len(reached)) and unseen < max(len(reached), 1)
    if not cases or (enough and by_chance):
        return ""
    return f"{fault}: {len(cases)} points, {len(reached)} reached, {len(felt)} felt, {unseen} edits unseen"


def wrongs(outcomes: Iterable[Outcome]) -> list[str]:
    return [str(one) for one in outcomes if not one.is_good]
