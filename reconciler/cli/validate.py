"""`reconciler validate`: what the files alone say, judged for the oldest server they are written for and the newest."""

from __future__ import annotations

from typing import Annotated

import typer

from reconciler.cli import common, exits
from reconciler.cli.screen import paper, say
from reconciler.core.topology import Topology
from reconciler.core.wire import Version
from reconciler.report import diagnostics
from reconciler.report.values import counted
from reconciler.workflow.validate import validate as check
from reconciler.workflow.validate import versions

app = common.app()


def _version(text: str | None) -> Version | None:
    try:
        return Version.parse(text) if text else None
    except ValueError as error:
        raise common.Misused(str(error)) from None


@app.command()
def validate(
    paths: common.Paths,
    for_server: Annotated[
        str | None, typer.Option("--for-server", metavar="VERSION", help="Judge for this nats-server version alone.")
    ] = None,
    no_color: common.NoColor = False,
) -> int:
    """Check files alone, without any server: every problem at once, each with its place and a way out."""
    server = _version(for_server)
    topology, found = check(paths, server)
    say(diagnostics.report(found, paper(no_color=no_color)))
    if any(one.is_error for one in found) or topology is None:
        return exits.FAILED
    say(_fine(topology, versions(topology, server)))
    return exits.FINE


def _fine(topology: Topology, judged: list[Version]) -> str:
    servers = " and ".join(f"{version.major}.{version.minor}" for version in judged)
    things = counted(len(topology.resources), "resource")
    files = counted(len(topology.files), "file")
    return f"{topology.name}: {things} in {files} can be planned (judged offline for nats-server {servers})\n"
