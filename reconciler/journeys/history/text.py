"""Runs of an account, newest first, one run in full, and what changed between two; as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reconciler.journeys.history.history import no_runs_sentence
from reconciler.memory.journal import UNKNOWN, Run
from reconciler.memory.run_changes import ChangesBetween, Differs, changed_by
from reconciler.model.ledger.entries import FORMAT as JOURNAL
from reconciler.model.resource import Json
from reconciler.report.document.change_details import field_differences
from reconciler.report.document.piece_lines import piece_lines
from reconciler.report.words.paper import Paper, table
from reconciler.report.words.values import counted, name_lines
from reconciler.report.words.visible import inert, visible

_SIGNS = {
    "created": "+",
    "adopted": "=",
    "deleted": "-",
    "forgotten": "<",
    "renamed": "±",
    "replaced": "±",
    "updated": "~",
}


def difference_text(difference: ChangesBetween, paper: Paper) -> str:
    """Return what happened to each resource between the two runs, and the runs in between that are not fully known."""
    return inert("\n".join(_difference_lines(difference, paper)) + "\n")


def _difference_lines(difference: ChangesBetween, paper: Paper) -> Iterator[str]:
    first, last = difference.first, difference.last
    head = f"run {first.number} → run {last.number} of topology {last.topology}"
    revisions = [revision_text(run.begun) or "unknown revision" for run in (first, last)]
    yield paper.paint(visible(f"{head}: {' → '.join(revisions)}"), "head")
    for resource in difference.resources:
        yield from _resource_lines(resource, paper)
    if not difference.resources:
        yield "Nothing differs." if first.number != last.number else "This is one run; name two."
    for numbers, why in ((difference.unsure, "no end of it is known: perhaps not all of its changes were made"),
                         (difference.untold, "its changes are not in the journal")):  # fmt: skip
        for number in numbers:
            yield from paper.wrapped(f"run {number}: {why}; see `reconciler history {number}`")


def _resource_lines(resource: Differs, paper: Paper) -> Iterator[str]:
    old = f" from {visible(resource.renamed_from)}" if resource.renamed_from else ""
    yield f"{_SIGNS[resource.became]} {visible(resource.address)}  {resource.became}{old}"
    yield from piece_lines([field_differences(resource.fields)], paper, 4)
    yield from (f"    {visible(path)}  changed, too long to be kept" for path in resource.long)


_HEADS = ("run", "began", "topology", "by", "revision", "steps", "outcome")


def history_text(runs: Sequence[Run], paper: Paper, topology: str | None = None) -> str:
    """Return a table with a line for each run, in the order given, or a sentence where there is no run. `topology` is the one
    whose runs these are."""
    if not runs:
        return inert(visible(no_runs_sentence(topology)) + "\n")
    head, *rows = table([_HEADS, *map(_run_row, runs)], right=frozenset({0, 5}))
    return inert(
        "\n".join([paper.paint(head, "quiet"), *rows, f"To see one in full: reconciler history {runs[0].number}"])
        + "\n"
    )


def _run_row(run: Run) -> tuple[str, ...]:
    begun = run.begun
    by = f"{begun.get('user', '')}@{begun.get('host', '')}".strip("@")
    return (
        str(run.number), _time_text(run.at), run.topology, by, revision_text(begun),
        str(begun.get("steps", 0)), outcome_text(run),
    )  # fmt: skip


def revision_text(begun: Mapping[str, Json]) -> str:
    """Return `0a0ecbc577ec` or `0a0ecbc577ec-dirty`: the short revision, and whether the files differed from it."""
    commit, dash, more = str(begun.get("git_revision") or "").partition("-")
    return f"{commit[:12]}{dash}{more[:5]}"


def outcome_text(run: Run) -> str:
    """Return `applied`, `applied, 2 changes left out`, `incomplete: 4 done, 1 failed`, or `stopped: interrupted`."""
    left = f", {counted(number, 'change')} left out" if (number := run.begun.get("left_out")) else ""
    if run.outcome in ("applied", "running", "cut off", UNKNOWN):
        return run.outcome + left
    ended = run.ended or {}
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in (ended.get("counts") or {}).items())
    return f"{run.outcome}: {'; '.join(part for part in (ended.get('stopped'), counts) if part)}{left}"


def _time_text(moment: str) -> str:
    """To the second, in the server's UTC."""
    return moment[:19].replace("T", " ")


def run_text(run: Run, paper: Paper) -> str:
    """Return all that the journal holds of one run; each failed step has its reason and a way out."""
    return inert("\n".join(_run_lines(run, paper)) + "\n")


def _run_lines(run: Run, paper: Paper) -> Iterator[str]:
    begun = run.begun
    yield paper.paint(visible(f"run {run.number} of topology {run.topology}: {outcome_text(run)}"), "head")
    until = f" to {_time_text(run.until)}" if run.until else ""
    facts = {
        "time": f"{_time_text(run.at)}{until} UTC, by the server's clock",
        "by": f"{begun.get('user', 'somebody')} on {begun.get('host', '?')} (process {begun.get('pid', 0)})",
        "account user": begun.get("account_user"), "source": begun.get("source"),
        "revision": begun.get("git_revision"), "tool": begun.get("tool"),
        "planned": ", ".join(f"{count} {name}" for name, count in (begun.get("counts") or {}).items()),
    }  # fmt: skip
    yield from table([(name, str(value)) for name, value in facts.items() if value], indent=2)
    if run.later_format is not None:
        yield from paper.wrapped(f"It is written in format {run.later_format}; this version reads {JOURNAL}, and "
                                 "shows what it can.")  # fmt: skip
    if run.outcome == "cut off":
        yield from paper.wrapped("The journal has no end of it: its process was killed, or lost the server or its "
                                 "lease. The next plan shows what it had begun.")  # fmt: skip
    if run.outcome == UNKNOWN:
        yield from paper.wrapped("It came to an end, but the entry that told how was deleted or overwritten.")
    for name in ("failed", "in_doubt"):
        for entry in run.steps.get(name, ()):
            yield from _failure_lines(name.replace("_", " "), entry, paper)
    for because, calls in run.steps.get("skipped", {}).items():
        yield from _named_lines(f"not tried ({because})", calls, paper)
    for name in ("not_started", "done"):
        yield from _named_lines(name.replace("_", " "), run.steps.get(name, {}), paper)
    for entry in run.steps.get("warnings", ()):
        yield from paper.wrapped(f"warning {entry.get('code')}: {entry.get('message')}", 2)
    yield from _changed_lines(changed_by(run), paper)


def _changed_lines(resources: Sequence[Differs], paper: Paper) -> Iterator[str]:
    """Its steps name what was created and deleted. Resources without fields, of which there may be many, are only named."""
    for word in ("adopted", "forgotten"):
        if names := [its.address for its in resources if its.became == word and not its.fields]:
            yield from name_lines(f"{word}: {counted(len(names), 'resource')}", names, paper, 2)
    for resource in resources:
        if resource.fields or resource.long or resource.renamed_from:
            yield from _resource_lines(resource, paper)


def _failure_lines(word: str, failure: dict[str, Json], paper: Paper) -> Iterator[str]:
    yield paper.paint(
        visible(f"  {word}: {failure.get('call')} {failure.get('on')} of {failure.get('address')}"), "refused"
    )
    yield from paper.wrapped(f"{failure.get('code')} {failure.get('message')}", 4)
    if failure.get("fix"):
        yield from paper.paragraphs(f"Instead: {failure['fix']}", 4)


def _named_lines(head: str, calls: Mapping[str, Json], paper: Paper) -> Iterator[str]:
    for call, names in calls.items():
        if isinstance(names, list):
            heading = visible(f"{head}: {counted(len(names), 'step')} {call}")
            yield from name_lines(heading, names, paper, 2)
        else:
            yield visible(f"  {head}: {names} more, not named")
