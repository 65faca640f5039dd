"""One apply over several units, in stages: all plans are shown first, and a stage begins when the one before has passed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TypeAlias

from reconciler.cli.account.apply_run import ApplyRun, Manner
from reconciler.cli.account.interruption import interruptible_between
from reconciler.cli.account.many_applies import Applied, Together, code_of, is_failure, outcome_of
from reconciler.cli.account.planning import Made, Selection, making
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.each_topology import Unit, UnitResults, UnitRun, Work
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.screen import NobodyReads, is_agreed, tell
from reconciler.journeys.drift.look import look
from reconciler.journeys.stages.divide import RolloutMember, RolloutStage, divide, division_text
from reconciler.journeys.stages.stage_checks import Seen, objections_while_staying, seen
from reconciler.journeys.stages.text import NOT_BEGUN, Course, course_text, passed, reason, summary, title
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.run_options import RunOptions
from reconciler.report.document.document import Document
from reconciler.report.formats import FORMATS
from reconciler.report.words.values import counted
from reconciler.server.connect.options import ConnectOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How one topology of a unit is reached, and what of it is applied."""

    options: ConnectOptions
    chosen: Selection
    arguments: Callable[[Selection], str]
    """What a next command line repeats."""
    deadline: float | None = None
    """Seconds after which planning it is given up."""
    late: Callable[[], Diagnostic] | None = None
    """What to say then."""

    async def made(self, files: Sequence[Path]) -> Made:
        """Make the plan. Raises CannotContinue where that takes too long."""
        try:
            async with (
                asyncio.timeout(self.deadline),
                making(files, self.options, self.chosen, self.arguments) as (made, _),
            ):
                return made
        except TimeoutError:
            if self.late is None:
                raise
            raise CannotContinue(self.late()) from None


DONE = ("applied", "unchanged")
"""The outcomes with which a stage may pass."""
Reach: TypeAlias = Callable[[Unit, Sequence[Path]], Reached]
Plans: TypeAlias = Sequence[UnitResults[Made]]


@dataclass(slots=True, kw_only=True)
class Staged:
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
    _together: Together = field(init=False)
    _outcomes: dict[str, str] = field(default_factory=dict, init=False)
    _codes: list[int] = field(default_factory=list, init=False)

    async def through(self) -> int:
        """Plan everything, show it, ask, and apply stage by stage; return the exit code."""
        stages = self._divided()
        self._together = Together(self.manner)
        self._together.seat(*self.units)
        self._outcomes = dict.fromkeys((one.name for one in self.units), NOT_BEGUN)
        plans = await UnitRun(self._planning, at_once=self.at_once).over(self.units)
        if not self._shown(plans, stages):
            return exits.FAILED
        if not any(self._goes(part) for part in plans) or (self.stages and self._is_stopped(plans)):
            return self._nothing(plans)
        if not self.manner.yes and not self._agreed(plans, stages):
            return exits.FAILED
        with interruptible_between():
            return await self._carried_out(stages, plans)

    def _divided(self) -> list[RolloutStage]:
        members = [RolloutMember(name=one.name, labels=one.labels) for one in self.units]
        if self.stages is not None:
            return divide(self.stages, members, self.word)
        return [RolloutStage(said="", members=tuple(one.name for one in members))]

    def _planning(self) -> Work[Made]:
        before: Made | None = None

        async def one(unit: Unit, files: Sequence[Path]) -> Made:
            nonlocal before
            there = self.reach(unit, files)
            if before:  # at the same place, and it may give up what this one takes
                there = replace(there, chosen=there.chosen.after(before.planned.plan))
            before = await there.made(files)
            return before

        return one

    def _shown(self, plans: Plans, stages: Sequence[RolloutStage]) -> bool:
        """Show everything before anything is changed. Tools get only the outcome."""
        told = list[Document]()
        for part in plans:
            for made in part.results:
                if isinstance(made, Made):
                    goes_on = self.manner.goes_ahead(made.planned.plan)
                    told.append(made.document(self.manner.paper, command="apply", goes_on=goes_on))
                    self._together.of(part.unit).reports.write(told[-1], so=common.NOTHING_CHANGED)
                elif self.overview is None or self._together.is_for_tools:
                    self._together.hears(part.unit, made)
        try:
            if self.overview is not None:
                self._together.say(self.overview(plans))
            elif told:
                self._together.say(FORMATS["text"].several(told))
            if self.stages is not None:
                self._together.say(f"\n{division_text(stages, self.word)}\n")
        except NobodyReads:
            tell("The plans could not be shown, so they were not applied. Nothing was changed.\n")
            return False
        return True

    def _goes(self, part: UnitResults[Made]) -> bool:
        return any(isinstance(made, Made) and self.manner.goes_ahead(made.planned.plan) for made in part.results)

    def _stops(self, made: Made | CannotContinue) -> bool:
        """With --partial, a refusal stops only what depends on it."""
        code = made.planned.plan.exit_code if isinstance(made, Made) else exits.FAILED
        return code == exits.FAILED or (code == exits.REFUSED and not self.manner.partial)

    def _is_stopped(self, plans: Plans) -> bool:
        return any(self._stops(made) for part in plans for made in part.results)

    def _nothing(self, plans: Plans) -> int:
        """Say that no stage was begun, because something in one of them is refused, or because there is nothing to do."""
        codes, named = list[int](), {exits.FINE: "not begun", exits.REFUSED: "refused"}
        is_stopped = self._is_stopped(plans)
        for part in plans:
            own = [made.planned.plan.exit_code if isinstance(made, Made) else exits.FAILED for made in part.results]
            for made in part.results:
                if isinstance(made, Made):
                    self._together.of(part.unit).nothing_done(made.planned.plan)
            word = "unchanged" if not self._goes(part) else NOT_BEGUN
            self._outcomes[part.unit.name] = {**named, exits.FINE: word}.get(exits.worst(own), "failed")
            codes += own
        self._together.end()
        if is_stopped:
            tell("Nothing was applied, because not everything can be. Correct it, and run the same command again.\n")
        self._together.say(f"\n{summary(self._outcomes, self.word)}\n")
        return exits.worst(codes)

    def _agreed(self, plans: Plans, stages: Sequence[RolloutStage]) -> bool:
        number = counted(sum(self._goes(part) for part in plans), self.word)
        how = f", in {division_text(stages, self.word)}" if self.stages is not None else ""
        if is_agreed(f"\nApply this to {number}{how}?"):
            return True
        tell("Nothing was changed.\n")
        return False

    async def _carried_out(self, stages: Sequence[RolloutStage], plans: Plans) -> int:
        course = Course(stages=stages, passed=0)
        try:
            for number, stage in enumerate(stages):
                course = replace(course, passed=number, why=("the run was interrupted",))
                course = replace(course, why=tuple(await self._stage(number, stage, stages, plans)))
                if course.why:
                    break
        finally:
            self._tell(course)
        return exits.worst([*self._codes, *([exits.FAILED] if course.why and not any(self._codes) else [])])

    async def _stage(self, number: int, stage: RolloutStage, stages: Sequence[RolloutStage], plans: Plans) -> list[str]:
        """Apply a stage, and return why it did not pass."""
        parts = [part for part in plans if part.unit.name in stage.members]
        self._together.say(f"\n{title(number, stage, len(stages))}\n" if self.stages is not None else "\n")
        unplanned = [part for part in parts if not all(isinstance(made, Made) for made in part.results)]
        for part in unplanned:
            self._outcomes[part.unit.name] = "failed"
            self._codes.append(exits.FAILED)
        shown = {part.unit.name: part for part in parts if part not in unplanned}
        run = UnitRun(lambda: self._applying(shown), at_once=self.at_once, ends=is_failure, hears=self._together.hears)
        for done in await run.over([part.unit for part in shown.values()]):
            self._outcomes[done.unit.name] = outcome_of(done)
            self._codes += [code_of(made) for made in done.results]
        if self.stages is None:
            return []
        if wrong := [f"{name}: {self._outcomes[name]}" for name in stage.members if self._outcomes[name] not in DONE]:
            return wrong
        units = [part.unit for part in parts]
        wrong = await objections_while_staying(stage.stay, lambda: self._seen(units), counted(len(units), self.word))
        if not wrong:
            self._together.say(passed(number, stage, self.word))
        return wrong

    def _applying(self, shown: dict[str, UnitResults[Made]]) -> Work[Applied]:
        async def one(unit: Unit, files: Sequence[Path]) -> Applied:
            plans = [made.planned.plan for made in shown[unit.name].results if isinstance(made, Made)]
            manner = replace(
                self._together.of(unit), agreed={plan.topology: plan for plan in plans},
                member=unit.name if self.overview is not None else "",
            )  # fmt: skip
            run, there = ApplyRun(manner), self.reach(unit, files)
            try:
                code = await run.through(files, there.options, there.chosen, there.arguments)
            finally:
                self._outcomes[unit.name] = run.outcome  # also where somebody interrupts the whole run
            return Applied(code=code, outcome=run.outcome)

        return one

    async def _seen(self, units: Sequence[Unit]) -> list[Seen]:
        """Plan every member again, and look for drift in the same state."""

        async def one(unit: Unit, files: Sequence[Path]) -> Seen:
            there = self.reach(unit, files)
            made, chosen = await there.made(files), there.chosen
            options = RunOptions(only=chosen.only, exclude=chosen.exclude)
            return seen(unit.name, made.planned.plan, look(made.topology, made.planned.snapshot, options).drift)

        found = await UnitRun(lambda: one, at_once=self.at_once).over(units)
        return [
            made if isinstance(made, Seen) else Seen(member=part.unit.name, problem=str(made))
            for part in found
            for made in part.results
        ]

    def _tell(self, course: Course) -> None:
        """Say how far it got; where a stage did not pass, also in the reports."""
        is_short = self.stages is not None and course.why
        more = list[str]()
        if is_short:
            problem = CannotContinue.because(
                "XX928", "stage-not-passed", f"not every stage is done: {reason(course)}",
                fix="look at it with `plan` and `drift`, and run the same apply again: what is done has nothing left to do",
            )  # fmt: skip
            told = document(command="apply", topology="", diagnostics=problem.diagnostics, paper=self.manner.paper)
            self._together.adds(told)
            more = [FORMATS["json"](told)]
            self._together.say("".join(f"{line}\n" for line in ("", *course_text(course))))
        self._together.end(*more)
        self._together.say(f"{'' if is_short else chr(10)}{summary(self._outcomes, self.word)}\n")
