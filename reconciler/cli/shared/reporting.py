"""`--format` and `--report`: the same report in several formats at once.

A report that is longer than the screen is read in a pager, as git's are; pipes, CI and `--no-pager` get it as it is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reconciler import __version__
from reconciler.cli.shared import common
from reconciler.cli.shared.screen import emit, mark_printed
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from reconciler.report.words.visible import inert

if TYPE_CHECKING:
    from reconciler.changes.events import Finished
    from reconciler.model.diagnostic import Diagnostic
    from reconciler.report.document.document import Document


LESS = "less -FRX"
"""Ends by itself where all fits on the screen, shows colours, and leaves what was read where it stood."""
NO_SUCH_PROGRAM = (126, 127)
"""What a shell ends with where it cannot run what it was told to."""


def pager_command(environ: Mapping[str, str], *, has_less: bool) -> str | None:
    """Return the chosen pager's command line, else `less`; None where there is to be no pager."""
    if environ.get("TERM", "") in ("", "dumb") or environ.get("CI"):
        return None
    fallback = LESS if has_less else ""
    chosen = environ.get("RECONCILER_PAGER", environ.get("PAGER", fallback)).strip()
    return None if chosen in ("", "cat") else chosen


def read_in_pager(text: str, paper: Paper) -> bool:
    """Show a text in a pager until its end, if it is longer than the screen of a terminal; return whether it was
    shown."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or paper.rows([text]) < (paper.height or 0):
        return False
    chosen = pager_command(os.environ, has_less=shutil.which("less") is not None)
    return chosen is not None and _show_in_pager(text, chosen)


def _show_in_pager(text: str, command: str) -> bool:
    mark_printed(sys.stdout)
    sys.stdout.flush()
    environ = {"LESS": "FRX", "LV": "-c", **os.environ}
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environ) as reading, _ignoring_interrupts():
        reading.communicate(text.encode(errors="backslashreplace"))
    return reading.returncode not in NO_SUCH_PROGRAM


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to the pager, which has the terminal as long as it runs."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class ReportFormat(StrEnum):
    """The formats of a report."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    GITHUB = "github"
    SARIF = "sarif"
    JUNIT = "junit"
    HTML = "html"


FORMAT_HELP = (
    "text for people, json for tools, markdown for a comment, github, sarif or junit for CI, html for a browser."
)
ChosenFormat = Annotated[ReportFormat, typer.Option("--format", help=FORMAT_HELP)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """Files to write beside the output."""

    wanted: tuple[tuple[str, Path], ...] = ()
    is_paged: bool = False
    """What is longer than the screen may be read in a pager."""

    def write(self, *documents: Document, so: str = "") -> None:
        """Write every file that can be written, then report those that could not, and the consequence."""
        failed = [problem for name, path in self.wanted if (problem := _write_report(name, path, documents, so))]
        if failed:
            raise CannotContinue(*(diagnostic for problem in failed for diagnostic in problem.diagnostics))

    def publish(self, format_: ReportFormat, *documents: Document, ending: str = "") -> None:
        """Print to stdout and write the files. A file that cannot be written does not suppress the rest. `ending` is for
        people alone."""
        problem: CannotContinue | None = None
        try:
            self.write(*documents)
        except CannotContinue as error:
            problem = error
        text = FORMATS[format_].render_several(documents)
        if ending and format_ is ReportFormat.TEXT:
            text += f"\n{inert(ending)}"
        if not (self.is_paged and format_ is ReportFormat.TEXT and read_in_pager(text, documents[-1].paper)):
            emit(text)
        if problem:
            raise problem


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredReports(Reports):
    """Reports of several topologies that are handled one by one: each file holds all reports so far."""

    told: dict[tuple[int, str], Document] = field(default_factory=dict)
    number: int = 0
    """The place of this environment among those of the run."""

    def write(self, *documents: Document, so: str = "") -> None:
        """Keep the documents by environment and topology, and rewrite each file with all documents so far."""
        self.told.update({(self.number, report.topology): report for report in documents})
        Reports.write(self, *(self.told[key] for key in sorted(self.told, key=lambda key: key[0])), so=so)


def _write_report(name: str, path: Path, documents: Sequence[Document], so: str) -> CannotContinue | None:
    from reconciler.documents.write.atomic import write_whole  # noqa: PLC0415 - only for who wants a report
    from reconciler.report.words.paper import Paper  # noqa: PLC0415

    plain = [replace(report, paper=Paper(verbose=report.paper.verbose)) for report in documents]
    try:
        write_whole({path: FORMATS[name].render_several(plain).encode(errors="backslashreplace")})
    except OSError as error:
        return common.write_error(path, error, so)
    return None


def reports(
    report: Annotated[
        list[str] | None,
        typer.Option(
            "--report", metavar="FORMAT=FILE", help="Write the report into a file as well, in this format. Repeatable."
        ),
    ] = None,
    no_pager: Annotated[
        bool, typer.Option("--no-pager", help="Open no pager for what is longer than the screen.")
    ] = False,
) -> Reports:
    """Declare --report, which may be given several times, and --no-pager."""
    return Reports(wanted=tuple(map(parse_report, report or ())), is_paged=not no_pager)


def parse_report(text: str) -> tuple[str, Path]:
    """Parse `html=plan.html` into format and file. Raises Misused on an unknown format, or without a file."""
    name, equals, file = text.partition("=")
    if name not in FORMATS or not (equals and file):
        raise common.Misused(f"--report {text}: write FORMAT=FILE, with one of {', '.join(FORMATS)}.")
    return name, Path(file)


def document(**parts: Any) -> Document:
    """Return a document that knows the repository of its files, and the meaning of codes."""
    from reconciler.report.document.document import Document  # noqa: PLC0415 - text needs none of it

    return with_meanings(Document(**parts))


def with_meanings(document: Document) -> Document:
    """Return the document with the repository of its files, and the meaning of codes."""
    from reconciler.documents.find.git import path_from_root  # noqa: PLC0415 - as above
    from reconciler.kinds import REGISTRY  # noqa: PLC0415

    kinds = REGISTRY.by_name
    return replace(document, from_root=path_from_root, explain=_explanation_text, version=__version__, kinds=kinds)


def outcome_document(
    planned: Document, finished: Finished, text: str, data: object, more: Iterable[Diagnostic] = ()
) -> Document:
    """Return the report of a plan with its outcome: the `text` for people, the `data` for tools."""
    reasons = (replace(step.reason, address=step.step.address) for step in finished.went_wrong)
    diagnostics = (*planned.diagnostics, *more, *finished.left_alone, *reasons, *finished.warnings)
    return replace(planned, diagnostics=diagnostics, outcome=text, data=data)


@cache
def _explanation_text(code: str) -> str:
    from reconciler.kinds import REGISTRY  # noqa: PLC0415
    from reconciler.model.code_pages import page  # noqa: PLC0415

    rule = next((rule for rule in REGISTRY.rules() if rule.code == code), None)
    code_page = page(code)
    if rule is None and code_page is None:
        return ""
    return rule.doc if rule else f"{code_page.means}\n\nInstead: {code_page.instead}." if code_page else ""
