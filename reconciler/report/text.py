"""A plan as people read it: what stops, what hurts, what changes, what is new, what goes; the sums; what to do next."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.core.plan import Plan
from reconciler.report import diagnostics
from reconciler.report.blocks import block
from reconciler.report.entries import entries
from reconciler.report.headline import headline, next_line, sums, where
from reconciler.report.names import named
from reconciler.report.paper import Paper
from reconciler.report.values import counted


def plan_text(
    plan: Plan,
    paper: Paper | None = None,
    *,
    arguments: str = "",
    seconds: float | None = None,
    goes_on: bool = False,
    applying: str | None = None,
) -> str:
    """The whole report, ending in a newline. `arguments` are those of the command this plan was made with, `applying`
    those of one that applies it; `goes_on`: it is carried out right away, so nobody has to be told what to run next."""
    paper = paper or Paper()
    if not (plan.changes or plan.diagnostics or plan.hidden or paper.verbose):
        return f"{_nothing_to_do(plan)}\n"
    lines = [*headline(plan, paper, seconds), ""]
    if plan.diagnostics:
        lines += [*diagnostics.lines(plan.diagnostics, paper), ""]
    lines += _spaced(block(entry, paper) for entry in entries(plan.changes))
    then = "" if goes_on else next_line(plan, arguments, applying)
    return "\n".join([*lines, *_last_lines(plan, paper, then)]) + "\n"


def _nothing_to_do(plan: Plan) -> str:
    unmanaged = f", {len(plan.unmanaged):_} not managed here" if plan.unmanaged else ""
    return (
        f"{where(plan.topology, plan.target)}: nothing to do, {counted(plan.kept, 'resource')} as declared{unmanaged}"
    )


def _spaced(blocks: Iterable[list[str]]) -> list[str]:
    """One-liners stand together; an entry with details is followed by an empty line."""
    lines: list[str] = []
    was_long = False
    for one in blocks:
        if was_long:
            lines.append("")
        lines += one
        was_long = len(one) > 1
    return [*lines, ""] if lines else []


def _last_lines(plan: Plan, paper: Paper, then: str) -> list[str]:
    lines: list[str] = []
    if paper.verbose and plan.unmanaged:
        lines += [*named("live, not declared and not ours, never touched:", plan.unmanaged, paper, 0), ""]
    if plan.hidden:
        lines.append(f"{counted(plan.hidden, 'change')} hidden by the selection")
    return [*lines, sums(plan, paper), *([then] if then else [])]
