"""`reconciler rehearse`: carries the plan out for real, on throw-away servers that hold the account's
configurations."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.rehearsal import Rehearsal
from reconciler.cli.account.planning import Selection, selection, with_files
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, carried_out, document, reports
from reconciler.cli.shared.screen import Progress, paper
from reconciler.documents.find.git_tree import GitTree
from reconciler.journeys.plan.files import load, topology_of
from reconciler.journeys.rehearse.json import rehearsal_json
from reconciler.journeys.rehearse.rehearse import rehearse as rehearse_
from reconciler.journeys.rehearse.text import rehearsal_findings, rehearsal_text, setting_text
from reconciler.journeys.review.revisions import before
from reconciler.model.diagnostic import about
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import Version
from reconciler.server.connect.connection import session
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.observe import observe
from reconciler.testbed import programs

app = common.app()


@app.command(epilog=exits.named(exits.REFUSED))
@takes(connection)
@takes(selection)
@takes(reports)
def rehearse(
    paths: common.Paths,
    reports: Reports,
    selection: Selection,
    connection: Connection,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REV", help="Start from this git revision of the files, and ask no account."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="VERSION", help="Version of nats-server to rehearse on. [the account's own]"),
    ] = None,
    server_version: Annotated[
        str | None,
        typer.Option(
            "--server-version", metavar="VERSION", help="Start this version on the same stores afterwards, and compare."
        ),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe",
            help="Let clients publish, read, get and delete there, with and without the changes, and compare.",
        ),
    ] = False,
    format_: ChosenFormat = ReportFormat.TEXT,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Carry the plan out on throw-away servers, and show what they answer. The account is only read."""
    progress = Progress()
    earlier = selection.earlier(paths)
    loaded = load(paths, selection.tree(earlier))
    topology = topology_of(loaded)
    wanted, then = common.version(on), common.version(server_version)
    with about(topology.name):
        if base:
            tree = selection.values.tree(GitTree.at(base, paths[0]), are_all_needed=False)
            live = before(topology, paths, tree, wanted or programs.installed(os.environ))
        else:
            there = connection.in_environment(selection.values, paths)
            live = _on(asyncio.run(_look(there.options(), progress.show)), wanted)
        fetch = partial(_program, tell=progress.show)
        options = selection.options(earlier)
        try:
            found = rehearse_(topology, live, options, fetch, str(then) if then else None, progress.show)
            if probe:
                progress.show("letting clients do the same before and after …")
                found = _probed(found, topology, live, options, fetch)
        finally:
            progress.clear()
    found = replace(found, plan=with_files(found.plan, loaded, earlier))
    code = _code(found)
    made = document(
        command="rehearse", topology=topology.name, plan=found.plan, declared=topology,
        title=f"{topology.name} {setting_text(found)}", goes_on=True,
        paper=paper(verbose=verbose, no_color=no_color),
    )  # fmt: skip
    made = replace(made, probe=found.probe)
    told = carried_out(
        made, found.finished, rehearsal_text(found), rehearsal_json(found, code), rehearsal_findings(found)
    )
    reports.say(format_, told)
    return code


def _probed(
    found: Rehearsal, topology: Topology, live: Snapshot, options: RunOptions, fetch: Callable[[str], Path]
) -> Rehearsal:
    from reconciler.journeys.rehearse.probe import probe  # noqa: PLC0415 - only for who asks for it

    return replace(found, probe=probe(topology, live, options, fetch, found))


async def _look(options: ConnectOptions, tell: Callable[[str], None]) -> Snapshot:
    tell("reading the account …")
    async with session(options) as js:
        return await observe(js)


def _on(live: Snapshot, version: Version | None) -> Snapshot:
    return replace(live, target=replace(live.target, version=version)) if version else live


def _program(version: str, tell: Callable[[str], None]) -> Path:
    return programs.installed_or_cached(version, os.environ, tell)


def _code(found: Rehearsal) -> int:
    is_well = found.is_fine and found.is_foretold and not found.lacking
    return found.plan.exit_code if is_well else exits.FAILED
