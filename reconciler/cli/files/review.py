"""`reconciler review`: shows what the changes between two revisions of the files would do, without an account or
credentials."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.option_groups import takes
from reconciler.cli.shared.reporting import ChosenFormat, ReportFormat, Reports, document, reports
from reconciler.cli.shared.screen import doing, paper
from reconciler.cli.shared.value_option import Values, values
from reconciler.journeys.review.review import Review
from reconciler.journeys.review.revisions import Reviewed, review_files
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import visible

app = common.app()
SHOWN = 12
"""How many characters of a commit are shown."""


@app.command(epilog=exits.named(exits.PENDING, exits.REFUSED))
@takes(reports)
@takes(values)
def review(
    reports: Reports,
    values: Values,
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
    format_: ChosenFormat = ReportFormat.TEXT,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit 2 when there are changes.")] = False,
    verbose: common.Verbose = False,
    no_color: common.NoColor = False,
) -> int:
    """Show what a change of the files would do, without an account: for pull requests, also from forks."""
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
        )
    look = paper(verbose=verbose, no_color=no_color)
    reports.say(format_, *_documents(found, where, values, head, look))
    return _code(found, pending=exit_code)


def _documents(
    found: Reviewed, paths: Sequence[Path], values: Values, head: str | None, look: Paper
) -> Iterator[Document]:
    since = f"since {found.base[:SHOWN]}" + (f" up to {head}" if head else "")
    beside = found.diagnostics
    for one in found.reviews:
        yield document(
            command="review", topology=one.name, plan=one.plan, declared=one.head, diagnostics=beside, paper=look,
            title=f"{_named(one)} {since} ({_judged(one)})",
            closing=_closing(one, paths, values), named=tuple(map(str, paths)),
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


def _closing(one: Review, paths: Sequence[Path], values: Values) -> str:
    """Say what was not judged here, and which command judges it."""
    if not one.unjudged:
        return ""
    codes = ", ".join(one.unjudged)
    own = replace(values, environment=one.environment or None)
    files = shlex.join(own.files([*map(Path, one.head.files)] if one.head else paths))
    return f"Not judged offline: {len(one.unjudged)} ({codes}). With the account: reconciler plan {visible(files)}"


def _code(found: Reviewed, *, pending: bool) -> int:
    codes = {one.plan.exit_code for one in found.reviews}
    worst = next((code for code in (exits.FAILED, exits.REFUSED) if code in codes), exits.FINE)
    if worst == exits.FINE and pending and any(not one.plan.is_empty for one in found.reviews):
        return exits.PENDING
    return worst
