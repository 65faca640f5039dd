"""What every format is made from: a plan or a check of files, what was found, and how to speak about it.

`plan`, `validate` and `apply` hand over one of these, and so may whatever else has changes and findings to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reconciler.changes.diff import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.changes.view import AboutKind
from reconciler.model.diagnostic import Diagnostic, Severity, SourceSpan
from reconciler.model.topology import Topology
from reconciler.report.document.judgements import standing, worst_first
from reconciler.report.words.commands import CommandLines
from reconciler.report.words.paper import Paper

if TYPE_CHECKING:
    from reconciler.changes.rehearsal import Probe

UNKNOWN = ("XX908", "unknown-scope")
"""What a change is reported under whose live state nobody could tell."""


def as_named(file: str) -> str:
    """The path unchanged, for a document that knows no repository."""
    return file


def unexplained(_code: str) -> str:
    """An empty page for every code, for a document made without the pages of codes."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One report, before anybody chose a format."""

    command: str = "plan"
    """The command that says this; part of what tells one report from another."""
    topology: str = ""
    plan: Plan | None = None
    """None: only files were looked at, or they were too wrong for more."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Beside those of the plan."""
    declared: Topology | None = None
    """What the files want as a whole, for formats that draw it."""
    kinds: Mapping[str, AboutKind] = field(default_factory=dict)
    summary: str = ""
    """The last line of a report without a plan."""
    outcome: str = ""
    """What was done, in words, once the plan has been carried out."""
    probe: Probe | None = None
    """What clients feel of it, where that was played."""
    title: str = ""
    """What it is about, where the plan's own target says it badly."""
    closing: str | None = None
    """The last words, where they are not about what to run next."""
    named: tuple[str, ...] = ()
    """Files and folders of the command line."""
    arguments: str = ""
    """Those of the command this was made with, to be repeated in a next one."""
    applying: str | None = None
    """Those of an apply, where they are others."""
    commands: CommandLines | None = None
    """What to type next, where that is neither `plan` nor `apply`."""
    goes_on: bool = False
    """It is carried out right away, so nobody has to be told what to run next."""
    is_asked_about: bool = False
    """A question follows, which is to stand below all that needs to be read before it."""
    seconds: float | None = None
    paper: Paper = field(default_factory=Paper)
    """What text is written on."""
    from_root: Callable[[str], str] = as_named
    """A file as it was named → its path from the root of its repository."""
    explain: Callable[[str], str] = unexplained
    """The page of a code."""
    version: str = "0.0.0"
    """Of the tool."""
    own: Mapping[str, Callable[[Document], str]] = field(default_factory=dict)
    """Formats that this report has in a form of its own."""

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        """The plan's changes; empty where only files were checked."""
        return self.plan.changes if self.plan else ()

    def told(self, format_: str, render: Callable[[Document], str]) -> str:
        """In its own form, where it has one."""
        return self.own.get(format_, render)(self)

    def place(self, span: SourceSpan | None) -> SourceSpan | None:
        """Where others look for it: from the root of the repository."""
        return replace(span, file=self.from_root(span.file)) if span else None

    def somewhere(self) -> SourceSpan:
        """Where others look for what has no place of its own: the beginning of a file that it is about."""
        file = next(iter((*(self.declared.files if self.declared else ()), *self.named)), ".")
        return SourceSpan(self.from_root(file), 1, 1, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFinding:
    """A diagnostic or a verdict, as viewers of findings know them."""

    severity: Severity
    code: str
    name: str
    message: str
    address: str = ""
    path: str = ""
    """The field it is about."""
    place: SourceSpan | None = None
    fix: str = ""
    standing: str = ""
    """`refused`, `needs consent`, `consented`, `warning` …: what it means for the change."""
    rank: int = 0
    """The worse, the lower."""
    consented: str | None = None
    """The reason somebody gave for allowing it."""


def findings(document: Document) -> list[ReportedFinding]:
    """Everything that was found, worst first, then in reading order. What was consented to is a note."""
    found = [*_diagnosed(document), *(one for change in document.changes for one in _judged(change, document))]
    return sorted(dict.fromkeys(found), key=_rank)


def _rank(one: ReportedFinding) -> tuple[object, ...]:
    place = one.place or SourceSpan("", 0, 0, 0, 0)
    return [*Severity].index(one.severity), one.rank, place, one.address, one.code, one.message


def _diagnosed(document: Document) -> Iterator[ReportedFinding]:
    for one in (*document.diagnostics, *(document.plan.diagnostics if document.plan else ())):
        yield ReportedFinding(
            severity=one.severity, code=one.code, name=one.name, message=one.message, address=one.address or "",
            place=document.place(one.span), fix=one.fix or "", standing=one.severity.value, rank=-9,
        )  # fmt: skip


def _judged(change: PlannedChange, document: Document) -> Iterator[ReportedFinding]:
    if change.action is Action.UNKNOWN:
        code, name = UNKNOWN
        message = f"nobody can say what is live, so nothing is done: {change.reason}"
        yield ReportedFinding(
            severity=Severity.ERROR, code=code, name=name, message=message, address=change.address,
            place=document.place(change.span), standing="unknown",
        )  # fmt: skip
    for verdict in worst_first(change.verdicts):
        yield ReportedFinding(
            severity=_severity(verdict), code=verdict.code, name=verdict.name, message=verdict.message,
            address=verdict.address, path=verdict.path, place=document.place(verdict.span or change.span),
            fix=verdict.fix or "", consented=verdict.consented, standing=standing(verdict), rank=-verdict.outcome.rank,
        )  # fmt: skip


def _severity(verdict: Verdict) -> Severity:
    if verdict.consented is not None:
        return Severity.NOTE
    return Severity.ERROR if verdict.blocks else Severity.WARNING
