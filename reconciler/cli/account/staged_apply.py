"""One apply over several units, in stages: all plans are shown first, and a stage begins when the one before has passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TypeAlias

from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.interruption import interruptible_between
from reconciler.cli.account.many_applies import (
    ApplyResult,
    ManyApplies,
    is_failure,
    is_refused,
    topology_exit_code,
    unit_outcome_words,
)
from reconciler.cli.account.planning import MadePlan, Selection, open_plan
from reconciler.cli.account.shared_accounts import refuse_shared_accounts
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.each_topology import Unit, UnitResults, UnitRun, Work, results
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.screen import OutputClosed, confirm, tell
from reconciler.engine.idle_patterns import refuse_patterns_idle_everywhere
from reconciler.journeys.drift.look import look
from reconciler.journeys.rollout.divide import RolloutMember, RolloutStage, divide_members, division_text
from reconciler.journeys.rollout.stage_checks import Seen, judge_look, objections_while_staying
from reconciler.journeys.rollout.text import (
    NOT_BEGUN,
    Progress,
    passed_line,
    progress_lines,
    progress_sentence,
    stage_title,
    summary_text,
)
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.run_options import RunOptions
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from reconciler.report.words.values import counted
from reconciler.server.connect.options import ConnectOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyAccess:
    """How one topology of a unit is reached, and what of it is applied."""

    options: ConnectOptions
    chosen: Selection
    arguments: Callable[[Selection], str]
    """What a next command line repeats."""
    deadline: float | None = None
    """Seconds after which planning it is given up."""
    late: Callable[[], Diagnostic] | None = None
    """What to say then."""

    async def make_plan(self, files: Sequence[Path], before: MadePlan | None = None) -> MadePlan:
        """Make the plan that comes after the one `before`. Raises CannotContinue where that takes too long."""
        try:
            async with (
                asyncio.timeout(self.deadline),
                open_plan(files, self.options, self.chosen, self.arguments, before) as (made, _),
            ):
                return made
        except TimeoutError:
            if self.late is None:
                raise
            raise CannotContinue(self.late()) from None


DONE = ("applied", "unchanged")
"""The outcomes with which a stage may pass."""
Reach: TypeAlias = Callable[[Unit, Sequence[Path]], TopologyAccess]
Plans: TypeAlias = Sequence[UnitResults[MadePlan]]


@dataclass(slots=True, kw_only=True)
class StagedApply:
    """One run, from reading the accounts to the last line."""

    units: Sequence[Unit]
    reach: Reach
    manner: Manner
    stages: str | None
    """As --stages has them. None: all units are one stage, and nobody looks at it afterwards."""
    at_once: int
    word: str = "environment"
    overview: Callable[[Plans], str] | None = None
    """Makes one text of all plans. None: they are shown one after the other."""
    _many_applies: ManyApplies = field(init=False)
    _outcomes: dict[str, str] = field(default_factory=dict, init=False)
    _codes: list[int] = field(default_factory=list, init=False)

    async def run(self) -> int:
        """Plan everything, show it, ask, and apply stage by stage; return the exit code."""
        stages = self._divide_units()
        self._many_applies = ManyApplies(self.manner)
        self._many_applies.fix_order(*self.units)
        self._outcomes = dict.fromkeys((unit.name for unit in self.units), NOT_BEGUN)
        plans = await UnitRun(self._plan_work, at_once=self.at_once).run(self.units)
        refuse_shared_accounts(plans, self.word)
        made = [result for result in results(plans) if isinstance(result, MadePlan)]
        refuse_patterns_idle_everywhere([result.planned.plan.diagnostics for result in made])
        if not self._show_plans(plans, stages):
            return exits.FAILED
        if not any(self._can_apply(part) for part in plans) or (self.stages and self._is_stopped(plans)):
            return self._report_nothing_begun(plans)
        if not self.manner.yes and not self._confirm(plans, stages):
            return exits.FAILED
        with interruptible_between():
            return await self._apply_stages(stages, plans)

    def _divide_units(self) -> list[RolloutStage]:
        members = [RolloutMember(name=unit.name, labels=unit.labels) for unit in self.units]
        if self.stages is not None:
            return divide_members(self.stages, members, self.word)
        return [RolloutStage(text="", members=tuple(unit.name for unit in members))]

    def _plan_work(self) -> Work[MadePlan]:
        before: MadePlan | None = None

        async def plan_unit(unit: Unit, files: Sequence[Path]) -> MadePlan:
            nonlocal before
            before = await self.reach(unit, files).make_plan(files, before)
            return before

        return plan_unit

    def _show_plans(self, plans: Plans, stages: Sequence[RolloutStage]) -> bool:
        """Show everything before anything is changed. Tools get only the outcome."""
        documents = list[Document]()
        for part in plans:
            for result in part.results:
                if isinstance(result, MadePlan):
                    goes_on = self.manner.can_apply(result.planned.plan)
                    documents.append(result.document(self.manner.paper, command="apply", goes_on=goes_on))
                    self._many_applies.manner_of(part.unit).reports.write(documents[-1], so=common.NOTHING_CHANGED)
                elif self.overview is None or self._many_applies.is_for_tools:
                    self._many_applies.report_problem(part.unit, result)
        try:
            if self.overview is not None:
                self._many_applies.print_text(self.overview(plans))
            elif documents:
                self._many_applies.print_text(FORMATS["text"].render_several(documents))
            if self.stages is not None:
                self._many_applies.print_text(f"\n{division_text(stages, self.word)}\n")
        except OutputClosed:
            tell("The plans could not be shown, so they were not applied. Nothing was changed.\n")
            return False
        return True

    def _can_apply(self, part: UnitResults[MadePlan]) -> bool:
        return any(
            isinstance(result, MadePlan) and self.manner.can_apply(result.planned.plan) for result in part.results
        )

    def _is_stopping(self, result: MadePlan | CannotContinue) -> bool:
        """Return whether this keeps every stage from beginning. With --partial, a refusal stops only what depends on it."""
        code = result.planned.plan.exit_code if isinstance(result, MadePlan) else exits.FAILED
        return code == exits.FAILED or (code == exits.REFUSED and not self.manner.partial)

    def _is_stopped(self, plans: Plans) -> bool:
        return any(self._is_stopping(result) for part in plans for result in part.results)

    def _report_nothing_begun(self, plans: Plans) -> int:
        """Say that no stage was begun, because something in one of them is refused, or because there is nothing to do."""
        codes, words = list[int](), {exits.FINE: "not begun", exits.REFUSED: "refused"}
        is_stopped = self._is_stopped(plans)
        for part in plans:
            unit_codes = [
                result.planned.plan.exit_code if isinstance(result, MadePlan) else exits.FAILED
                for result in part.results
            ]
            for result in part.results:
                if isinstance(result, MadePlan):
                    self._many_applies.manner_of(part.unit).report_nothing_done(result.planned.plan)
            word = "unchanged" if not self._can_apply(part) else NOT_BEGUN
            self._outcomes[part.unit.name] = {**words, exits.FINE: word}.get(exits.worst(unit_codes), "failed")
            codes += unit_codes
        self._many_applies.print_document()
        if is_stopped:
            tell("Nothing was applied, because not everything can be. Correct it, and run the same command again.\n")
        self._many_applies.print_text(f"\n{summary_text(self._outcomes, self.word)}\n")
        return exits.worst(codes)

    def _confirm(self, plans: Plans, stages: Sequence[RolloutStage]) -> bool:
        number = counted(sum(self._can_apply(part) for part in plans), self.word)
        stages_phrase = f", in {division_text(stages, self.word)}" if self.stages is not None else ""
        if confirm(f"\nApply this to {number}{stages_phrase}?"):
            return True
        tell("Nothing was changed.\n")
        return False

    async def _apply_stages(self, stages: Sequence[RolloutStage], plans: Plans) -> int:
        course = Progress(stages=stages, passed=0)
        try:
            for number, stage in enumerate(stages):
                course = replace(course, passed=number, why=("the run was interrupted",))
                course = replace(course, why=tuple(await self._apply_stage(number, stage, stages, plans)))
                if course.why:
                    break
        finally:
            self._report_course(course)
        return exits.worst([*self._codes, *([exits.FAILED] if course.why and not any(self._codes) else [])])

    async def _apply_stage(
        self, number: int, stage: RolloutStage, stages: Sequence[RolloutStage], plans: Plans
    ) -> list[str]:
        """Apply a stage, and return why it did not pass."""
        parts = [part for part in plans if part.unit.name in stage.members]
        self._many_applies.print_text(
            f"\n{stage_title(number, stage, len(stages))}\n" if self.stages is not None else "\n"
        )
        unplanned = [part for part in parts if not all(isinstance(result, MadePlan) for result in part.results)]
        for part in unplanned:
            self._outcomes[part.unit.name] = "failed"
            self._codes.append(exits.FAILED)
        by_unit = {part.unit.name: part for part in parts if part not in unplanned}
        unit_run = UnitRun(
            lambda: self._apply_work(by_unit),
            at_once=self.at_once,
            ends=is_failure,
            ends_unit=(lambda _: False) if self.manner.partial else is_refused,
            on_problem=self._many_applies.report_problem,
        )
        for applied in await unit_run.run([part.unit for part in by_unit.values()]):
            self._outcomes[applied.unit.name] = unit_outcome_words(applied)
            self._codes += [topology_exit_code(result) for result in applied.results]
        if self.stages is None:
            return []
        if reasons := [f"{name}: {self._outcomes[name]}" for name in stage.members if self._outcomes[name] not in DONE]:
            return reasons
        units = [part.unit for part in parts]
        reasons = await objections_while_staying(
            stage.stay, lambda: self._look_again(units), counted(len(units), self.word)
        )
        if not reasons:
            self._many_applies.print_text(passed_line(number, stage, self.word))
        return reasons

    def _apply_work(self, by_unit: dict[str, UnitResults[MadePlan]]) -> Work[ApplyResult]:
        async def apply_unit(unit: Unit, files: Sequence[Path]) -> ApplyResult:
            plans = [result.planned.plan for result in by_unit[unit.name].results if isinstance(result, MadePlan)]
            manner = replace(
                self._many_applies.manner_of(unit), agreed={plan.topology: plan for plan in plans},
                member=unit.name if self.overview is not None else "",
            )  # fmt: skip
            apply_run, reached = ApplyRun(manner), self.reach(unit, files)
            try:
                code = await apply_run.plan_and_apply(files, reached.options, reached.chosen, reached.arguments)
            finally:
                self._outcomes[unit.name] = apply_run.outcome  # also where somebody interrupts the whole run
            return ApplyResult(code=code, outcome=apply_run.outcome)

        return apply_unit

    async def _look_again(self, units: Sequence[Unit]) -> list[Seen]:
        """Plan every member again, and look for drift in the same state."""

        async def look_again(unit: Unit, files: Sequence[Path]) -> Seen:
            reached = self.reach(unit, files)
            made, selected = await reached.make_plan(files), reached.chosen
            options = RunOptions(only=selected.only, exclude=selected.exclude, may_match_nothing=True)
            return judge_look(unit.name, made.planned.plan, look(made.topology, made.planned.snapshot, options).drift)

        results = await UnitRun(lambda: look_again, at_once=self.at_once).run(units)
        return [
            made if isinstance(made, Seen) else Seen(member=part.unit.name, problem=str(made))
            for part in results
            for made in part.results
        ]

    def _report_course(self, course: Progress) -> None:
        """Say how far it got; where a stage did not pass, also in the reports."""
        is_short = self.stages is not None and course.why
        more = list[str]()
        if is_short:
            problem = CannotContinue.because(
                "XX928", "stage-not-passed", f"not every stage is done: {progress_sentence(course)}",
                fix="look at it with `plan` and `drift`, and run the same apply again: what is done has nothing left to do",
            )  # fmt: skip
            failure = document(command="apply", topology="", diagnostics=problem.diagnostics, paper=self.manner.paper)
            self._many_applies.add_report(failure)
            more = [FORMATS["json"](failure)]
            self._many_applies.print_text("".join(f"{line}\n" for line in ("", *progress_lines(course))))
        self._many_applies.print_document(*more)
        self._many_applies.print_text(f"{'' if is_short else chr(10)}{summary_text(self._outcomes, self.word)}\n")
