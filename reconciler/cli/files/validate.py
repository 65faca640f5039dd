"""`reconciler validate`: judges the files alone, for the oldest server they are written for and for the newest."""

from __future__ import annotations

from dataclasses import replace

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import left_out_line, takes
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.documents.read.load import Loaded
from reconciler.journeys.plan.validate import checked_each, versions
from reconciler.model.topology import Topology
from reconciler.model.wire.version import Version
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted

app = common.new_app()


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
    server = common.parse_version(for_server)
    with doing("reading files …"):
        checked = checked_each(paths, server, replace(values, environment=None).tree(), values.environment)
    if checked.left_out:
        tell(left_out_line(checked.left_out, values.environment))
    sheet = paper(no_color=no_color)
    reports.publish(format_, *(_validation_document(loaded, server, sheet) for loaded in checked.each))
    return exits.FINE if all(map(_is_valid, checked.each)) else exits.FAILED


def _is_valid(loaded: Loaded) -> bool:
    return loaded.topology is not None and not any(diagnostic.is_error for diagnostic in loaded.diagnostics)


def _validation_document(loaded: Loaded, server: Version | None, sheet: Paper) -> Document:
    topology = loaded.topology if _is_valid(loaded) else None
    return document(
        command="validate", topology=loaded.name, declared=loaded.topology, diagnostics=loaded.diagnostics,
        summary=_summary_line(topology, versions(topology, server)) if topology else "", paper=sheet, named=tuple(map(str, loaded.paths)),
    )  # fmt: skip


def _summary_line(topology: Topology, versions_: list[Version]) -> str:
    servers = " and ".join(f"{version.major}.{version.minor}" for version in versions_)
    resources = counted(len(topology.resources), "resource")
    files = counted(len(topology.files), "file")
    return f"{resources} in {files} can be planned (judged offline for nats-server {servers})\n"
