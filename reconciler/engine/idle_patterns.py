"""Patterns of --only and --exclude that match nothing. A misspelt --exclude would let everything be applied, so no plan is
made until the pattern is corrected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reconciler.changes.view import View
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.run_options import RunOptions
from reconciler.model.selection import likely_pattern, selects

CODE = "XX907"
IN_ONE, ANYWHERE = "this topology declares or owns", "any target declares or owns"


def idle_patterns(view: View, options: RunOptions) -> Iterator[Diagnostic]:
    """Yield a warning about each pattern that matches nothing."""
    for option, patterns in (("--only", options.only), ("--exclude", options.exclude)):
        for pattern in patterns:
            if not any(selects(pattern, a, change.labels) for a, change in view.changes.items()):
                labels = [change.labels for change in view.changes.values()]
                near = likely_pattern(pattern, view.changes.keys(), labels)
                yield Diagnostic(
                    severity=Severity.WARNING, code=CODE, name="selects-nothing",
                    message=_message(option, pattern),
                    fix=f"write {near}, or leave the option out" if near
                    else "write an address such as stream/ORDERS or 'consumer/ORDERS/*', or a label such as team=orders",
                )  # fmt: skip


def is_idle(option: str, pattern: str, findings: Iterable[Diagnostic]) -> bool:
    """Is this pattern among those that these warnings are about?"""
    return any((finding.code, finding.message) == (CODE, _message(option, pattern)) for finding in findings)


def _message(option: str, pattern: str) -> str:
    return f"{option} {pattern} matches nothing that {IN_ONE}"


def refuse_idle_patterns(view: View, options: RunOptions) -> None:
    """Raise CannotContinue where a pattern matches nothing, unless another plan of the same run may know what it means."""
    if not options.may_match_nothing:
        _refuse(idle_patterns(view, options))


def refuse_patterns_idle_everywhere(plans: Sequence[Sequence[Diagnostic]]) -> None:
    """Raise CannotContinue where all of these plans, by their diagnostics, warn of the same pattern."""
    each = [{finding.message: finding for finding in found if finding.code == CODE} for found in plans]
    shared = (
        (finding for message, finding in each[0].items() if all(message in other for other in each)) if each else ()
    )
    _refuse(replace(finding, message=finding.message.replace(IN_ONE, ANYWHERE)) for finding in shared)


def _refuse(warnings: Iterable[Diagnostic]) -> None:
    if errors := [replace(warning, severity=Severity.ERROR) for warning in warnings]:
        raise CannotContinue(*errors)
