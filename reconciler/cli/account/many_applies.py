"""Several applies of one command: one document of their outcomes for tools, one line of them for people."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TypeAlias

from reconciler.cli.account.apply_run import Manner
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.each_topology import Unit, UnitResults
from reconciler.cli.shared.reporting import GatheredReports
from reconciler.cli.shared.screen import say
from reconciler.journeys.rollout.text import NOT_BEGUN
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.codec.json import json_list
from reconciler.report.document.document import Document
from reconciler.report.words.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyResult:
    """How the apply of one topology ended."""

    code: int
    """The exit code."""
    outcome: str
    """What became of it, where nothing failed."""


Ended: TypeAlias = ApplyResult | CannotContinue


def topology_exit_code(result: Ended) -> int:
    """Return the exit code of one topology."""
    if isinstance(result, ApplyResult):
        return result.code
    return exits.INTERRUPTED if isinstance(result, common.Interrupted) else exits.FAILED


def is_failure(result: Ended) -> bool:
    """Return whether nothing else may be begun after it."""
    return topology_exit_code(result) in (exits.FAILED, exits.INTERRUPTED)


def is_refused(result: Ended) -> bool:
    """Return whether no other topology of its account may be begun after it: one may take away what this one was to
    replace."""
    return topology_exit_code(result) == exits.REFUSED


def not_begun_line(part: UnitResults[ApplyResult]) -> str:
    """Return which topologies of a unit were left alone, and why; nothing if all were begun."""
    if not part.not_begun:
        return ""
    fate = "refused" if part.results and is_refused(part.results[-1]) else "failed"
    where = f" in {visible(part.unit.name)}" if part.unit.name else ""
    return f"\nNot begun{where}, because the topology before was {fate}: {', '.join(map(visible, part.not_begun))}\n"


def unit_outcome_words(part: UnitResults[ApplyResult]) -> str:
    """Return what became of a unit, in a word or two: the worst of its topologies counts."""
    if not part.results:
        return NOT_BEGUN
    worst = min(part.results, key=lambda ended: exits.WORST_FIRST.index(topology_exit_code(ended)))
    outcomes = {result.outcome for result in part.results if isinstance(result, ApplyResult)}
    names = {exits.INTERRUPTED: "interrupted", exits.FAILED: "failed", exits.REFUSED: "refused"}
    if isinstance(worst, ApplyResult) and worst.outcome == "not confirmed":
        return worst.outcome
    if topology_exit_code(worst) == exits.REFUSED and "applied" in outcomes:
        return "partly applied"
    return names.get(topology_exit_code(worst)) or ("applied" if "applied" in outcomes else "unchanged")


@dataclass(slots=True)
class ManyApplies:
    """The manners of several applies, which share a report and a document."""

    manner: Manner
    _manners: dict[str, Manner] = field(default_factory=dict)
    _gathered: GatheredReports = field(init=False)

    def __post_init__(self) -> None:
        self._gathered = GatheredReports(wanted=self.manner.reports.wanted)

    def fix_order(self, *units: Unit) -> None:
        """Fix the order in which the units are reported."""
        for unit in units:
            if unit.name not in self._manners:
                reports = replace(self._gathered, number=len(self._manners))
                self._manners[unit.name] = replace(self.manner, reports=reports, data=[])

    def manner_of(self, unit: Unit) -> Manner:
        """Return the manner of the applies of one unit."""
        self.fix_order(unit)
        return self._manners[unit.name]

    def report_problem(self, unit: Unit, problem: CannotContinue) -> None:
        """Report a topology that could not be planned, or was not begun."""
        self.manner_of(unit).report_failure(problem)

    def add_report(self, document: Document) -> None:
        """Add a report that is about no unit."""
        replace(self._gathered, number=len(self._manners)).write(document)

    @property
    def is_for_tools(self) -> bool:
        """Whether one document is wanted, rather than text."""
        return self.manner.format is common.PlainFormat.JSON

    def print_text(self, text: str) -> None:
        """Tell people."""
        if text and not self.is_for_tools:
            say(text)

    def print_document(self, *more: str) -> None:
        """Print the document for tools, if there is anything in it."""
        data = [text for manner in self._manners.values() for text in manner.data or ()]
        if self.is_for_tools and (data or more):
            say(json_list([*data, *more]))
