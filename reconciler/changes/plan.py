"""A plan: what changes, the verdicts about it, and the very steps that will run. Frozen data, to and from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.changes.diff import Action, Consequence, FieldChange
from reconciler.changes.verdict import Verdict
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.records import BUCKET, Owned, encode_key
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.steps import Call, Step

FORMAT = 1
"""Version of the JSON form; another number is refused, never guessed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One line of the plan: a change with all verdicts about it."""

    address: str
    action: Action
    fields: tuple[FieldChange, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    span: SourceSpan | None = None
    reason: str = ""
    adopts: bool = False
    """The object is live and not yet recorded as owned; apply adopts it."""
    blocked_by: str | None = None
    """Address of the blocked resource that this depends on."""
    record: Owned | None = None
    """What to record once this is applied; None: nothing, or forget."""

    @property
    def is_blocked(self) -> bool:
        """Apply does not carry it out: it is refused, lacks consent, is of unknown state, or depends on something
        blocked."""
        return self.blocked_by is not None or self.action is Action.UNKNOWN or any(v.blocks for v in self.verdicts)

    @property
    def is_refused(self) -> bool:
        """A verdict refuses it, and no consent lifts that."""
        return any(verdict.refuses for verdict in self.verdicts)

    @property
    def needs_consent(self) -> bool:
        """It lacks consent and nothing else."""
        return not self.is_refused and any(verdict.blocks for verdict in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What apply would do, in the order a reviewer reads it; `steps` is in an order that a server accepts."""

    topology: str
    target: Target
    changes: tuple[PlannedChange, ...] = ()
    """Everything that is not just kept, ordered by address."""
    steps: tuple[Step, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    kept: int = 0
    """Resources already as declared."""
    unmanaged: tuple[str, ...] = ()
    read: Mapping[str, int] = field(default_factory=dict)
    """How many objects of each kind were read."""
    hidden: int = 0
    """Changes that the selection of this run leaves out."""
    ledger_known: bool = True
    format: int = FORMAT

    @property
    def summary(self) -> dict[str, int]:
        """Counts by what happens to resources; a refused change counts only as refused."""
        counts = dict.fromkeys(
            ("create", "update", "replace", "delete", "adopt", "keep", "orphan", "unknown", "refused"), 0
        )
        counts["keep"] = self.kept
        for change in self.changes:
            name = "refused" if change.is_refused else change.action.value
            counts[name] = counts.get(name, 0) + 1
        return counts

    @property
    def is_empty(self) -> bool:
        """No create, update, replace or delete."""
        return not any(change.action.writes for change in self.changes)

    @property
    def blocked(self) -> tuple[PlannedChange, ...]:
        """Changes that an apply of this plan does not carry out, ordered by address."""
        return tuple(change for change in self.changes if change.is_blocked)

    @property
    def records(self) -> dict[Address, Owned | None]:
        """What to record, or to forget (None), when a change is done: everything owned that really happens. A step of
        its own records what was replaced."""
        by_step = {step.on[1] for step in self.steps if step.call is Call.ENTRY_PUT and step.on[0] == BUCKET}
        at_rest = (Action.KEEP, Action.ABSENT)
        settled = (one for one in self.changes if not one.is_blocked and one.action not in at_rest)
        happening = (one for one in settled if one.action is not Action.ORPHAN or one.record)  # taken over, or let be
        records = {Address.parse(change.address): change.record for change in happening}
        return {address: record for address, record in records.items() if encode_key(address) not in by_step}

    @property
    def exit_code(self) -> int:
        """0 fine, 1 something needed is unknown or left out of this run, 4 refused or consent missing; 4 never hides
        1."""
        if any(change.action is Action.UNKNOWN for change in self.changes) or any(d.is_error for d in self.diagnostics):
            return 1
        if any(v.blocks for change in self.changes for v in change.verdicts):
            return 4
        return 1 if any(change.blocked_by for change in self.changes) else 0
