"""What `history … --format json` prints: every run, one run in full, or what changed between two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Annotated, Any

from reconciler.memory.journal import Run, RunOutcome
from reconciler.memory.run_changes import ChangesBetween, Differs, changed_by
from reconciler.model.dataclass import dataclass
from reconciler.model.shape import ALWAYS, INLINE, Count, Like, format_of
from reconciler.report.codec.json import json_of
from reconciler.report.codec.schema import published_schema_of_any

FORMAT = 1
Moment = Annotated[str, Like(format="date-time")]
NAMES_OR_NUMBER = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer", "minimum": 0}]}
Calls = Annotated[Mapping[str, Any], Like(additionalProperties=NAMES_OR_NUMBER)]
"""Names by call: `{"stream.create": ["ORDERS"]}`. A number stands for names that were too many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFinding:
    """A finding as the journal has it; an entry that somebody wrote by hand may lack any of this."""

    code: str = ""
    """The code, for `reconciler explain`."""
    name: str = ""
    """The code's name."""
    address: str = ""
    """The resource that it is about."""
    message: str = ""
    """What was wrong, in a sentence."""
    fix: str = ""
    """What to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedFailure(RecordedFinding):
    """A step that failed, or whose result is unknown, and why."""

    step: str = ""
    """The step, as the plan names it."""
    call: str = ""
    """The request to the server: `stream.create`."""
    on: str = ""
    """The name of the object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """The result of each step of a run."""

    done: Calls = field(default_factory=dict)
    """Objects whose steps were done, by call; `not named` is the number of those that were too many to name."""
    failed: tuple[RecordedFailure, ...] = ()
    """Steps that failed."""
    in_doubt: tuple[RecordedFailure, ...] = ()
    """Steps of which nobody knows whether they were done."""
    skipped: Mapping[str, Calls] = field(default_factory=dict)
    """Objects whose steps were not tried, by the step that they had to wait for, then by call."""
    not_started: Calls = field(default_factory=dict)
    """Objects whose steps the run did not come to, by call."""
    unfinished: tuple[str, ...] = ()
    """Addresses of the resources that are not as planned."""
    warnings: tuple[RecordedFinding, ...] = ()
    """What the run warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run, without the results of its steps."""

    run: Count
    """Number of the run: `reconciler history RUN` shows it in full."""
    outcome: RunOutcome
    """How it ended. `cut off`: the journal has no end of it; `unknown`: its end was deleted or cannot be read."""
    began: Moment
    """When it began, by the server's clock."""
    ended: Moment | None = None
    """When it ended, by the server's clock."""
    topology: str
    """The topology that was applied; empty if the journal does not tell."""
    user: str = ""
    """Who started it: the actor that a CI system names, else the user of the machine."""
    account_user: str = ""
    """The user as the server knows it."""
    host: str = ""
    """The machine that it ran on."""
    pid: Count = 0
    """Its process there."""
    since: str = ""
    """When it took its lease, by the clock of that machine."""
    git_revision: str = ""
    """The revision of the files; `-dirty` follows if they differed from it."""
    source: str = ""
    """Where the files are from."""
    tool: str = ""
    """The version of reconciler."""
    counts: Mapping[str, Count] = field(default_factory=dict)
    """How many resources the plan had of each action."""
    left_out: Count = 0
    """How many changes `--partial` left out."""
    steps: Count | None = None
    """How many steps the plan had."""
    stopped: str = ""
    """Why it stopped early."""
    outcomes: Mapping[str, Count] = field(default_factory=dict)
    """How many steps had each result."""
    later_format: int | None = None
    """The format of its entry, if another version of reconciler wrote it: the values may mean something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryHead:
    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOfRuns(HistoryHead):
    runs: tuple[RunSummary, ...]
    """Every run, newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOfOneRun(HistoryHead):
    summary: Annotated[RunSummary, INLINE]
    became: RunResults = field(default_factory=RunResults)
    """The result of each step."""
    changed: tuple[Differs, ...] = ()
    """What it changed, by address, also without a step: adopted resources, and records of values that were accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryDifference(HistoryHead):
    difference: Annotated[ChangesBetween, INLINE]


DOCUMENTS: dict[str, type[HistoryHead]] = {"runs": HistoryOfRuns, "run": HistoryOfOneRun, "diff": HistoryDifference}


def history_json(runs: Sequence[Run]) -> str:
    """Return the runs that `history --format json` prints, in the order given."""
    return json_of(HistoryOfRuns(runs=tuple(map(_summary, runs))))


def run_json(run: Run) -> str:
    """Return what `history RUN --format json` prints."""
    owners = {"failed": RecordedFailure, "in_doubt": RecordedFailure, "warnings": RecordedFinding}
    findings = {name: tuple(owner(**one) for one in run.steps.get(name, ())) for name, owner in owners.items()}
    became = RunResults(**{**run.steps, **findings})
    return json_of(HistoryOfOneRun(summary=_summary(run), became=became, changed=changed_by(run)))


def difference_json(difference: ChangesBetween) -> str:
    """Return what `history diff --format json` prints: each field with the value it had and the value it has."""
    return json_of(HistoryDifference(difference=difference))


def _summary(run: Run) -> RunSummary:
    ended = run.ended or {}
    recorded = {
        summary_field.name: run.begun[summary_field.name]
        for summary_field in fields(RunSummary)
        if summary_field.name in run.begun
    }
    return RunSummary(**{
        **recorded, "run": run.number, "outcome": run.outcome, "began": run.at, "ended": run.until, "topology": run.topology,
        "stopped": ended.get("stopped", ""), "outcomes": ended.get("counts", {}), "later_format": run.later_format,
    })  # fmt: skip


def history_schema() -> str:
    """Return the JSON schema of what `history` prints as JSON, as text."""
    description = (
        "What `history --format json` prints: every run (#/$defs/runs), one run (`history RUN`, #/$defs/run), or what "
        "changed between two (`history diff`, #/$defs/diff)."
    )
    return published_schema_of_any("reconciler history", description, DOCUMENTS)
