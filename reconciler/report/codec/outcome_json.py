"""The outcome of an apply as JSON for tools: every step under one heading, and each deviation from the plan with its
three values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from reconciler.changes.events import Done, Failed, Finished, InDoubt, NotStarted, Skipped
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.shape import ALWAYS, AddressText, Count, Name, format_of
from reconciler.report.codec.schema import published_schema

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReport:
    """What one apply did, what it could not do and why, and what it did not begin."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    topology: str
    """Name of the topology."""
    environment: str = ""
    """The environment that the files were read for."""
    member: Annotated[str, Name("target")] = ""
    """The target of a fleet that was applied."""
    exit_code: Count
    """The exit code of the command."""
    as_wanted: tuple[AddressText, ...]
    """Addresses for which a saved plan had nothing left to do."""
    done: tuple[Done, ...]
    """Steps that were carried out and verified."""
    failed: tuple[Failed, ...]
    """Steps that were not carried out, or had another result than predicted."""
    in_doubt: tuple[InDoubt, ...]
    """Steps that were sent, but it is unknown whether they happened."""
    skipped: tuple[Skipped, ...]
    """Steps that were not begun, because one before them did not succeed."""
    not_started: tuple[NotStarted, ...]
    """Steps that were not due yet when the run was stopped."""
    warnings: tuple[Diagnostic, ...]
    """Problems that are about no step."""
    stopped: str | None = None
    """Why the run ended early. A missing key: it ran to its end."""


def outcome_report(
    finished: Finished,
    *,
    topology: str,
    exit_code: int,
    environment: str = "",
    member: str = "",
    as_wanted: Iterable[str] = (),
) -> OutcomeReport:
    """Return the outcome by `apply.schema.json`. `as_wanted` are addresses for which a saved plan had nothing left to do."""
    return OutcomeReport(
        topology=topology, environment=environment, member=member, exit_code=exit_code, as_wanted=tuple(as_wanted),
        done=finished.done, failed=finished.failed,
        in_doubt=finished.in_doubt, skipped=finished.skipped, not_started=finished.not_started,
        warnings=(*finished.left_alone, *finished.warnings), stopped=finished.stopped,
    )  # fmt: skip


def outcome_schema() -> str:
    """Return the text of `apply.schema.json`."""
    description = "What one apply did, what it could not do and why, and what it did not begin."
    return published_schema("reconciler apply", description, OutcomeReport)
