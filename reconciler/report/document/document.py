"""The document from which every format is made: a plan or a check of files, the findings, and how to name things.

`plan`, `validate` and `apply` make one of these, and so does every other command that has changes and findings to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import AboutKind
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.topology import Topology
from reconciler.report.document.judgements import status_word, verdicts_to_show
from reconciler.report.document.pieces import ReportPart, with_places
from reconciler.report.words.commands import CommandLines
from reconciler.report.words.paper import Paper

UNKNOWN = ("XX908", "unknown-scope")
"""The status of a change whose live state is unknown."""


def path_as_named(file: str) -> str:
    """Return the path unchanged, for a document without a repository."""
    return file


def name_in_environment(topology: str, environment: str) -> str:
    """Return `orders in prod-eu`, where the files have environments."""
    return f"{topology} in {environment}" if environment else topology


def no_page(_code: str) -> str:
    """Return an empty page for every code, for a document made without the pages of codes."""
    return ""


class ReportedCase(NamedTuple):
    """Something that a command judges by itself, whether or not it finds fault with it."""

    name: str
    """Its name, which stays the same from one run to the next."""
    span: SourceSpan | None
    """Its place. Findings at this place are about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One report, before a format is chosen."""

    command: str = "plan"
    """The command that made the report; it helps to tell one report from another."""
    topology: str = ""
    plan: Plan | None = None
    """None: only files were read, or they were too wrong for more."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Findings beside those of the plan."""
    shown_in_parts: tuple[Diagnostic, ...] = ()
    """Findings that the parts tell, for formats that show findings at their lines."""
    checks: tuple[ReportedCase, ...] = ()
    """What was judged beside resources, for formats that list what passed."""
    declared: Topology | None = None
    """The whole topology of the files, for formats that draw it."""
    kinds: Mapping[str, AboutKind] = field(default_factory=dict)
    summary: str = ""
    """The last line of a report without a plan. The name of the topology, which stands above it or before it, is no part of it."""
    about: str = ""
    """A quiet line below the title: the run, and how long it took."""
    parts: tuple[ReportPart, ...] = ()
    """What a report shows beside a plan and findings: tables, sentences, figures, charts."""
    outcome: str = ""
    """What was done, in words, once the plan has been carried out."""
    title: str = ""
    """The title, where the plan's own target does not say it well."""
    closing: str | None = None
    """The last words, where they are not about the next command."""
    named: tuple[str, ...] = ()
    """Files and folders of the command line."""
    arguments: str = ""
    """The arguments of the command that made the report, for the next one."""
    applying: str | None = None
    """The arguments of an apply, where they are different."""
    commands: CommandLines | None = None
    """What to type next, where that is neither `plan` nor `apply`."""
    goes_on: bool = False
    """The plan is carried out right away, so the report names no next command."""
    is_asked_about: bool = False
    """A question follows, and stands below everything that needs to be read before it."""
    seconds: float | None = None
    paper: Paper = field(default_factory=Paper)
    """The width and colours for text."""
    from_root: Callable[[str], str] = path_as_named
    """Maps the name of a file to its path from the root of its repository."""
    explain: Callable[[str], str] = no_page
    """Returns the page of a code."""
    version: str = "0.0.0"
    """The version of this tool."""
    data: Any = None
    """What tools get: a value whose type is a published contract; None: the plan, or the findings."""

    @property
    def environment(self) -> str:
        """The environment that the files were read for; empty where there are none."""
        source = self.plan or self.declared
        return source.environment if source else ""

    @property
    def name(self) -> str:
        """Return what tells this report from those of other topologies and environments."""
        topology = self.plan.topology if self.plan else self.topology
        return name_in_environment(topology, self.environment)

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        """The plan's changes; empty where only files were checked."""
        return self.plan.changes if self.plan else ()

    def placed(self, parts: Iterable[ReportPart]) -> tuple[ReportPart, ...]:
        """Return the parts with places as viewers look for them."""
        return tuple(with_places(part, self._from_root) for part in parts)

    def _from_root(self, span: SourceSpan) -> SourceSpan:
        return replace(span, file=self.from_root(span.file))

    def place(self, span: SourceSpan | None) -> SourceSpan | None:
        """Return the place as viewers look for it: from the root of the repository."""
        return self._from_root(span) if span else None

    def fallback_place(self) -> SourceSpan:
        """Return a place for a finding that has none of its own: the beginning of a file of the topology."""
        file = next(iter((*(self.declared.files if self.declared else ()), *self.named)), ".")
        return SourceSpan(self.from_root(file), 1, 1, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """A diagnostic or a verdict, as viewers of findings show it."""

    severity: Severity
    code: str
    name: str
    message: str
    address: str = ""
    path: str = ""
    """The field that it is about."""
    place: SourceSpan | None = None
    fix: str = ""
    status: str = ""
    """`refused`, `needs consent`, `consented`, `warning` …: what it means for the change."""
    rank: int = 0
    """Lower is worse."""
    consented: str | None = None
    """The reason that somebody gave for allowing it."""


def findings(document: Document) -> list[ReportedFinding]:
    """Return all findings, worst first, then in reading order. A consented finding is a note."""
    every = [
        *_diagnostic_findings(document, document.shown_in_parts),
        *_diagnostic_findings(document, _diagnostics_apart(document)),
        *(finding for change in document.changes for finding in _verdict_findings(change, document)),
    ]
    return sorted(dict.fromkeys(every), key=_rank)


def findings_apart(document: Document) -> list[ReportedFinding]:
    """Return the findings that neither a change nor a part shows: diagnostics, and verdicts on what does not change."""
    diagnosed = set(_diagnostic_findings(document, _diagnostics_apart(document)))
    own = {change.address for change in document.changes}
    every = findings(replace(document, shown_in_parts=()))
    return [finding for finding in every if finding in diagnosed or finding.address not in own]


def _diagnostics_apart(document: Document) -> tuple[Diagnostic, ...]:
    return (*document.diagnostics, *(document.plan.diagnostics if document.plan else ()))


def _rank(finding: ReportedFinding) -> tuple[object, ...]:
    place = finding.place or SourceSpan("", 0, 0, 0, 0)
    return [*Severity].index(finding.severity), finding.rank, place, finding.address, finding.code, finding.message


def _diagnostic_findings(document: Document, diagnostics: Sequence[Diagnostic]) -> Iterator[ReportedFinding]:
    for diagnostic in diagnostics:
        yield ReportedFinding(
            severity=diagnostic.severity,
            code=diagnostic.code,
            name=diagnostic.name,
            message=diagnostic.message,
            address=diagnostic.address or "",
            place=document.place(diagnostic.span),
            fix=diagnostic.fix or "",
            status=diagnostic.severity.value,
            rank=-9,
        )


def _verdict_findings(change: PlannedChange, document: Document) -> Iterator[ReportedFinding]:
    if change.action is Action.UNKNOWN:
        code, name = UNKNOWN
        message = f"its live state is unknown, so nothing is done: {change.reason}"
        yield ReportedFinding(
            severity=Severity.ERROR, code=code, name=name, message=message, address=change.address,
            place=document.place(change.span), status="unknown",
        )  # fmt: skip
    for verdict in verdicts_to_show(change.verdicts):
        yield ReportedFinding(
            severity=_severity(verdict), code=verdict.code, name=verdict.name, message=verdict.message,
            address=verdict.address, path=verdict.path, place=document.place(verdict.span or change.span),
            fix=verdict.fix or "", consented=verdict.consented, status=status_word(verdict), rank=-verdict.outcome.rank,
        )  # fmt: skip


def _severity(verdict: Verdict) -> Severity:
    if verdict.consented is not None:
        return Severity.NOTE
    return Severity.ERROR if verdict.blocks else Severity.WARNING
