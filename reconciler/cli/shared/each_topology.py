"""Runs a command that works on one topology, for each topology that its files hold, in each environment that is meant:
several places at a time, and told in a fixed order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Generic, TypeAlias, TypeVar

import typer

from reconciler.cli.shared.common import left_out_line
from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.screen import PrintOrder, tell
from reconciler.cli.shared.value_option import Values
from reconciler.journeys.plan.files import SeveralTopologies, owners_named
from reconciler.journeys.rollout.text import NOT_BEGUN, summary_text
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper

if TYPE_CHECKING:
    from reconciler.cli.shared.connecting import Connection

T = TypeVar("T")
SingleOption: TypeAlias = tuple[object, str]
"""The value of an option, and the option, which is about one topology alone."""

Parallel = Annotated[
    int,
    typer.Option(
        "--parallel", metavar="N", min=1, max=64, help="How many environments to work on at a time, where they lead to different places.",
    ),
]  # fmt: skip
AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is worked on as a whole: an environment, or a target of a fleet."""

    name: str
    """Empty: the files have no environments, or only one is meant."""
    paths: Sequence[Path]
    values: Values
    labels: Mapping[str, str] = field(default_factory=dict)
    place: Hashable = None
    """Where it is. Units at one place are worked on one after the other, because one may take what another gives up."""
    owners_named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The owners of streams that its files name, by topology; empty where they hold only one."""
    is_one_topology: bool = False
    """Files with several topologies are an error, as they are for a target of a fleet."""


Work: TypeAlias = Callable[[Unit, Sequence[Path]], Awaitable[T]]


@dataclass(slots=True)
class UnitResults(Generic[T]):
    """The results of one unit: one for each topology that was begun."""

    unit: Unit
    results: list[T | CannotContinue] = field(default_factory=list)
    not_begun: list[str] = field(default_factory=list)
    """The topologies that were left alone because of what became of one before them."""


def units(paths: Sequence[Path], values: Values, connection: Connection, *single_options: SingleOption) -> list[Unit]:
    """Return the environments that are meant, each with its place. An option `single_options` works on one."""
    each = [values] if any(is_given for is_given, _ in single_options) else [*values.each(paths)]
    if len(each) == 1:
        return [Unit(name="", paths=paths, values=each[0])]
    return environments(paths, values, connection)


def environments(paths: Sequence[Path], values: Values, connection: Connection) -> list[Unit]:
    """Return each environment under its name, also where there is only one."""
    return [
        Unit(
            name=unit_values.environment or "",
            paths=paths,
            values=unit_values,
            place=_place(connection, unit_values, paths),
        )
        for unit_values in values.each(paths)
    ]


def _place(connection: Connection, values: Values, paths: Sequence[Path]) -> Hashable:
    """Return its server, or its name where settings are wrong, which is reported when it is worked on."""
    try:
        return connection.for_environment(values, paths).options()
    except CannotContinue:
        return values.environment


class UnitRun(Generic[T]):
    """Works on units. `begin` makes the work of one place, which may remember what it did there before. Once a result
    `ends` the run, no other topology is begun; once one `ends_unit`, no other of its unit. `on_problem` is called at once
    for what could not be worked on."""

    def __init__(
        self,
        begin: Callable[[], Work[T]],
        *,
        at_once: int = 1,
        ends: Callable[[T | CannotContinue], bool] = lambda _: False,
        ends_unit: Callable[[T | CannotContinue], bool] = lambda _: False,
        on_problem: Callable[[Unit, CannotContinue], None] = lambda _unit, _problem: None,
    ) -> None:
        self._begin, self._at_once, self._on_problem = begin, at_once, on_problem
        self._ends, self._ends_unit = ends, ends_unit
        self.is_over = False

    async def run(self, units_: Sequence[Unit], *single_options: SingleOption) -> list[UnitResults[T]]:
        """Return the results of each topology of each unit, in their order. What goes wrong in one unit is no matter of
        the others. Raises what goes wrong where there is only one."""
        parts = [UnitResults[T](unit) for unit in units_]
        if len(parts) == 1 and not parts[0].unit.name:
            await self._run_topologies(parts[0], self._begin(), single_options)
            return parts
        works = {part.unit.place: self._begin() for part in parts}
        groups = dict[Hashable, list[tuple[int, UnitResults[T]]]]()
        for numbered in enumerate(parts):
            groups.setdefault(numbered[1].unit.place if self._at_once > 1 else None, []).append(numbered)
        print_order, room = PrintOrder(), asyncio.Semaphore(self._at_once)

        async def work_on(group: Sequence[tuple[int, UnitResults[T]]]) -> None:
            async with room:
                for number, part in group:
                    with print_order.printing(number):
                        await self._run_unit(part, works[part.unit.place])

        ended = await asyncio.gather(*(work_on(group) for group in groups.values()), return_exceptions=True)
        if error := next((failure for failure in ended if failure is not None), None):
            raise error
        return parts

    async def _run_unit(self, part: UnitResults[T], work: Work[T]) -> None:
        if self.is_over:
            return
        try:
            await self._run_topologies(part, work, ())
        except CannotContinue as problem:
            self._record(part, _with_unit_name(problem, part.unit))
        except BaseException:
            self.is_over = True  # what others have begun is brought to its end
            raise

    async def _run_topologies(
        self, part: UnitResults[T], work: Work[T], single_options: Sequence[SingleOption]
    ) -> None:
        """Keep the result of each topology, in order of their dependence; of several environments, each has its own. A
        failure of one is reported beside the results of the others, unless it stops them too: nobody is there to be
        asked."""
        unit, several = part.unit, None
        try:
            self._record(part, await work(unit, unit.paths))
        except SeveralTopologies as error:
            if unit.is_one_topology:
                raise
            several = error
        if several is None:
            return
        if option_given := next((option for is_given, option in single_options if is_given), None):
            (diagnostic,) = several.diagnostics
            message = diagnostic.message.replace("this works", f"{option_given} works")
            raise CannotContinue(replace(diagnostic, message=message))
        environment = unit.values.environment
        topologies = [*several.readable(environment)]
        if not unit.name and (left_out := several.topologies_without(environment)):
            tell(left_out_line(left_out, environment))
        unit = replace(unit, owners_named=owners_named(topologies))
        for number, topology in enumerate(topologies):
            if self.is_over or any(map(self._ends_unit, part.results[-1:])):
                part.not_begun += [left.name for left in topologies[number:]]
                return
            try:
                result: T | CannotContinue = await work(unit, [*topology.paths])
            except CannotContinue as problem:
                if any(cause.is_about_connection for cause in problem.diagnostics):
                    problem.topology = ""  # it is about all of them
                    raise
                problem.topology = problem.topology or topology.name
                result = problem
            self._record(part, result)

    def _record(self, part: UnitResults[T], result: T | CannotContinue) -> None:
        part.results.append(result)
        if isinstance(result, CannotContinue):
            self._on_problem(part.unit, result)
        self.is_over = self.is_over or self._ends(result)


def _with_unit_name(problem: CannotContinue, unit: Unit) -> CannotContinue:
    diagnostics = (replace(cause, message=f"{unit.name}: {cause.message}") for cause in problem.diagnostics)
    return type(problem)(*diagnostics, topology=problem.topology)


def results(parts: Iterable[UnitResults[T]]) -> Iterator[T | CannotContinue]:
    """Yield the results of all topologies, in their order."""
    return (result for part in parts for result in part.results)


def summary_line(parts: Sequence[UnitResults[T]], outcome: Callable[[UnitResults[T]], str]) -> str:
    """Return the last line about several environments, or several topologies of one; nothing about one alone."""
    if len(parts) > 1:
        return summary_text({part.unit.name: outcome(part) for part in parts}, "environment") + "\n"
    each = [UnitResults(part.unit, [result]) for part in parts for result in part.results]
    outcomes = [*map(outcome, each), *(NOT_BEGUN for part in parts for _ in part.not_begun)]
    if len(outcomes) < 2:
        return ""
    return summary_text({str(number): word for number, word in enumerate(outcomes)}, "topology") + "\n"


def failure_document(command: str, problem: CannotContinue, paper: Paper) -> Document:
    """Return the report of a topology that has only a failure to show."""
    return document(command=command, topology=problem.topology, diagnostics=problem.diagnostics, paper=paper)
