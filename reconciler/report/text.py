"""A plan as people read it: what stops, what hurts, what changes, what is new, what goes; the sums; what to do next."""

from __future__ import annotations

from collections.abc import Iterable

from reconciler.core.plan import Plan
from reconciler.report import diagnostics
from reconciler.report.blocks import block
from reconciler.report.document import Document
from reconciler.report.entries import entries
from reconciler.report.headline import headline, next_line, sums, where
from reconciler.report.names import named
from reconciler.report.paper import Paper
from reconciler.report.values import counted
from reconciler.report.visible import inert, visible


def render(document: Document) -> str:
    """A plan, or what was found in files."""
    if document.plan is None:
        return diagnostics.report(document.diagnostics, document.paper) + document.summary
    text = plan_text(
        document.plan, document.paper, arguments=document.arguments, seconds=document.seconds,
        goes_on=document.goes_on, applying=document.applying,
    )  # fmt: skip
    found = diagnostics.report(document.diagnostics, document.paper)
    done = "".join(f"{visible(line)}\n" for line in document.outcome.splitlines())
    return inert("\n".join(filter(None, (text, found, done))))


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
    return inert("\n".join([*lines, *_last_lines(plan, paper, then)]) + "\n")


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
