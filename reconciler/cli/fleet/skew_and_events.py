"""`reconciler fleet skew` and `fleet events`: questions that need more data than a plan of one account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.fleet.options import As, FleetFormat, On, Which, on, which
from reconciler.cli.fleet.running import run
from reconciler.cli.shared import common
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.fleet.report.findings import FleetFindings

if TYPE_CHECKING:
    from reconciler.fleet.runs.fleet_run import FleetRun

app = common.app()


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def skew(
    which: Which,
    on: On,
    reports: Reports,
    stream: Annotated[str, typer.Option("--stream", metavar="NAME", help="The stream whose subjects are the keys.")],
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="FILTER",
            show_default=False,
            help="A candidate: 'orders.*.*' tries every set of its `*`, 'orders.*.* by 2' one of them; `;` stands between the "
            "filters of one group. Repeatable. [the whole subject]",
        ),
    ] = None,
    partitions: Annotated[
        str, typer.Option("--partitions", metavar="N,…", help="Numbers of partitions to compare.")
    ] = "6,12,24",
    members: Annotated[
        list[str] | None,
        typer.Option(
            "--members",
            metavar="N,… | NAME,…",
            help="Memberships to compare, each after the one before: numbers, or names. Repeatable. [3,4]",
        ),
    ] = None,
    keys: Annotated[
        str | None,
        typer.Option(
            "--keys", metavar="FILE", help="Take the keys from this Parquet or CSV file, which has a column `subject`."
        ),
    ] = None,
    format_: As = FleetFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show how evenly keys would fall on partitions and members, for every candidate, and what moves when members change."""
    from reconciler.fleet.skew.candidate_patterns import Unclear, candidates  # noqa: PLC0415

    try:
        asked = candidates(filters or [">"], _numbers("--partitions", partitions, least=1), members or ["3,4"])
    except Unclear as unclear:
        raise common.Misused(f"{unclear}.") from None

    def work(look: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.skew import Keys, skew  # noqa: PLC0415 - pyspark is for fleet commands alone

        return skew(look, Keys(stream=stream, file=keys), asked)

    return run(which, on, reports, format_, paper(no_color=no_color), work)


def _numbers(option: str, said: str, *, least: int) -> tuple[int, ...]:
    try:
        numbers = tuple(map(int, said.split(",")))
    except ValueError:
        numbers = (least - 1,)
    if min(numbers) < least:
        raise common.Misused(f"{option} {said}: write numbers from {least} on, with commas between, for example 6,12.")
    return numbers


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def events(
    which: Which,
    on: On,
    reports: Reports,
    stream: Annotated[
        str | None,
        typer.Option("--stream", metavar="NAME", help="The stream that captures events. [every stream that does]"),
    ] = None,
    format_: As = FleetFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show pins that change hands, acknowledgements that take long, and who changed what, as servers told it."""

    def work(look: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.events import read_events  # noqa: PLC0415 - pyspark is for fleet commands alone

        return read_events(look, stream)

    return run(which, on, reports, format_, paper(no_color=no_color), work)
