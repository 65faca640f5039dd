"""One apply after planning: it shows the plan, asks, carries it out, and reports."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from reconciler.changes.consent import DeclaredConsents
from reconciler.changes.events import REFUSALS, Event, Finished, Started, Waiting
from reconciler.changes.plan import Plan
from reconciler.cli.account.backups import back_up_first, unused_folder
from reconciler.cli.account.interruption import interruptible
from reconciler.cli.account.planning import MadePlan, Selection, open_plan
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.each_topology import failure_document
from reconciler.cli.shared.reporting import Reports, outcome_document
from reconciler.cli.shared.screen import OutputClosed, confirm, paper, say, tell, width
from reconciler.cli.shared.status_line import LINE
from reconciler.journeys.apply.apply import apply as run_plan
from reconciler.journeys.plan.plan import Planned
from reconciler.journeys.rollout.stage_checks import check_as_shown
from reconciler.journeys.saved.saving import SavedReview
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.codec.json import json_of
from reconciler.report.codec.outcome_json import OutcomeReport, outcome_report
from reconciler.report.document.document import Document, name_in_environment
from reconciler.report.document.headline import topology_and_account
from reconciler.report.formats import FORMATS
from reconciler.report.outcome import outcome_text, progress_line, start_line, steps_so_far_text
from reconciler.report.words.commands import plan_commands
from reconciler.report.words.diagnostics import report
from reconciler.report.words.paper import Paper
from reconciler.report.words.values import counted
from reconciler.report.words.visible import visible
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.wire.api import JetStream


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a run asks, what it leaves out, and how it reports."""

    yes: bool
    partial: bool
    format: common.PlainFormat
    paper: Paper
    reports: Reports
    backup: Path | None = None
    """The folder for backups of streams that lose something."""
    data: list[str] | None = None
    """Set for tools, where one document reports on several topologies."""
    agreed: Mapping[str, Plan] | None = None
    """The plan of each topology, where all plans were shown, and agreed to, before this run began."""
    member: str = ""
    """The target of a fleet."""

    @property
    def backup_folder_for_next_command(self) -> str | None:
        """Return the folder of backups for a next command: a new one where this run has begun to fill it, because
        backups are never overwritten."""
        return str(unused_folder(self.backup)) if self.backup else None

    def show_plan(self, document: Document) -> bool:
        """Show the plan before anything is changed. Tools get only the outcome."""
        self.reports.write(document, so=common.NOTHING_CHANGED)
        if self.format is common.PlainFormat.JSON:
            return True
        try:
            say(FORMATS["text"](replace(document, is_asked_about=document.goes_on and not self.yes)))
        except OutputClosed:
            tell("The plan could not be shown, so it was not applied. Nothing was changed.\n")
            return False
        return True

    def report_to_tools(self, data: str) -> None:
        """Report the outcome to tools, once."""
        if self.data is None:
            say(data)
        else:
            self.data.append(data)

    def report_failure(self, problem: CannotContinue) -> int:
        """Report one of several topologies that could not be planned, or was not begun."""
        document = failure_document("apply", problem, self.paper)
        if self.format is common.PlainFormat.JSON:
            self.report_to_tools(FORMATS["json"](document))
        tell(report(problem.diagnostics, paper(sys.stderr)))
        self.reports.write(document)
        return exits.INTERRUPTED if isinstance(problem, common.Interrupted) else exits.FAILED

    def can_apply(self, plan: Plan) -> bool:
        """Return whether there is something to apply, and nothing that stops it. With --partial, a refusal stops only
        what depends on it."""
        if plan.exit_code != exits.FINE and not self.partial:
            return False
        return bool(plan.steps or plan.records)

    def report_nothing_done(self, plan: Plan, as_wanted: tuple[str, ...] = ()) -> int:
        """Return the plan's exit code, and tell tools that no step was done."""
        return self._report_no_step(Finished(), plan, plan.exit_code, as_wanted)

    def report_declined(self, plan: Plan) -> int:
        """Tell people and tools that nothing was changed, because nobody confirmed it; the exit code is 1."""
        tell("Nothing was changed.\n")
        return self._report_no_step(Finished(stopped="not confirmed"), plan, exits.FAILED)

    def _report_no_step(self, finished: Finished, plan: Plan, code: int, as_wanted: tuple[str, ...] = ()) -> int:
        if self.format is common.PlainFormat.JSON:
            self.report_to_tools(json_of(self.outcome(finished, plan, code, as_wanted)))
        elif self.agreed is not None:
            say(f"{self.label(plan)}: {'nothing to do' if code == exits.FINE else 'left out'}.\n")
        return code

    def outcome(self, finished: Finished, plan: Plan, code: int, as_wanted: tuple[str, ...] = ()) -> OutcomeReport:
        """Return the outcome for tools."""
        return outcome_report(
            finished, topology=plan.topology, environment=plan.environment, member=self.member, exit_code=code,
            as_wanted=as_wanted,
        )  # fmt: skip

    def label(self, plan: Plan) -> str:
        """Return what a line about an outcome begins with, where it does not stand below its plan."""
        return visible(self.member or name_in_environment(plan.topology, plan.environment))


class ApplyRun:
    """One apply, from reading the account to the last line."""

    def __init__(
        self,
        manner: Manner,
        check: Callable[[MadePlan], None] = lambda _: None,
        applied: Callable[[MadePlan, JetStream], Awaitable[None]] | None = None,
    ) -> None:
        """`check` raises CannotContinue where a plan must be neither shown nor applied; `applied` hears that it was."""
        self._manner, self._check, self._applied = manner, check, applied
        self.outcome = "unchanged"
        """In a word, where the exit code is 0 or 1."""

    async def plan_and_apply(
        self, paths: Sequence[Path], options: ConnectOptions, chosen: Selection, arguments: Callable[[Selection], str]
    ) -> int:
        """Read `paths` and apply, and return the exit code; `arguments` are those that the next command line
        repeats."""
        async with open_plan(paths, options, chosen, arguments) as (made, js):
            return await self.show_and_apply(made, js)

    async def show_and_apply(self, made: MadePlan, js: JetStream) -> int:
        """Show the plan, ask, and carry it out."""
        self._check(made)
        plan, manner = made.planned.plan, self._manner
        document = made.document(manner.paper, command="apply", goes_on=manner.can_apply(plan))
        if manner.agreed is not None:
            check_as_shown(manner.agreed.get(plan.topology), plan, DeclaredConsents.of(made.topology))
        elif not manner.show_plan(document):
            return exits.FAILED
        if not manner.can_apply(plan):
            return manner.report_nothing_done(plan)
        if manner.agreed is None and not manner.yes and not confirm_plan(plan):
            self.outcome = "not confirmed"
            return manner.report_declined(plan)
        self.outcome = "interrupted"
        agreed = AgreedPlan(
            what=made.planned, plan=plan, shown=document, arguments=made.arguments, manner=manner, ended=self._mark_applied,
        )  # fmt: skip
        code = await agreed.carry_out(js)
        if self._applied:
            await self._applied(made, js)
        return code

    def _mark_applied(self) -> None:
        self.outcome = "applied"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedPlan:
    """Carries out and reports what was shown and agreed to: a plan just made, or a saved one."""

    what: Planned | SavedReview
    plan: Plan
    """The plan as it was shown."""
    shown: Document
    arguments: str
    """The arguments that the next command repeats."""
    manner: Manner
    as_wanted: tuple[str, ...] = ()
    ended: Callable[[], None] = lambda: None
    """Hears that the account is as the report will say."""

    async def carry_out(self, js: JetStream) -> int:
        """Apply the plan, report its outcome, and return the exit code. A second Ctrl-C raises Interrupted."""
        began = time.monotonic()
        try:
            finished = await apply_with_progress(self.what, js, backup=self.manner.backup)
        except asyncio.CancelledError:
            look_command = (self.shown.commands or plan_commands(self.arguments)).look
            message = "Stopped at once; requests that were already sent may have been carried out."
            raise common.Interrupted.because("XX923", "interrupted", message, fix=f"Next: {look_command}") from None
        self.ended()
        code = apply_exit_code(finished, self.plan)
        self._report(finished, code, time.monotonic() - began)
        return code

    def _report(self, finished: Finished, code: int, seconds: float) -> None:
        plan, manner, commands = self.plan, self.manner, self.shown.commands
        if manner.agreed is not None:
            commands = replace(commands or plan_commands(self.arguments), then="")
        text_of = partial(
            outcome_text, finished, arguments=self.arguments, backup=manner.backup_folder_for_next_command, seconds=seconds,
            left=len(plan.blocked) + plan.hidden, later=isinstance(self.what, SavedReview), commands=commands,
        )  # fmt: skip
        outcome = manner.outcome(finished, plan, code, self.as_wanted)
        with contextlib.suppress(OutputClosed):  # the exit code says it all the same, and so do the reports
            if manner.format is common.PlainFormat.JSON:
                manner.report_to_tools(json_of(outcome))
            elif manner.agreed is None:
                say("\n" + text_of(manner.paper))
            else:
                say(_under_name(manner.label(plan), text_of(manner.paper)))
        manner.reports.write(outcome_document(self.shown, finished, text_of(), outcome))


def _under_name(name: str, text: str) -> str:
    """Put one line behind the name, several lines below it."""
    return f"{name}: {text.strip()}\n" if len(text.splitlines()) == 1 else f"{name}:\n{text}"


def apply_exit_code(finished: Finished, plan: Plan) -> int:
    """Return the exit code: a change that only lacks consent counts as refused, not as failed."""
    if finished.stopped == "interrupted":
        return exits.INTERRUPTED
    if finished.is_success:
        return plan.exit_code
    reasons = {*(failure.reason.code for failure in finished.failed), *(cause.code for cause in finished.left_alone)}
    is_refused = reasons and reasons <= REFUSALS and not finished.in_doubt and finished.stopped is None
    return exits.REFUSED if is_refused and plan.exit_code != exits.FAILED else exits.FAILED


def confirm_plan(plan: Plan) -> bool:
    """Ask on the terminal whether to apply the plan; only an explicit yes makes it True."""
    steps = counted(len(plan.steps), "step") if plan.steps else "no step, only records of ownership"
    return confirm(f"\nApply this ({steps}) to {topology_and_account(plan.topology, plan.target)}?")


async def apply_with_progress(planned: Planned | SavedReview, js: JetStream, *, backup: Path | None = None) -> Finished:
    """Run the plan with a line of progress. Ctrl-C ends it in good order, a second one at once."""
    plan = planned.outlook.plan if isinstance(planned, SavedReview) else planned.plan
    line, finished = _ProgressLine(len(plan.steps)), None
    stop = asyncio.Event()
    back_up = partial(back_up_first, folder=backup) if backup else None
    with interruptible(stop):
        async for event in run_plan(planned, js, stop=stop, tell=_tell_wait, backup=back_up):
            line.follow(event)
            if isinstance(event, Finished):
                finished = event
    assert finished is not None, "every run ends with Finished"
    return finished


def _tell_wait(text: str) -> None:
    tell(visible(text) + "\n")


class _ProgressLine:
    """Shows progress, at most twenty times a second, and beside it what a run waits for."""

    def __init__(self, total: int) -> None:
        self._total, self._settled, self._next = total, 0, 0.0
        self._told: set[str] = set()
        LINE.show(start_line(total))

    def follow(self, event: Event) -> None:
        """Show how far the run is after this event."""
        if isinstance(event, Finished):
            LINE.show("")
            return
        if isinstance(event, Waiting):
            self._show_waiting(event)
            return
        self._settled += not isinstance(event, Started)
        if LINE.is_watched and time.monotonic() >= self._next:
            self._next = time.monotonic() + 0.05
            LINE.show(progress_line(self._settled, self._total, event.step, width(sys.stderr)))

    def _show_waiting(self, event: Waiting) -> None:
        """Say once for each step what a run waits for, because readers of a log want to know what took so long."""
        if LINE.is_watched:
            LINE.show(steps_so_far_text(self._settled, self._total))
        elif event.step.id not in self._told:
            self._told.add(event.step.id)
            tell(f"{visible(event.text)} …\n")
