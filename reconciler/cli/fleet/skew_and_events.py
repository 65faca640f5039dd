"""`reconciler fleet skew` and `fleet events`: questions that need more data than a plan of one account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.fleet.running import SparkCommand, spark
from reconciler.cli.shared import common
from reconciler.cli.shared.common import takes
from reconciler.fleet.report.findings import FleetFindings

if TYPE_CHECKING:
    from reconciler.fleet.runs.fleet_run import FleetRun

app = common.new_app()


@app.command()
@takes(spark)
def skew(
    spark: SparkCommand,
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
) -> int:
    """Show how evenly keys would fall on partitions and members, for every candidate, and what moves when members change."""
    from reconciler.fleet.skew.candidates import UnclearCandidates, candidates  # noqa: PLC0415

    try:
        tried = candidates(filters or [">"], _numbers("--partitions", partitions, least=1), members or ["3,4"])
    except UnclearCandidates as unclear:
        raise common.Misused(f"{unclear}.") from None

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.skew_and_events import Keys, skew  # noqa: PLC0415 - pyspark is for fleet commands alone

        return skew(fleet_run, Keys(stream=stream, file=keys), tried)

    return spark.run(work)


def _numbers(option: str, text: str, *, least: int) -> tuple[int, ...]:
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        numbers = (least - 1,)
    if min(numbers) < least:
        raise common.Misused(f"{option} {text}: write numbers from {least} on, with commas between, for example 6,12.")
    return numbers


@app.command()
@takes(spark)
def events(
    spark: SparkCommand,
    stream: Annotated[
        str | None,
        typer.Option("--stream", metavar="NAME", help="The stream that captures events. [every stream that does]"),
    ] = None,
) -> int:
    """Show pins that change hands, acknowledgements that take long, and who changed what, as servers told it."""

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.skew_and_events import read_events  # noqa: PLC0415 - pyspark is for fleet commands alone

        return read_events(fleet_run, stream)

    return spark.run(work)
