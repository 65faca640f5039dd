"""What to type next: the command that looks again, the one that does it, and the one that does what nothing keeps from it."""

from __future__ import annotations

from dataclasses import dataclass

from reconciler.report.words.visible import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLines:
    """Whole ones, as they are typed."""

    look: str
    edited: str
    """Once the files were edited."""
    go: str
    rest: str
    then: str = "Planning again finds nothing to do."
    """What holds once all of it is done."""


def of_plan(arguments: str, applying: str | None = None) -> CommandLines:
    """`arguments` are those a plan was made with, `applying` those that apply it, where they are others."""
    look, go = _typed("plan", arguments), _typed("apply", arguments if applying is None else applying)
    return CommandLines(look=look, edited=look, go=go, rest=f"{go} --partial")


def of_restoring(arguments: str, consented: str) -> CommandLines:
    """An apply would change what the files say otherwise by now, too. `consented`: with the consents given, which a look
    does not take."""
    go = f"{_typed('drift', consented)} --restore"
    then = "What had strayed of ours is put back."
    return CommandLines(look=_typed("drift", arguments), edited=go, go=go, rest=f"{go} --partial", then=then)


def _typed(command: str, arguments: str) -> str:
    return f"reconciler {command} {visible(arguments)}".rstrip()
