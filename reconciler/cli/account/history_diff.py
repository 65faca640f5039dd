"""`reconciler history diff`: what changed from one run to another. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from reconciler.cli.account.history import HistoryOptions, history_options, run_number
from reconciler.cli.shared import common
from reconciler.cli.shared.common import takes
from reconciler.journeys.history.history import difference
from reconciler.journeys.history.json import difference_json
from reconciler.journeys.history.text import difference_text
from reconciler.report.words.paper import Paper
from reconciler.server.wire.api import JetStream

app = common.new_app()


@app.command(name="history diff")
@takes(history_options)
def history_diff(
    history_options: HistoryOptions,
    runs: Annotated[
        list[int] | None,
        typer.Argument(
            metavar="[RUN] [RUN]",
            parser=run_number,
            show_default=False,
            help="Between two numbers, since one number, or from the run before to the newest.",
        ),
    ] = None,
) -> int:
    """Show what changed from one run to another: objects and fields, as they were applied."""
    numbers = runs or []
    if len(numbers) > 2:
        raise common.Misused("A difference is between two runs: write `history diff`, with at most two numbers.")
    return history_options.print_report(numbers, _difference_report)


async def _difference_report(js: JetStream, numbers: Sequence[int], topology: str | None, sheet: Paper | None) -> str:
    """Write the difference between two runs."""
    diff = await difference(js, numbers, topology)
    return difference_text(diff, sheet) if sheet else difference_json(diff)
