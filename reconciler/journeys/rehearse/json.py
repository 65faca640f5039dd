"""What `rehearse --format json` prints; its plan and outcome are those of `plan` and `apply`."""

from __future__ import annotations

from typing import Annotated

from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.rehearsal import Missing, Probe, Rehearsal, Restarted
from reconciler.model.dataclass import dataclass
from reconciler.model.shape import ALWAYS, AddressText, Count, VersionText, format_of
from reconciler.report.codec.outcome_json import OutcomeReport, outcome_report
from reconciler.report.codec.schema import published_schema

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalReport:
    """What happened when the plan was carried out on throw-away servers."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    version: VersionText
    """The nats-server version of the rehearsal."""
    nodes: Count
    """How many servers there were."""
    fine: bool
    """True: everything that was tried did what the plan foretold."""
    plan: Plan
    """The plan, as it was made on the throw-away servers."""
    outcome: OutcomeReport
    """The outcome of carrying it out."""
    left: tuple[PlannedChange, ...]
    """What a second plan would still change."""
    missing: tuple[Missing, ...]
    """What could not be recreated on the throw-away servers."""
    refused: tuple[AddressText, ...]
    """Changes that were not tried, because they are refused."""
    lacking: tuple[AddressText, ...]
    """Changes whose rehearsal shows nothing, because something they need was missing."""
    restarted: Restarted | None = None
    """What another version made of the same stores (`--server-version`)."""
    probe: Probe | None = None
    """What clients felt (`--probe`)."""


def rehearsal_report(rehearsal: Rehearsal, exit_code: int) -> RehearsalReport:
    """Return a rehearsal for tools, with the plan; `exit_code` goes into the outcome."""
    return RehearsalReport(
        version=rehearsal.version, nodes=rehearsal.size, fine=rehearsal.is_fine, plan=rehearsal.plan,
        outcome=outcome_report(rehearsal.finished, topology=rehearsal.plan.topology, exit_code=exit_code),
        left=rehearsal.left, missing=rehearsal.missing, refused=tuple(rehearsal.refused_addresses),
        lacking=tuple(rehearsal.unrehearsed_addresses),
        restarted=rehearsal.restarted, probe=rehearsal.probe,
    )  # fmt: skip


def rehearsal_schema() -> str:
    """Return the JSON schema of what `rehearse --format json` prints, as text."""
    description = "What happened when the plan was carried out on throw-away servers."
    return published_schema("reconciler rehearse", description, RehearsalReport)
