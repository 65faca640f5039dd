"""What to type next: the command that looks again, the one that applies, and the one that applies only what it can."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from reconciler.changes.plan import Plan, PlannedChange
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
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


_NAME = r"[^\s`;,()]*[^\s`;,().]"
_OF_GROUPS = re.compile(rf"\breconciler groups (?:step-down {_NAME} {_NAME}|[a-z-]+\b(?: {_NAME}/{_NAME})?)(?! --)")
"""A command about groups, with the groups that it names."""


def with_connection(text: str, connection: str) -> str:
    """Return the text with a connection in each command about groups: their ways out are written by rules, which know none."""
    return _OF_GROUPS.sub(lambda command: f"{command[0]} {visible(connection)}".rstrip(), text)


def findings_with_connection(findings: Iterable[Diagnostic], connection: str) -> tuple[Diagnostic, ...]:
    """Return the findings with the connection in their commands."""
    return tuple(
        replace(
            finding,
            message=with_connection(finding.message, connection),
            fix=finding.fix and with_connection(finding.fix, connection),
        )
        for finding in findings
    )


def plan_with_connection(plan: Plan, connection: str) -> Plan:
    """Return the plan with the connection in the commands of its ways out."""
    return replace(
        plan,
        diagnostics=findings_with_connection(plan.diagnostics, connection),
        changes=tuple(_change_with_connection(change, connection) for change in plan.changes),
    )


def _change_with_connection(change: PlannedChange, connection: str) -> PlannedChange:
    if not any(verdict.fix and _OF_GROUPS.search(verdict.fix) for verdict in change.verdicts):
        return change
    verdicts = (
        replace(verdict, fix=verdict.fix and with_connection(verdict.fix, connection)) for verdict in change.verdicts
    )
    return replace(change, verdicts=tuple(verdicts))
