"""The outcome of an apply: done, failed and why, in doubt, not tried; what is half-made; what to run next."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from reconciler.changes.events import REFUSALS, ChangedSince, Failed, Finished, InDoubt, Skipped, StepOutcome
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.wire.steps import DEEDS, Call, Step
from reconciler.report.words import diagnostics
from reconciler.report.words.commands import CommandLines, plan_commands
from reconciler.report.words.paper import Paper, table
from reconciler.report.words.status import cut_line
from reconciler.report.words.values import counted, name_lines, show_seconds, show_side
from reconciler.report.words.visible import inert, visible

_DEEDS = {
    **DEEDS,
    Call.ENTRY_PUT: "write record {}",
    Call.ENTRY_DELETE: "delete record {}",
    Call.GATE_REPLICAS_CURRENT: "wait until all replicas of stream {} are current",
    Call.GATE_IN_FLIGHT_DONE: "wait until the messages in flight of {} are acknowledged",
    Call.GATE_MEMBERS_BACK: "wait until the members consume again from {}",
}
_Outcome = TypeVar("_Outcome", bound=Failed | InDoubt | Skipped)
_NOUNS = {Call.ENTRY_PUT: "record", Call.ENTRY_DELETE: "record deletion"} | {c: "wait" for c in Call if c.waits}


def outcome_text(
    finished: Finished,
    paper: Paper | None = None,
    *,
    arguments: str = "",
    backup: str | None = None,
    seconds: float | None = None,
    left: int = 0,
    later: bool = False,
    commands: CommandLines | None = None,
) -> str:
    """Return the summary after the last event, ending in a newline. `left` counts changes that were not to be applied.
    `backup` is the folder for backups, which the next apply needs as well. `later` means that the plan was made some
    time before, so that nobody knows what another plan would find. `commands` gives the next command where it is not
    `apply`."""
    paper, commands = paper or Paper(), commands or plan_commands(arguments)
    took = f" in {show_seconds(seconds)}" if seconds is not None else ""
    warned = diagnostics.lines((*finished.left_alone, *finished.warnings), paper)
    if finished.is_complete:
        then = _what_is_left_text(finished, left, "Everything in the plan is done." if later else commands.then)
        written = ", ".join(_record_sentences(finished))
        if written and not finished.done:
            deed_done = paper.paint(_word_for_records(finished), "good")
            applied = f"{deed_done}{took}: {written}, and no object was touched. {then}"
        else:
            more = f" {written}." if written else ""
            applied = f"{paper.paint('Applied', 'good')} {_steps_done_text(finished, took)}.{more} {then}"
        return inert("\n".join([*warned, applied]) + "\n")
    lines = [*warned, *_trouble_lines(finished, paper)]
    lines += paper.wrapped(f"{_opening_words(finished)}{took}. {_open_counts_text(finished)}")
    lines += _half_made_lines(finished, paper)
    lines += paper.wrapped(_next_command_line(finished, commands, backup))
    return inert("\n".join(lines) + "\n")


def _what_is_left_text(finished: Finished, left: int, nothing: str) -> str:
    """Say what another plan finds after a complete run; `nothing` says that it finds nothing."""
    unrecorded = "" if finished.is_recorded else "The next plan may show again what is not recorded."
    left_out = f"{counted(left, 'change')} left out." if left else ""
    return " ".join(filter(None, (left_out, unrecorded))) or nothing


def progress_line(done: int, total: int, step: Step, width: int) -> str:
    """Return one line for a terminal, never wider than it. A gate says itself what it waits for."""
    return (
        steps_so_far_text(done, total)
        if step.call.waits
        else cut_line(f"{steps_so_far_text(done, total)}  {deed_text(step)}", width)
    )


def start_line(total: int) -> str:
    """Return the line before the first step, while leases and the bucket are prepared; a plan of records alone has no
    steps."""
    return steps_so_far_text(0, total) if total else "recording what this topology owns …"


def steps_so_far_text(done: int, total: int) -> str:
    """Return `3 of 10 steps`."""
    return f"{done:_} of {total:_} steps"


def deed_text(step: Step) -> str:
    """Return `create consumer ORDERS/dispatch`."""
    if step.effect:
        return visible(step.effect)
    return _DEEDS[step.call].format(visible("/".join(step.on)))


def _record_sentences(finished: Finished) -> Iterator[str]:
    """Say what the ledger records about resources without steps."""
    if finished.adopted:
        yield f"{counted(finished.adopted, 'resource')} now {'belongs' if finished.adopted == 1 else 'belong'} to this topology"
    if finished.recorded:
        yield f"{counted(finished.recorded, 'record')} {'is' if finished.recorded == 1 else 'are'} updated"
    if finished.let_go:
        yield f"{counted(finished.let_go, 'record')} {'is' if finished.let_go == 1 else 'are'} removed"


def _word_for_records(finished: Finished) -> str:
    """Return one word for a run that only wrote records."""
    if finished.adopted:
        return "Adopted"
    return "Recorded" if finished.recorded else "Forgotten"


def _steps_done_text(finished: Finished, took: str) -> str:
    """Return `7 steps (4 creates, 2 updates, 1 record)`."""
    counts = Counter(_NOUNS.get(done.step.call, done.step.call.value.split(".")[1]) for done in finished.done)
    parts = ", ".join(counted(count, deed) for deed, count in counts.items())
    return (
        f"{counted(len(finished.done), 'step')} ({parts}){took}" if parts else f"nothing{took}: no object had to change"
    )


def _trouble_lines(finished: Finished, paper: Paper) -> list[str]:
    lines: list[str] = []
    for failures in _group_alike(finished.failed, lambda failed: (_reason_key(failed.reason), failed.changed_since)):
        failed = failures[0]
        how = "not done:" if failed.reason.code in REFUSALS else "failed to"
        changed_since = changed_since_lines(failed.changed_since)
        lines += _trouble_entry("!", failures, f"{how} {deed_text(failed.step)}", failed.reason, paper, changed_since)
    for doubts in _group_alike(finished.in_doubt, lambda doubt: _reason_key(doubt.reason)):
        lines += _trouble_entry("?", doubts, f"in doubt: {deed_text(doubts[0].step)}", doubts[0].reason, paper)
    for skipped in _group_alike(finished.skipped, lambda skipped: skipped.because):
        others = " (and the like)" if len({step.because for step in skipped}) > 1 else ""
        head = f"{counted(len(skipped), 'step')} not tried, because {skipped[0].because}{others}:"
        lines += [*paper.wrapped(head), *name_lines("of", _addresses(skipped), paper, 4), ""]
    return lines


def _group_alike(outcomes: Iterable[_Outcome], why: Callable[[_Outcome], object]) -> list[list[_Outcome]]:
    """Group outcomes whose deeds and reasons differ by nothing but the names of objects and by numbers of seconds."""
    groups: dict[tuple[Call | None, str], list[_Outcome]] = {}
    for outcome in outcomes:
        names = {
            outcome.step.address,
            *outcome.step.address.split("/")[1:],
            *outcome.step.on,
            "/".join(outcome.step.on),
        }
        call = None if isinstance(outcome, Skipped) else outcome.step.call
        groups.setdefault((call, _without_names(repr(why(outcome)), names)), []).append(outcome)
    return list(groups.values())


def _reason_key(reason: Diagnostic) -> tuple[str | None, ...]:
    return reason.code, reason.message, reason.fix


_SECONDS = re.compile(r"(?<!\w)[0-9.]+ s(?!\w)")


def _without_names(text: str, names: Iterable[str]) -> str:
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = _without_name(text, name) if name in text else text
    return _SECONDS.sub("…", text)


def _without_name(text: str, name: str) -> str:
    """Leave the name out where it is a whole word. An expression for each of thousands of names would take seconds to
    compile."""
    without_name, *rest = text.split(name)
    for part in rest:
        is_part_of_word = _IN_WORD.match(without_name[-1:]) or _IN_WORD.match(part)
        without_name += f"{name if is_part_of_word else '…'}{part}"
    return without_name


_IN_WORD = re.compile(r"\w")


def changed_since_lines(changed_since: Sequence[ChangedSince], indent: int = 6) -> list[str]:
    """Return three columns: what the plan was made from, what is live now, and what is wanted."""
    if not changed_since:
        return []
    rows = [
        [
            field.path,
            *(show_side(value, field.info) for value in (field.planned, field.now)),
            "–" if field.goes else show_side(field.wanted, field.info),
        ]
        for field in changed_since
    ]
    return table([["", "planned from", "now live", "wanted"], *rows], indent=indent)


def _trouble_entry(
    mark: str,
    outcomes: Sequence[Failed | InDoubt],
    deed_text: str,
    reason: Diagnostic,
    paper: Paper,
    more: Sequence[str] = (),
) -> list[str]:
    """Tell of outcomes that are alike in the words of the first."""
    address, *others = _addresses(outcomes)
    beside = f" and {counted(len(others), 'other')}" if others else ""
    reason_text = f"{reason.code} {reason.message}" if reason.code else reason.message
    lines = [
        paper.paint(f"{mark} {visible(address)}{beside}", "refused"),
        *paper.wrapped(deed_text, 4),
        *paper.wrapped(reason_text, 4),
        *more,
        *(paper.paragraphs(f"Instead: {reason.fix}", 4) if reason.fix else []),
    ]
    return [*lines, *(name_lines("So it is with", [*map(visible, others)], paper, 4) if others else []), ""]


def _addresses(settled: Iterable[Skipped | Failed | InDoubt]) -> list[str]:
    return list(dict.fromkeys(outcome.step.address for outcome in settled))


def _step_total(finished: Finished) -> int:
    return sum(map(len, (finished.done, finished.failed, finished.in_doubt, finished.skipped, finished.not_started)))


def _opening_words(finished: Finished) -> str:
    of = f"{len(finished.done):_} of {counted(_step_total(finished), 'step')}"
    if finished.stopped is None:
        return f"Not everything could be applied: {of} done"
    return (
        f"Interrupted after {of}"
        if finished.stopped == "interrupted"
        else f"Stopped ({visible(finished.stopped)}) after {of}"
    )


def _open_counts_text(finished: Finished) -> str:
    counts = {"failed": finished.failed, "not tried": finished.skipped, "not started": finished.not_started}
    numbers = [f"{len(settled):_} {word}" for word, settled in counts.items() if settled]
    open_text = ", ".join(
        [*numbers, *([f"{counted(len(finished.left_alone), 'change')} left alone"] if finished.left_alone else [])]
    )
    doubt = ", ".join(f"{address} (the request was sent, no answer came)" for address in _addresses(finished.in_doubt))
    return " ".join(filter(None, (f"{open_text}." if open_text else "", f"In doubt: {doubt}." if doubt else "")))


def _half_made_lines(finished: Finished, paper: Paper) -> list[str]:
    """Find resources of which some steps were carried out and others not; the next apply completes them.

    Members that do not return are for their owners to start: nothing is left to write. A step that would have undone
    another is not left to do.
    """
    done = {outcome.step.address for outcome in finished.done}
    open_: dict[str, list[Step]] = {}
    unfinished: tuple[StepOutcome, ...] = (*finished.failed, *finished.skipped, *finished.not_started)
    for outcome in unfinished:
        step = outcome.step
        is_left = step.call is not Call.GATE_MEMBERS_BACK and (step.undoes is None or outcome in finished.failed)
        if step.address in done and is_left:
            open_.setdefault(step.address, []).append(step)
    if not open_:
        return ["Nothing is half-made."] if not finished.in_doubt else []
    open_text = "; ".join(
        f"{address} (still to do: {', '.join(map(deed_text, steps))})" for address, steps in open_.items()
    )
    return paper.wrapped(f"Nothing is half-made except {open_text}; the next apply completes it.")


def _next_command_line(finished: Finished, commands: CommandLines, backup: str | None) -> str:
    if finished.failed or finished.left_alone:
        return f"Next: see what is left with  {commands.look}"
    first_kept = f" --backup {shlex.quote(backup)}" if backup else ""
    return f"Next: {commands.go}{first_kept}"
