"""Exit codes, the same for every command, and the signals that end one. Of several codes the gravest holds."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from reconciler.model.dataclass import dataclass

if TYPE_CHECKING:
    from reconciler.changes.plan import Plan

FINE = 0
FAILED = 1
"""The command could not work: wrong files, no connection, a failed step, or a needed part of the account is unknown."""
PENDING = 2
"""Changes pending; only with --exit-code."""
DRIFT = 3
"""The live state is not as it should be; for groups only with --exit-code."""
REFUSED = 4
"""Refused, or consent is missing."""
USAGE = 64
INTERRUPTED = 130
WORST_FIRST = (INTERRUPTED, USAGE, FAILED, REFUSED, DRIFT, PENDING, FINE)


def worst(codes: Iterable[int]) -> int:
    """Return the exit code of a command that did several things."""
    return min(codes, key=WORST_FIRST.index, default=FINE)


def plans_exit_code(plans: Iterable[Plan | None], *, pending: bool) -> int:
    """Return the exit code of several plans, where None is one that could not be made; with `pending`, 2 in place of 0
    where there is something to apply."""
    return worst(_plan_exit_code(plan, pending=pending) for plan in plans)


def _plan_exit_code(plan: Plan | None, *, pending: bool) -> int:
    if plan is None:
        return FAILED
    return PENDING if plan.exit_code == FINE and pending and not plan.is_empty else plan.exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a code says to people who write pipelines."""

    name: str
    """In a few words."""
    about: str
    """When a command ends with it."""
    then: str
    """What a pipeline should do."""


MEANINGS: Mapping[int, Meaning] = {
    FINE: Meaning(
        name="fine",
        about="The command did what it was asked to, or there was nothing to do. Changes may be pending.",
        then="Go on.",
    ),
    FAILED: Meaning(
        name="could not do it",
        about="A file is wrong, no server answers, a step failed, or something needed is unknown or left out by "
        "`--only`. For `fmt --check`: a file is not in form.",
        then="Fail the job. The message says what to correct; run it again if a server did not answer.",
    ),
    PENDING: Meaning(
        name="changes pending (with --exit-code)",
        about="Changes wait to be applied, and nothing stops them.",
        then="Ask for a review, or go on to the apply.",
    ),
    DRIFT: Meaning(
        name="drift",
        about="The live state differs from what was applied. For `groups doctor --exit-code`: something is wrong.",
        then="Tell the owners, for example in an issue. They decide between `drift accept` and `drift restore`.",
    ),
    REFUSED: Meaning(
        name="refused, or consent is missing",
        about="A rule refuses a change, or asks for consent. For `upgrade-check`: the upgrade would lose, refuse "
        "or stop serving something.",
        then="Fail the job, and show the report to the author of the change. Nothing was applied, unless "
        "`--partial` was given.",
    ),
    USAGE: Meaning(
        name="wrong usage",
        about="The command line is wrong: an unknown option, or options that exclude each other.",
        then="Fail the job, and correct its command line.",
    ),
    INTERRUPTED: Meaning(
        name="interrupted",
        about="Ctrl-C ended the command, or a signal.",
        then="Run it again. The next apply finishes what this one began.",
    ),
}
ALWAYS = (FINE, FAILED, USAGE, INTERRUPTED)
"""Codes with which every command may end."""


def epilog(*others: int, instead: Mapping[int, str] | None = None) -> str:
    """Return the last line of a command's help: the codes with which it may end. `instead` names some in other
    words."""
    names = {code: MEANINGS[code].name for code in (*ALWAYS, *others)} | dict(instead or {})
    return "Exit codes: " + ", ".join(f"{code} {name}" for code, name in sorted(names.items())) + "."


def ending_signals() -> list[signal.Signals]:
    """Return them; a terminal that closes is none of them where whoever started the command says so, as `nohup` does."""
    return [signal.SIGINT, signal.SIGTERM, *([] if _is_ignored(signal.SIGHUP) else [signal.SIGHUP])]


def _is_ignored(number: signal.Signals) -> bool:
    return signal.getsignal(number) is signal.SIG_IGN


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Let each of them raise KeyboardInterrupt inside the block. An event loop would keep a Ctrl-C until it gets its
    turn."""
    numbers = [number for number in ending_signals() if not _is_ignored(number)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
