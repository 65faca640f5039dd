"""`reconciler validate`: judges the files alone, for the oldest server they are written for and for the newest."""

from __future__ import annotations

from dataclasses import replace

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper
from reconciler.cli.shared.value_option import Values, values
from reconciler.documents.read.load import Loaded
from reconciler.journeys.plan.validate import checked_each, versions
from reconciler.model.topology import Topology
from reconciler.model.wire.version import Version
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted

app = common.app()


@app.command()
@takes(reports)
@takes(values)
def validate(
    paths: common.AnyPaths,
    reports: Reports,
    values: Values,
    for_server: common.ForServer = None,
    format_: ChosenFormat = ReportFormat.TEXT,
    no_color: common.NoColor = False,
) -> int:
    """Check files, without a server: every problem at once, each with its place and what to do about it."""
    server = common.version(for_server)
    with doing("reading files …"):
        found = checked_each(paths, server, replace(values, environment=None).tree(), values.environment)
    look = paper(no_color=no_color)
    reports.say(format_, *(_document(one, server, look) for one in found))
    return exits.FINE if all(map(_is_fine, found)) else exits.FAILED


def _is_fine(found: Loaded) -> bool:
    return found.topology is not None and not any(one.is_error for one in found.diagnostics)


def _document(found: Loaded, server: Version | None, look: Paper) -> Document:
    fine = found.topology if _is_fine(found) else None
    return document(
        command="validate", topology=found.name, declared=found.topology, diagnostics=found.diagnostics,
        summary=_fine(fine, versions(fine, server)) if fine else "", paper=look, named=tuple(map(str, found.paths)),
    )  # fmt: skip


def _fine(topology: Topology, judged: list[Version]) -> str:
    servers = " and ".join(f"{version.major}.{version.minor}" for version in judged)
    things = counted(len(topology.resources), "resource")
    files = counted(len(topology.files), "file")
    where = f" in {topology.environment}" if topology.environment else ""
    return f"{topology.name}{where}: {things} in {files} can be planned (judged offline for nats-server {servers})\n"
