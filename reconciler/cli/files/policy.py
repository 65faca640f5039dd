"""`reconciler policy`: judges the cases beside policies, and lists what their conditions may mention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper, say
from reconciler.journeys.policies import Tested, judge_cases, names
from reconciler.kinds import REGISTRY
from reconciler.model.spelling import meant_choice
from reconciler.report.words.values import counted

if TYPE_CHECKING:
    from reconciler.report.document.document import ReportedCase

app = common.new_app(no_args_is_help=True)


@app.callback()
def policy() -> None:
    """Test policies, which are house rules in CEL, and show what their conditions may mention."""


@app.command()
@takes(reports)
def test(
    paths: common.AnyPaths,
    reports: Reports,
    format_: ChosenFormat = ReportFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Judge the cases that stand beside policies. Each says whether the policy forbids it."""
    with doing("judging cases …"):
        tested_cases = judge_cases(paths)
    is_fine = not any(diagnostic.is_error for diagnostic in tested_cases.diagnostics)
    reports.publish(
        format_,
        document(
            command="policy test", topology="", diagnostics=tested_cases.diagnostics, checks=_checks(tested_cases),
            summary=_summary_line(tested_cases) if is_fine else "", paper=paper(no_color=no_color), named=tuple(map(str, paths)),
        ),
    )  # fmt: skip
    return exits.FINE if is_fine else exits.FAILED


def _checks(tested_cases: Tested) -> tuple[ReportedCase, ...]:
    from reconciler.report.document.document import ReportedCase  # noqa: PLC0415 - as in `document`

    return tuple(ReportedCase(name, span) for name, span in tested_cases.cases)


def _summary_line(tested_cases: Tested) -> str:
    policies = "1 policy" if tested_cases.policies == 1 else f"{tested_cases.policies:_} policies"
    return f"{policies}, {counted(len(tested_cases.cases), 'case')}: all answered as written\n"


@app.command()
def fields(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="A kind of resource, for example stream.")],
) -> int:
    """List what a condition about this kind of resource may mention, each with its type in CEL."""
    if kind not in REGISTRY.by_name:
        near = meant_choice(kind, REGISTRY.by_name)
        hint = f"did you mean {near}?" if near else f"write one of {', '.join(REGISTRY.by_name)}"
        raise typer.BadParameter(f"`{kind}` is no kind; {hint}")
    types = names(kind)
    width = max(map(len, types))
    say("".join(f"{name:{width}}  {type_}\n" for name, type_ in types.items()))
    return exits.FINE
