"""`reconciler rehearse`: carries the plan out for real, on throw-away servers that hold the account's
configurations."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.plan import Plan
from reconciler.changes.rehearsal import Rehearsal
from reconciler.cli.account.planning import Selection, selection, with_file_warnings
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, outcome_document, reports
from reconciler.cli.shared.screen import paper
from reconciler.cli.shared.status_line import LINE
from reconciler.documents.find.git_tree import GitTree
from reconciler.journeys.plan.files import load, topology_of
from reconciler.journeys.plan.plan import plan
from reconciler.journeys.rehearse.json import rehearsal_report
from reconciler.journeys.rehearse.rehearse import rehearse as rehearse_
from reconciler.journeys.rehearse.text import rehearsal_findings, rehearsal_text, setting_text
from reconciler.journeys.review.revisions import before
from reconciler.model.diagnostic import about_topology
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.version import Version
from reconciler.report.document.probe import clients_part
from reconciler.testbed import programs

app = common.new_app()


@app.command(epilog=exits.epilog(exits.REFUSED))
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
    earlier = selection.earlier(paths)
    loaded = load(paths, selection.tree(earlier))
    topology = topology_of(loaded)
    version, next_version = common.parse_version(on), common.parse_version(server_version)
    with about_topology(topology.name):
        options = selection.options(earlier)
        there: Plan | None = None
        if base:
            repository = GitTree.at(base, paths[0])
            trees = (selection.values.tree(repository, are_all_needed=False), selection.tree(earlier))
            live = before(topology, paths, repository, trees, version or programs.installed_version(os.environ))
        else:
            own_connection = connection.for_environment(selection.values, paths)
            asked = own_connection.ask(lambda js: plan(topology, js, options))
            live, there = _snapshot_with_version(asked.snapshot, version), asked.plan
        try:
            rehearsal = rehearse_(
                topology, live, options, _program, str(next_version) if next_version else None, LINE.show, there
            )
            if probe:
                LINE.show("letting clients do the same before and after …")
                rehearsal = _with_probe(rehearsal, topology, live, options)
        finally:
            LINE.show("")
    rehearsal = replace(rehearsal, plan=with_file_warnings(rehearsal.plan, loaded, earlier))
    code = _rehearsal_exit_code(rehearsal)
    planned = document(
        command="rehearse", topology=topology.name, plan=rehearsal.plan, declared=topology,
        title=f"{topology.name} {setting_text(rehearsal)}", goes_on=True,
        paper=paper(verbose=verbose, no_color=no_color),
    )  # fmt: skip
    planned = replace(planned, parts=(clients_part(rehearsal.probe),) if rehearsal.probe else ())
    text, data = rehearsal_text(rehearsal), rehearsal_report(rehearsal, code)
    reports.publish(format_, outcome_document(planned, rehearsal.finished, text, data, rehearsal_findings(rehearsal)))
    return code


def _with_probe(rehearsal: Rehearsal, topology: Topology, live: Snapshot, options: RunOptions) -> Rehearsal:
    """Add what clients experience with the changes and without them."""
    from reconciler.journeys.rehearse.probe import probe  # noqa: PLC0415 - only for who asks for it

    return replace(rehearsal, probe=probe(topology, live, options, _program, rehearsal))


def _snapshot_with_version(live: Snapshot, version: Version | None) -> Snapshot:
    return replace(live, target=replace(live.target, version=version)) if version else live


def _program(version: str) -> Path:
    """Return the nats-server of this version, and show its download."""
    return programs.installed_or_cached(version, os.environ, LINE.show)


def _rehearsal_exit_code(rehearsal: Rehearsal) -> int:
    is_as_planned = rehearsal.is_fine and rehearsal.is_foretold and not rehearsal.unrehearsed_addresses
    return rehearsal.plan.exit_code if is_as_planned else exits.FAILED
