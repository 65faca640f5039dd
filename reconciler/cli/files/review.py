"""`reconciler review`: shows what the changes between two revisions of the files would do, without an account or
credentials."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reconciler.changes.change import Action
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import left_out_line, takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper, tell
from reconciler.cli.shared.value_option import Values, values
from reconciler.documents.find.discover import short_paths
from reconciler.journeys.review.review import Review
from reconciler.journeys.review.revisions import Reviewed, review_files
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.diagnostic import CannotContinue, Severity
from reconciler.model.ledger.records import BUCKET
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import visible

if TYPE_CHECKING:
    from reconciler.server.wire.api import JetStream

app = common.new_app()
READERS_UNKNOWN = (
    "Who else reads these streams is known only from the files that were named; --ledger asks the account."
)
SHOWN = 12
"""How many characters of a commit are shown."""


@app.command(epilog=exits.epilog(exits.PENDING, exits.REFUSED))
@takes(connection)
@takes(reports)
@takes(values)
def review(
    reports: Reports,
    values: Values,
    connection: Connection,
    base: Annotated[
        str,
        typer.Option(
            "--base",
            metavar="REV",
            help="Compare with where this git revision and yours parted; within a submodule, its own revision.",
        ),
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATHS...]", help="Files and folders, of any number of topologies.", show_default="."),
    ] = None,
    head: Annotated[
        str | None, typer.Option("--head", metavar="REV", help="Compare this git revision, not the working tree.")
    ] = None,
    for_server: common.ForServer = None,
    ledger: Annotated[
        bool,
        typer.Option("--ledger", help="Ask the account which other topologies read the streams that change."),
    ] = False,
    format_: ChosenFormat = ReportFormat.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 2 when there are changes.")] = False,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what a change of the files would do, without an account: for pull requests, also from forks."""
    common.refuse_if_any(
        (connection.is_named and not ledger, "review asks no server but for its ledger; add --ledger, or leave the server out."),
    )  # fmt: skip
    folders = paths or [Path()]
    server = common.parse_version(for_server)
    with doing("comparing revisions …"):
        reviewed = review_files(
            folders,
            base,
            head,
            today=datetime.now(UTC).date(),
            server=server,
            values=dict(values.given),
            files_of_values=values.files_of_values,
            environment=values.environment,
            ledger=_Ledgers(connection, values).ledger_of if ledger else None,
        )
    if reviewed.left_out:
        tell(left_out_line(reviewed.left_out, values.environment))
    sheet = paper(verbose=verbose, no_color=no_color)
    reports.publish(format_, *_review_documents(reviewed, folders, values, head, sheet, asked_ledger=ledger))
    return exits.plans_exit_code((review.plan for review in reviewed.reviews), pending=exit_code)


def _review_documents(
    reviewed: Reviewed, paths: Sequence[Path], values: Values, head: str | None, sheet: Paper, *, asked_ledger: bool
) -> Iterator[Document]:
    of = f" of submodule {reviewed.submodule}" if reviewed.submodule else ""
    since = f"since {reviewed.base[:SHOWN]}{of}" + (f" up to {head}" if head else "")
    diagnostics = reviewed.diagnostics
    is_alone = len(reviewed.reviews) + reviewed.unchanged == 1 and [*paths] != [Path()]
    for review in reviewed.reviews:
        files = _own_paths(review.head) if review.head and not is_alone else paths
        yield document(
            command="review", topology=review.name, plan=review.plan, declared=review.head, diagnostics=diagnostics, paper=sheet,
            title=f"{_topology_phrase(review)} {since} ({_versions_phrase(review)})",
            closing=_unjudged_note(review, files, values, asked_ledger=asked_ledger), named=tuple(map(str, paths)),
        )  # fmt: skip
        diagnostics = ()
    if not reviewed.reviews:
        unchanged = (
            f"No object changes below {', '.join(map(str, paths))} {since}; topologies there: {reviewed.unchanged:_}\n"
        )
        yield document(
            command="review", title="nothing to review", diagnostics=diagnostics, summary=unchanged, paper=sheet,
            named=tuple(map(str, paths)),
        )  # fmt: skip


def _own_paths(topology: Topology) -> Sequence[Path]:
    files = [*map(Path, topology.files)]
    return short_paths(Path(os.path.commonpath([file.parent for file in files])), files)


def _topology_phrase(review: Review) -> str:
    where = f" in {review.environment}" if review.environment else ""
    return f"{review.name}{where}{'' if review.head else ', whose files are gone,'}"


def _versions_phrase(review: Review) -> str:
    return f"judged offline for nats-server {' and '.join(version.short for version in review.versions)}"


def _unjudged_note(review: Review, files: Sequence[Path], values: Values, *, asked_ledger: bool) -> str:
    """Say what was not judged here, with the command that judges it, and whose reading of the streams is unknown."""
    unknown = "" if asked_ledger or not _has_stream_changes(review) else f"\n{READERS_UNKNOWN}"
    if not review.unjudged:
        return unknown.strip()
    codes = ", ".join(review.unjudged)
    own_values = replace(values, environment=review.environment or None)
    arguments = visible(shlex.join(own_values.file_arguments(files)))
    return (
        f"Not judged offline: {len(review.unjudged)} ({codes}). With the account: reconciler plan {arguments}{unknown}"
    )


def _has_stream_changes(review: Review) -> bool:
    """Return whether it changes or deletes something that others may read."""
    changing = (change for change in review.plan.changes if change.action in (Action.UPDATE, Action.DELETE))
    return any(REGISTRY[change.address.split("/")[0]].backing is not None for change in changing)


class _Ledgers:
    """Reads the ledger of each account once."""

    def __init__(self, connection: Connection, values: Values) -> None:
        self._connection, self._values = connection, values
        self._read = dict[str, Mapping[str, Entry]]()

    def ledger_of(self, topology: Topology) -> Mapping[str, Entry]:
        """Return the ledger of the account that a topology is for. Raises CannotContinue where it cannot be read."""
        if topology.environment not in self._read:
            own_values = replace(self._values, environment=topology.environment or None)
            own_connection = self._connection.for_environment(own_values, [*map(Path, topology.files)])
            self._read[topology.environment] = own_connection.ask(_ledger)
        return self._read[topology.environment]


async def _ledger(js: JetStream) -> Mapping[str, Entry]:
    from reconciler.server.read.observe import observe  # noqa: PLC0415 - only who connects pays for it

    snapshot = await observe(js, buckets=(BUCKET,), consumers_of=frozenset())
    if unread := remembered.unreadable_warning(snapshot):
        raise CannotContinue(replace(unread, severity=Severity.ERROR))
    return snapshot.entries.get(BUCKET, {})
