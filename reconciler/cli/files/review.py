"""`reconciler review`: shows what the changes between two revisions of the files would do, without an account or
credentials."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes.change import Action
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.review.review import Review
from reconciler.journeys.review.revisions import Reviewed, review_files
from reconciler.memory import remembered
from reconciler.model.diagnostic import CannotContinue, Severity
from reconciler.model.records import BUCKET
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Entry
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import visible

app = common.app()
READABLE = ("stream", "kv_bucket", "object_store")
READERS_UNKNOWN = (
    "Who else reads these streams is known only from the files that were named; --ledger asks the account."
)
SHOWN = 12
"""How many characters of a commit are shown."""


@app.command(epilog=exits.named(exits.PENDING, exits.REFUSED))
@takes(connection)
@takes(reports)
@takes(values)
def review(
    reports: Reports,
    values: Values,
    connection: Connection,
    base: Annotated[
        str, typer.Option("--base", metavar="REV", help="Compare with where this git revision and yours parted.")
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATHS...]", help="Files and folders, of any number of topologies.", show_default="."),
    ] = None,
    head: Annotated[
        str | None, typer.Option("--head", metavar="REV", help="Compare this git revision, not the working tree.")
    ] = None,
    for_server: Annotated[
        str | None,
        typer.Option(
            "--for-server",
            metavar="VERSION",
            help="Judge for this version of nats-server alone. [expect.min_server, and the newest]",
        ),
    ] = None,
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
    common.never(
        (connection.is_named and not ledger, "review asks no server but for its ledger; add --ledger, or leave the server out."),
    )  # fmt: skip
    where = paths or [Path()]
    server = common.version(for_server)
    with doing("comparing revisions …"):
        found = review_files(
            where,
            base,
            head,
            today=datetime.now(UTC).date(),
            server=server,
            values=dict(values.given),
            files_of_values=values.files_of_values,
            environment=values.environment,
            ledger=_Ledgers(connection, values).of if ledger else None,
        )
    look = paper(verbose=verbose, no_color=no_color)
    reports.say(format_, *_documents(found, where, values, head, look, asked_ledger=ledger))
    return _code(found, pending=exit_code)


def _documents(
    found: Reviewed, paths: Sequence[Path], values: Values, head: str | None, look: Paper, *, asked_ledger: bool
) -> Iterator[Document]:
    since = f"since {found.base[:SHOWN]}" + (f" up to {head}" if head else "")
    beside = found.diagnostics
    for one in found.reviews:
        yield document(
            command="review", topology=one.name, plan=one.plan, declared=one.head, diagnostics=beside, paper=look,
            title=f"{_named(one)} {since} ({_judged(one)})",
            closing=_closing(one, paths, values, asked_ledger=asked_ledger), named=tuple(map(str, paths)),
        )  # fmt: skip
        beside = ()
    if not found.reviews:
        same = f"Nothing changed below {', '.join(map(str, paths))} {since}; topologies there: {found.unchanged:_}\n"
        yield document(
            command="review", title="nothing to review", diagnostics=beside, summary=same, paper=look,
            named=tuple(map(str, paths)),
        )  # fmt: skip


def _named(one: Review) -> str:
    where = f" in {one.environment}" if one.environment else ""
    return f"{one.name}{where}{'' if one.head else ', whose files are gone,'}"


def _judged(one: Review) -> str:
    return f"judged offline for nats-server {' and '.join(version.short for version in one.versions)}"


def _closing(one: Review, paths: Sequence[Path], values: Values, *, asked_ledger: bool) -> str:
    """Say what was not judged here, and which command judges it."""
    unknown = "" if asked_ledger or not _takes_away(one) else f"\n{READERS_UNKNOWN}"
    if not one.unjudged:
        return unknown.strip()
    codes = ", ".join(one.unjudged)
    own = replace(values, environment=one.environment or None)
    files = shlex.join(own.files([*map(Path, one.head.files)] if one.head else paths))
    return f"Not judged offline: {len(one.unjudged)} ({codes}). With the account: reconciler plan {visible(files)}{unknown}"


def _takes_away(one: Review) -> bool:
    """Does it change or delete something that others may read?"""
    changing = (change for change in one.plan.changes if change.action in (Action.UPDATE, Action.DELETE))
    return any(change.address.split("/")[0] in READABLE for change in changing)


class _Ledgers:
    """Reads the ledger of each account once."""

    def __init__(self, connection: Connection, values: Values) -> None:
        self._connection, self._values = connection, values
        self._read = dict[str, Mapping[str, Entry]]()

    def of(self, topology: Topology) -> Mapping[str, Entry]:
        """Return the ledger of the account that a topology is for. Raises CannotContinue where it cannot be read."""
        if topology.environment not in self._read:
            own = replace(self._values, environment=topology.environment or None)
            there = self._connection.in_environment(own, [*map(Path, topology.files)])
            self._read[topology.environment] = asyncio.run(self._ask(there))
        return self._read[topology.environment]

    async def _ask(self, there: Connection) -> Mapping[str, Entry]:
        from reconciler.server.read.observe import observe  # noqa: PLC0415 - only who connects pays for it

        async with there.open() as js:
            snapshot = await observe(js, buckets=(BUCKET,), consumers_of=frozenset())
        if unread := remembered.unreadable_warning(snapshot):
            raise CannotContinue(replace(unread, severity=Severity.ERROR))
        return snapshot.entries.get(BUCKET, {})


def _code(found: Reviewed, *, pending: bool) -> int:
    codes = {one.plan.exit_code for one in found.reviews}
    worst = next((code for code in (exits.FAILED, exits.REFUSED) if code in codes), exits.FINE)
    if worst == exits.FINE and pending and any(not one.plan.is_empty for one in found.reviews):
        return exits.PENDING
    return worst
