"""`reconciler upgrade-check`: shows what another nats-server version would make of an account, or of files. Changes
nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import doing, paper, say, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.upgrade.check import Checked, check_account, check_files
from reconciler.journeys.upgrade.json import upgrade_json
from reconciler.journeys.upgrade.text import head_line, upgrade_text
from reconciler.model.wire.version import Version
from reconciler.report.words import diagnostics
from reconciler.report.words.paper import Paper

app = common.new_app()
NEWEST_PATCH = 999


@app.command(name="upgrade-check", epilog=exits.epilog(instead={exits.REFUSED: "something would be lost or refused"}))
@takes(connection)
@takes(values)
def upgrade_check(
    connection: Connection,
    values: Values,
    server_version: Annotated[
        str,
        typer.Option(
            "--server-version", metavar="VERSION", help="Version of nats-server to upgrade to, for example 2.14.6."
        ),
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATHS...]", help="Files to check without a server. [the account]", show_default=False),
    ] = None,
    format_: common.ChosenPlainFormat = common.PlainFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what another server version would lose, refuse or rewrite: of everything live, or of files."""
    after = _target_version(server_version)
    values.require_files(paths)
    if paths:
        with doing("reading files …"):
            checked = check_files(paths, after, values.tree())
    else:
        checked = connection.ask(lambda js: check_account(js, after))
    if checked.diagnostics:
        tell(diagnostics.report(checked.diagnostics))
    say(
        upgrade_json(checked)
        if format_ is common.PlainFormat.JSON
        else _checked_text(checked, paths, paper(verbose=verbose, no_color=no_color))
    )
    return _upgrade_exit_code(checked)


def _target_version(text: str) -> Version:
    """Take a minor version as the newest of its patches: nobody upgrades to the oldest."""
    try:
        parsed = Version.parse(text)
        return parsed if text.count(".") > 1 else parsed._replace(patch=NEWEST_PATCH)
    except ValueError as error:
        raise common.Misused(f"--server-version: {error}.") from None


def _checked_text(checked: Checked, paths: list[Path] | None, paper: Paper) -> str:
    place = " ".join(map(str, paths)) if paths else "account"
    title = head_line(checked.before, checked.after, checked.read, place)
    return upgrade_text(
        title, checked.findings, checked.news, checked.after, paper, of_files=bool(paths), unknown=checked.unknown
    )


def _upgrade_exit_code(checked: Checked) -> int:
    if checked.unknown:
        return exits.FAILED
    return exits.REFUSED if any(finding.fate.hurts for finding in checked.findings) else exits.FINE
