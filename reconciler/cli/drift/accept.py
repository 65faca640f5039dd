"""`reconciler drift accept`: writes the live values of one topology into its files."""

from __future__ import annotations

from dataclasses import replace

from reconciler.cli.account.planning import Selection
from reconciler.cli.drift.drift import look_for_drift, selection
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import ChosenPlainFormat, PlainFormat, takes
from reconciler.cli.shared.connecting import Connection, connection, result_of
from reconciler.cli.shared.screen import paper, say, tell
from reconciler.journeys.drift.accept import accept
from reconciler.journeys.drift.report import drift_document
from reconciler.report.formats import FORMATS
from reconciler.report.words.diagnostics import report

app = common.new_app()


@app.command(name="drift accept", epilog=exits.epilog(exits.DRIFT))
@takes(connection)
@takes(selection)
def accept_(
    paths: common.Paths,
    selection: Selection,
    connection: Connection,
    format_: ChosenPlainFormat = PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Write what was changed since the last apply into the files of one topology. Comments and layout stay. End with 0 if all of
    it is in the files then, and with 3 if no file can take the rest."""
    if selection.values:
        raise common.Misused(
            "These files hold for other environments or values too, so nothing is written into them; edit them by hand."
        )
    options = selection.options()
    looked, _ = result_of(look_for_drift(paths, connection.options(), selection))
    accepted = accept(looked, paths, options)
    left = accepted.left.drift
    if format_ is PlainFormat.JSON:
        left = replace(left, diagnostics=(*left.diagnostics, *accepted.refused))
    sheet, arguments = paper(verbose=verbose, no_color=no_color), selection.arguments(paths, connection)
    say(FORMATS[format_](drift_document(left, written=accepted.written, paper=sheet, arguments=arguments)))
    if accepted.refused:
        tell(report(accepted.refused, paper()))
    return exits.FAILED if accepted.refused else left.exit_code
