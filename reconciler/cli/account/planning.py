"""Shared by `plan` and `apply`: files and options in, a plan and its text out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from reconciler.changes import consent
from reconciler.changes.change import Action
from reconciler.changes.plan import Plan
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import takes
from reconciler.cli.shared.connecting import Connection
from reconciler.cli.shared.each_topology import Only
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.screen import Progress
from reconciler.cli.shared.value_option import NO_VALUES, Values, values
from reconciler.documents.read.load import Loaded
from reconciler.documents.read.values import Filled
from reconciler.journeys.files_and_account import both
from reconciler.journeys.plan.going_back import Earlier, lasting_losses
from reconciler.journeys.plan.plan import Planned, planned
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.report.document.document import Document
from reconciler.report.words.commands import CommandLines
from reconciler.report.words.paper import Paper
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.wire.api import JetStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of the files a run covers, and what it may do."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]
    allow: tuple[str, ...]
    take_over: tuple[str, ...]
    revision: str | None = None
    """A git revision: the files as they were then."""
    values: Values = NO_VALUES
    """Values of names that stand in the files."""
    given_up: tuple[tuple[Address, str], ...] = ()
    """Objects that the topologies planned before give up."""
    streams_left: tuple[tuple[str, Config | None], ...] = ()
    """What they write of the configuration of streams; None: they delete it."""

    @property
    def of_one(self) -> tuple[Only, ...]:
        """Options that name something in one topology."""
        said = ((self.only, "--only"), (self.exclude, "--exclude"), (self.allow, "--allow"))
        return (*said, (self.take_over, "--take-over"))

    def earlier(self, paths: Sequence[Path]) -> Earlier | None:
        """Return the commit that --revision names; None without it. Raises CannotContinue where git does not know
        it."""
        return Earlier.at(self.revision, paths) if self.revision else None

    def tree(self, earlier: Earlier | None) -> Filled:
        """Return the files as they are on disk, or in that commit, with the values of their parameters."""
        return self.values.tree(earlier.tree if earlier else None)

    def options(self, earlier: Earlier | None = None) -> RunOptions:
        """Return the selection for the planner, with the commit that the files came from, if it was an earlier one."""
        came_from = earlier.came_from if earlier else None
        allow = common.consents([*self.allow])
        return RunOptions(
            only=self.only, exclude=self.exclude, allow=allow, take_over=self.take_over, given_up=self.given_up,
            streams_left=self.streams_left, origin=came_from,
        )  # fmt: skip

    def after(self, plan: Plan) -> Selection:
        """Return the selection for the next topology: what this plan gives up, objects and subjects, is free by then, if
        the plan is carried out."""
        if plan.exit_code != exits.FINE:
            return self
        going = ((Address.parse(one.address), plan.topology) for one in plan.changes if one.action is Action.FORGET)
        left = {**dict(self.streams_left), **plan.streams_left}
        return replace(self, given_up=(*self.given_up, *going), streams_left=tuple(left.items()))

    def of_use(self, plan: Plan) -> Selection:
        """Return the selection without consents to nothing, which no next command should repeat."""
        verdicts = [verdict for change in plan.changes for verdict in change.verdicts]
        kept = (one for one in self.allow if consent.is_of_use(common.consents([one])[0], verdicts))
        return replace(self, allow=tuple(kept))

    def files(self, paths: Sequence[Path]) -> list[str]:
        """Return the files as a command names them."""
        return [*(("--revision", self.revision) if self.revision else ()), *self.values.files(paths)]

    def arguments(self, paths: Sequence[Path], connection: Connection) -> str:
        """Return what the next command line repeats."""
        options = (
            ("--only", self.only), ("--exclude", self.exclude), ("--allow", self.allow), ("--take-over", self.take_over),
        )  # fmt: skip
        return connection.arguments(*self.files(paths), options=options)


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
    """Declares --only, --exclude, --allow, --take-over and --revision. Raises Misused where a consent cannot be
    read."""
    common.consents(allow)
    if revision == "":
        raise common.Misused("--revision: name a revision of git, for example HEAD~1 or v1.2.")
    return Selection(
        only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()), take_over=tuple(take_over or ()),
        revision=revision, values=values,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A plan with the other content of its report."""

    planned: Planned
    topology: Topology
    arguments: str
    seconds: float
    commands: CommandLines | None = None
    """What to type next, where that is neither `plan` nor `apply`."""

    def document(
        self, paper: Paper, *, command: str = "plan", goes_on: bool = False, applying: str | None = None
    ) -> Document:
        """Return the report on this plan. `goes_on` says that this run applies it at once, `applying` that an apply
        takes other arguments."""
        plan = self.planned.plan
        return document(
            command=command, topology=plan.topology, plan=plan, declared=self.topology, arguments=self.arguments,
            applying=applying, goes_on=goes_on, seconds=self.seconds, paper=paper, commands=self.commands,
        )  # fmt: skip


def with_files(plan: Plan, loaded: Loaded, earlier: Earlier | None) -> Plan:
    """Add the warnings about the files, and about what going back does not bring back."""
    return replace(
        plan, diagnostics=(*loaded.diagnostics, *(lasting_losses(plan) if earlier else ()), *plan.diagnostics)
    )


@asynccontextmanager
async def making(
    paths: Sequence[Path], options: ConnectOptions, chosen: Selection, arguments: Callable[[Selection], str]
) -> AsyncIterator[tuple[Made, JetStream]]:
    """Make the plan, and keep the connection to carry it out. `arguments` says what a next command line repeats of a
    selection."""
    progress = Progress()
    progress.show("reading files and account …")
    began = time.monotonic()
    try:
        earlier = chosen.earlier(paths)
        async with both(paths, options, chosen.tree(earlier)) as here:
            found = await planned(here.topology, here.snapshot, here.js, chosen.options(earlier))
            progress.clear()
            seconds = time.monotonic() - began
            whole = replace(found, plan=with_files(found.plan, here.loaded, earlier))
            again = arguments(chosen.of_use(whole.plan))
            yield Made(planned=whole, topology=here.topology, arguments=again, seconds=seconds), here.js
    finally:
        progress.clear()
