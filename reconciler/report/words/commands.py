"""What to type next: the command that looks again, the one that applies, and the one that applies only what it can."""

from __future__ import annotations

from reconciler.model.dataclass import dataclass
from reconciler.report.words.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLines:
    """Whole command lines, as they are typed."""

    look: str
    edited: str
    """The command to run after editing the files."""
    go: str
    rest: str
    editing: str = ""
    """What an edit of the files can change, where it is not everything."""
    then: str = "Planning again finds nothing to do."
    """What is true once all of it is done."""


def plan_commands(arguments: str, applying: str | None = None) -> CommandLines:
    """Return the commands after a plan. `arguments` are those of the plan, `applying` those of an apply where they
    differ."""
    look, go = _command_line("plan", arguments), _command_line("apply", arguments if applying is None else applying)
    return CommandLines(look=look, edited=look, go=go, rest=f"{go} --partial")


def restore_commands(arguments: str, consented: str) -> CommandLines:
    """Return the commands after a restoration: an apply would also make the file's own changes. `consented` includes
    the consents, which a look does not take. Nothing is said about `then`, for only the next
    plan knows it."""
    go = _command_line("drift restore", consented)
    return CommandLines(
        look=_command_line("drift", arguments), edited=go, go=go, rest=f"{go} --partial", editing=RESTORING, then=""
    )  # fmt: skip


RESTORING = "From the files it takes only consents and where a consumer or stream starts, else what was applied last."


def _command_line(command: str, arguments: str) -> str:
    return f"reconciler {command} {visible(arguments)}".rstrip()
