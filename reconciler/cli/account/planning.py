"""Shared by `plan` and `apply`: files and options in, a plan and its text out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes import consent
from reconciler.changes.plan import Plan
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection
from reconciler.cli.shared.each_topology import SingleOption
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.status_line import LINE
from reconciler.cli.shared.value_option import NO_VALUES, Values, values
from reconciler.documents.fill.values import Filled
from reconciler.documents.read.load import Loaded
from reconciler.engine.idle_patterns import is_idle
from reconciler.journeys.files_and_account import both
from reconciler.journeys.plan.going_back import EarlierFiles, lasting_losses
from reconciler.journeys.plan.plan import Planned, plan_from_snapshot
from reconciler.model.dataclass import dataclass
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Snapshot
from reconciler.report.document.document import Document
from reconciler.report.words.commands import CommandLines, plan_with_connection
from reconciler.report.words.paper import Paper
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.wire.api import JetStream
from reconciler.testbed import imagined


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of the files a run covers, and what it may do."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]
    allow: tuple[str, ...]
    take_over: tuple[str, ...]
    may_match_nothing: bool = False
    """Whether a pattern may match nothing in one topology of the run."""
    revision: str | None = None
    """A git revision: the files as they were then."""
    values: Values = NO_VALUES
    """Values of names that stand in the files."""
    owners_named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The owners of streams that the files of each other topology name."""

    @property
    def single_topology_options(self) -> tuple[SingleOption, ...]:
        """Options that name something in one topology."""
        options = ((self.only, "--only"), (self.exclude, "--exclude"), (self.allow, "--allow"))
        return (*options, (self.take_over, "--take-over"))

    def earlier(self, paths: Sequence[Path]) -> EarlierFiles | None:
        """Return the commit that --revision names; None without it. Raises CannotContinue where git does not know
        it."""
        return EarlierFiles.at(self.revision, paths) if self.revision else None

    def tree(self, earlier: EarlierFiles | None) -> Filled:
        """Return the files as they are on disk, or in that commit, with the values of their parameters."""
        return self.values.tree(earlier.tree if earlier else None)

    def options(self, earlier: EarlierFiles | None = None, stopped: Sequence[str] = ()) -> RunOptions:
        """Return the selection for the planner, with the commit that the files came from, if it was an earlier one, and
        with the topologies before it that are `stopped`."""
        came_from = earlier.came_from if earlier else None
        allow = common.parse_consents([*self.allow])
        return RunOptions(
            only=self.only, exclude=self.exclude, may_match_nothing=self.may_match_nothing, allow=allow,
            take_over=self.take_over, stopped=tuple(stopped), owners_named=self.owners_named, origin=came_from,
        )  # fmt: skip

    def without_idle_parts(self, plan: Plan) -> Selection:
        """Return the selection without consents to nothing and patterns that match nothing, which no next command should
        repeat."""
        verdicts = [verdict for change in plan.changes for verdict in change.verdicts]
        useful = (text for text in self.allow if consent.is_of_use(common.parse_consents([text])[0], verdicts))
        only = (pattern for pattern in self.only if not is_idle("--only", pattern, plan.diagnostics))
        exclude = (pattern for pattern in self.exclude if not is_idle("--exclude", pattern, plan.diagnostics))
        return replace(self, only=tuple(only) or self.only, exclude=tuple(exclude), allow=tuple(useful))

    def file_arguments(self, paths: Sequence[Path]) -> list[str]:
        """Return the files as a command names them."""
        return [*(("--revision", self.revision) if self.revision else ()), *self.values.file_arguments(paths)]

    def arguments(self, paths: Sequence[Path], connection: Connection) -> str:
        """Return what the next command line repeats."""
        options = (
            ("--only", self.only), ("--exclude", self.exclude), ("--allow", self.allow), ("--take-over", self.take_over),
        )  # fmt: skip
        return connection.arguments(*self.file_arguments(paths), options=options)


@takes(values)
def selection(
    values: Values,
    only: common.Only = None,
    exclude: common.Exclude = None,
    allow: common.Allow = None,
    take_over: common.TakeOver = None,
    revision: Annotated[
        str | None,
        typer.Option(
            "--revision", metavar="OLD", help="Read PATHS as they were in this git revision, to go back to it."
        ),
    ] = None,
) -> Selection:
    """Declare --only, --exclude, --allow, --take-over and --revision. Raises Misused where a consent cannot be
    read."""
    common.parse_consents(allow)
    if revision == "":
        raise common.Misused("--revision: name a revision of git, for example HEAD~1 or v1.2.")
    return Selection(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()), take_over=tuple(take_over or ()),
        revision=revision, values=values,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePlan:
    """A plan with the other content of its report."""

    planned: Planned
    topology: Topology
    arguments: str
    seconds: float
    commands: CommandLines | None = None
    """What to type next, where that is neither `plan` nor `apply`."""
    connection: str = ""
    """What other commands repeat to connect as this one does."""

    def account_left(self) -> Snapshot:
        """Return the account as this plan leaves it: untouched where nobody can carry it out yet."""
        if self.planned.plan.exit_code != exits.FINE:
            return self.planned.snapshot
        return imagined.snapshot_after_plan(self.planned.snapshot, self.planned.plan)

    @property
    def topologies_stopped(self) -> tuple[str, ...]:
        """Return this topology and those before it, as far as nobody can carry out their plans yet."""
        is_stopped = self.planned.plan.exit_code != exits.FINE
        return (*self.planned.options.stopped, *((self.topology.name,) if is_stopped else ()))

    def document(
        self, paper: Paper, *, command: str = "plan", goes_on: bool = False, applying: str | None = None
    ) -> Document:
        """Return the report on this plan. `goes_on` says that this run applies it at once, `applying` that an apply
        takes other arguments."""
        plan = plan_with_connection(self.planned.plan, self.connection)
        return document(
            command=command, topology=plan.topology, plan=plan, declared=self.topology, arguments=self.arguments,
            applying=applying, goes_on=goes_on, seconds=self.seconds, paper=paper, commands=self.commands,
        )  # fmt: skip


def with_file_warnings(plan: Plan, loaded: Loaded, earlier: EarlierFiles | None) -> Plan:
    """Add the warnings about the files, and about what going back does not bring back."""
    return replace(
        plan, diagnostics=(*loaded.diagnostics, *(lasting_losses(plan) if earlier else ()), *plan.diagnostics)
    )


@asynccontextmanager
async def open_plan(
    paths: Sequence[Path],
    options: ConnectOptions,
    selected: Selection,
    arguments: Callable[[Selection], str],
    before: MadePlan | None = None,
) -> AsyncIterator[tuple[MadePlan, JetStream]]:
    """Make the plan, and keep the connection to carry it out. `arguments` says what a next command line repeats of a
    selection. A plan that comes after the one `before` starts from what that one leaves."""
    LINE.show("reading files and account …")
    began = time.monotonic()
    try:
        earlier = selected.earlier(paths)
        left, stopped = (before.account_left(), before.topologies_stopped) if before else (None, ())
        async with both(paths, options, selected.tree(earlier), account=left) as state:
            without_files = await plan_from_snapshot(
                state.topology, state.snapshot, state.js, selected.options(earlier, stopped)
            )
            LINE.show("")
            seconds = time.monotonic() - began
            plan = replace(
                with_file_warnings(without_files.plan, state.loaded, earlier),
                after=before.topology.name if before and left is not before.planned.snapshot else None,
            )
            repeated = arguments(selected.without_idle_parts(plan))
            complete = replace(without_files, plan=plan)
            yield MadePlan(
                planned=complete, topology=state.topology, arguments=repeated, seconds=seconds, connection=options.repeated or "",
            ), state.js  # fmt: skip
    finally:
        LINE.show("")
