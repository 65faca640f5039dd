"""What `plan` and `apply` share: files and options in, a plan and its text out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reconciler.cli import common
from reconciler.cli.connecting import Connection
from reconciler.cli.screen import Progress
from reconciler.core.diagnostic import CannotContinue
from reconciler.documents.load import Loaded
from reconciler.report.paper import Paper
from reconciler.report.text import plan_text
from reconciler.server.api import JetStream
from reconciler.workflow.files import load
from reconciler.workflow.plan import Planned, PlanOptions
from reconciler.workflow.plan import plan as make_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of the files this run is about, and what it may do."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]
    allow: tuple[str, ...]

    def options(self) -> PlanOptions:
        return PlanOptions(only=self.only, exclude=self.exclude, allow=common.consents([*self.allow]))

    def arguments(self, paths: Sequence[Path], connection: Connection) -> str:
        """What the next command line repeats."""
        options = (("--only", self.only), ("--exclude", self.exclude), ("--allow", self.allow))
        return connection.arguments(*map(str, paths), options=options)


def selection(only: common.Only = None, exclude: common.Exclude = None, allow: common.Allow = None) -> Selection:
    common.consents(allow)
    return Selection(only=tuple(only or ()), exclude=tuple(exclude or ()), allow=tuple(allow or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A plan, and what is said beside it."""

    planned: Planned
    arguments: str
    seconds: float

    def text(self, paper: Paper) -> str:
        return plan_text(self.planned.plan, paper, arguments=self.arguments, seconds=self.seconds)


def read(paths: Sequence[Path]) -> Loaded:
    """The topology, or everything that is wrong with the files at once."""
    loaded = load(paths)
    if loaded.topology is None:
        raise CannotContinue(*loaded.diagnostics)
    return loaded


async def make(loaded: Loaded, js: JetStream, chosen: Selection, arguments: str) -> Made:
    """What the files' own warnings say stands in the plan too."""
    assert loaded.topology is not None
    progress = Progress()
    progress.show("reading the account …")
    began = time.monotonic()
    try:
        planned = await make_plan(loaded.topology, js, chosen.options())
    finally:
        progress.clear()
    plan = replace(planned.plan, diagnostics=(*loaded.diagnostics, *planned.plan.diagnostics))
    return Made(planned=replace(planned, plan=plan), arguments=arguments, seconds=time.monotonic() - began)
