"""`reconciler fleet`: many accounts at once, every night, with history. Nothing but `fleet apply` writes to an account."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconciler.cli.fleet import apply as fleet_apply
from reconciler.cli.fleet import plan as fleet_plan
from reconciler.cli.fleet import skew_and_events as fleet_questions
from reconciler.cli.fleet.options import As, FleetFormat, On, Which, on, which
from reconciler.cli.fleet.running import Work, run
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import Reports, reports
from reconciler.cli.shared.screen import paper
from reconciler.fleet.report.findings import FleetFindings

if TYPE_CHECKING:
    from reconciler.fleet.runs.fleet_run import FleetRun

app = common.app(no_args_is_help=True)
app.add_typer(fleet_plan.app)
app.add_typer(fleet_apply.app)


@app.callback()
def fleet() -> None:
    """Look at many accounts at once: what each holds, what drifted, how that developed. Tables are kept between runs."""


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def snapshot(
    which: Which, on: On, reports: Reports, format_: As = FleetFormat.TEXT, no_color: common.NoColor = False
) -> int:
    """Read what every target holds, and keep it as this run."""
    return run(which, on, reports, format_, paper(no_color=no_color), _work("snapshot_and_drift.snapshot"))


@app.command(epilog=exits.named(exits.DRIFT))
@takes(which)
@takes(on)
@takes(reports)
def drift(
    which: Which, on: On, reports: Reports, format_: As = FleetFormat.TEXT, no_color: common.NoColor = False
) -> int:
    """Show what drifted on every target; end with 3 if anything did. Reads the targets, and keeps what it read as this run."""
    return run(which, on, reports, format_, paper(no_color=no_color), _work("snapshot_and_drift.compare"))


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def history(
    which: Which, on: On, reports: Reports, format_: As = FleetFormat.TEXT, no_color: common.NoColor = False
) -> int:
    """Show how drift came and went over the runs that are kept, how long repairs took, and when streams will be full."""
    return run(which, on, reports, format_, paper(no_color=no_color), _work("stored_runs.history"))


@app.command()
@takes(which)
@takes(on)
@takes(reports)
def outliers(
    which: Which,
    on: On,
    reports: Reports,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="LABEL",
            help="Targets with the same value of this label are peers. Repeatable. [all labels]",
        ),
    ] = None,
    format_: As = FleetFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Show where a target differs from most targets with the same labels, declared or not."""
    return run(which, on, reports, format_, paper(no_color=no_color), _work("stored_runs.unlike", by=tuple(by or ())))


@app.command(epilog=exits.named(exits.DRIFT))
@takes(which)
@takes(on)
@takes(reports)
def report(
    which: Which, on: On, reports: Reports, format_: As = FleetFormat.TEXT, no_color: common.NoColor = False
) -> int:
    """Show all that is kept on one page: try `--report html=fleet.html`. Reads no target."""
    return run(which, on, reports, format_, paper(no_color=no_color), _work("stored_runs.report"))


def _work(name: str, **said: Any) -> Work:
    """The work itself, imported when Spark runs: only these commands need pyspark."""
    module, _, function = name.partition(".")

    def work(look: FleetRun) -> FleetFindings:
        found: FleetFindings = getattr(import_module(f"reconciler.fleet.runs.{module}"), function)(look, **said)
        return found

    return work


app.add_typer(fleet_questions.app)
