"""`reconciler fleet`: many accounts at once, every night, with history. Nothing but `fleet apply` writes to an account."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.cli.fleet import apply as fleet_apply
from reconciler.cli.fleet import plan as fleet_plan
from reconciler.cli.fleet import skew_and_events
from reconciler.cli.fleet.running import SparkCommand, spark
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.fleet.report.findings import FleetFindings

if TYPE_CHECKING:
    from reconciler.fleet.runs.fleet_run import FleetRun

app = common.new_app(no_args_is_help=True)
app.add_typer(fleet_plan.app)
app.add_typer(fleet_apply.app)


@app.callback()
def fleet() -> None:
    """Look at many accounts at once: what each holds, what drifted, how that developed. Tables are kept between runs."""


@app.command()
@takes(spark)
def snapshot(spark: SparkCommand) -> int:
    """Read what every target holds, and keep it as this run."""

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.looks import snapshot  # noqa: PLC0415 - pyspark is for fleet commands alone

        return snapshot(fleet_run)

    return spark.run(work)


@app.command(epilog=exits.epilog(exits.DRIFT))
@takes(spark)
def drift(spark: SparkCommand) -> int:
    """Show what drifted on every target; end with 3 if anything did. Reads the targets, and keeps what it read as this run."""

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.looks import compare  # noqa: PLC0415 - pyspark is for fleet commands alone

        return compare(fleet_run)

    return spark.run(work)


@app.command()
@takes(spark)
def history(spark: SparkCommand) -> int:
    """Show how drift came and went over the runs that are kept, how long repairs took, and when streams will be full."""

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.looks import history  # noqa: PLC0415 - pyspark is for fleet commands alone

        return history(fleet_run)

    return spark.run(work)


@app.command()
@takes(spark)
def outliers(
    spark: SparkCommand,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="LABEL",
            help="Targets with the same value of this label are peers. Repeatable. [all labels]",
        ),
    ] = None,
) -> int:
    """Show where a target differs from most targets with the same labels, declared or not."""

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.looks import find_outliers  # noqa: PLC0415 - pyspark is for fleet commands alone

        return find_outliers(fleet_run, tuple(by or ()))

    return spark.run(work)


@app.command(epilog=exits.epilog(exits.DRIFT))
@takes(spark)
def report(spark: SparkCommand) -> int:
    """Show all that is kept on one page: try `--report html=fleet.html`. Reads no target."""

    def work(fleet_run: FleetRun) -> FleetFindings:
        from reconciler.fleet.runs.looks import compile_report  # noqa: PLC0415 - pyspark is for fleet commands alone

        return compile_report(fleet_run)

    return spark.run(work)


app.add_typer(skew_and_events.app)
