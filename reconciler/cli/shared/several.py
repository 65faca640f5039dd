"""Runs a command that works on one topology, for each topology that its files hold, in each environment that is meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from reconciler.cli.shared.reporting import document
from reconciler.cli.shared.value_option import Values
from reconciler.journeys.plan.files import Several
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.document.document import Document
from reconciler.report.words.paper import Paper

T = TypeVar("T")
Only = tuple[object, str]
"""The value of an option, and the option, which is about one topology alone."""


def over(
    paths: Sequence[Path], values: Values, work: Callable[[Values, Sequence[Path]], T], *of_one: Only
) -> Iterator[T | CannotContinue]:
    """Yield the result of each topology in each environment. What goes wrong in one environment is no matter of the
    others."""
    each = [values] if any(is_said for is_said, _ in of_one) else [*values.each(paths)]
    if len(each) == 1:
        yield from _topologies(paths, partial(work, each[0]), of_one)
        return
    for one in each:
        try:
            yield from _topologies(paths, partial(work, one), (), one.environment)
        except CannotContinue as problem:
            told = (replace(found, message=f"{one.environment}: {found.message}") for found in problem.diagnostics)
            yield CannotContinue(*told, topology=problem.topology)


def _topologies(
    paths: Sequence[Path], work: Callable[[Sequence[Path]], T], of_one: Sequence[Only], environment: str | None = None
) -> Iterator[T | CannotContinue]:
    """Yield the result of each topology, in order of their dependence; of several environments, each has its own. A failure
    of one is reported beside the results of the others, unless it stops them too: nobody is there to be asked."""
    several: Several | None = None
    try:
        yield work(paths)
    except Several as found:
        several = found
    if several is None:
        return
    if said := next((option for is_said, option in of_one if is_said), None):
        (told,) = several.diagnostics
        raise CannotContinue(replace(told, message=told.message.replace("this works", f"{said} works")))
    for one in several.readable(environment):
        try:
            made: T | CannotContinue = work([*one.paths])
        except CannotContinue as problem:
            if any(said.code.startswith("NA") for said in problem.diagnostics):
                problem.topology = ""  # it is about all of them
                raise
            problem.topology = problem.topology or one.name
            made = problem
        yield made


def stopped(command: str, problem: CannotContinue, paper: Paper) -> Document:
    """Return the report of a topology that has only a failure to show."""
    return document(command=command, topology=problem.topology, diagnostics=problem.diagnostics, paper=paper)
