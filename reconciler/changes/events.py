"""What happens while a plan runs, as data: the executor reports it, and reports and the journal read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json
from reconciler.model.shape import INLINE, UNWRITTEN, AddressText, As
from reconciler.model.wire.steps import Call, Step

REFUSALS = frozenset({"AP202", "AP203"})
"""Codes of a change that stopped because nobody consented to what it has become, not because somebody was in the
way."""
UNRECORDED = frozenset({"LE102", "LE103"})
"""Codes of what is applied and not remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReference:
    """What a report says of a step that the plan has in full."""

    id: str
    """The step's id in the plan."""
    address: AddressText
    """The resource that it serves."""
    call: Call
    """The request; a `gate` only looks and waits."""
    on: tuple[str, ...]
    """What it is done to: a stream, a stream and a consumer, or a bucket and a key."""

    @classmethod
    def of(cls, step: Step) -> StepReference:
        """Leave out what the step writes and what must hold before it."""
        return cls(id=step.id, address=step.address, call=step.call, on=step.on)


TheStep = Annotated[Step, INLINE, As(StepReference, StepReference.of)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A gate is not open yet."""

    step: Step
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Carried out, and the server echoed what was predicted."""

    step: TheStep
    echo: Annotated[Mapping[str, Json], UNWRITTEN] = field(default_factory=dict)
    """The server's answer, raw; for entries {}."""
    revision: Annotated[int | None, UNWRITTEN] = None
    """entry.*: the revision written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSince:
    """A value that somebody else changed after the plan was made; None is absence."""

    path: str
    """The field."""
    planned: Json = None
    """What the plan was made from, raw: durations in nanoseconds, sizes in bytes."""
    now: Json = None
    """What is live now, raw."""
    wanted: Json = None
    """What the plan wanted, raw."""
    info: Annotated[FieldInfo, UNWRITTEN] = field(default_factory=FieldInfo)
    goes: Annotated[bool, UNWRITTEN] = False
    """The step deletes the object, and wants no value of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Not carried out, or carried out with another result than predicted; the reason tells which."""

    step: TheStep
    reason: Diagnostic
    """What happened, and what to do."""
    nothing_done: bool
    """True: the server changed nothing, so a step that would undo it may run."""
    changed_since: tuple[ChangedSince, ...] = ()
    """What somebody else changed after the plan was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubt:
    """Sent, and nobody knows whether it happened: the answer was lost, and reading again did not tell."""

    step: TheStep
    reason: Diagnostic
    """What happened, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Not started, because a step before it did not succeed."""

    step: TheStep
    because: str
    """Why, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotNeeded:
    """An undoing step that was not needed."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStarted:
    """The run was stopped before this step's turn."""

    step: TheStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The last event of every run: each step under exactly one heading."""

    done: tuple[Done, ...] = ()
    failed: tuple[Failed, ...] = ()
    in_doubt: tuple[InDoubt, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    not_started: tuple[NotStarted, ...] = ()
    not_needed: tuple[NotNeeded, ...] = ()
    stopped: str | None = None
    """Why the run ended early; None if it ran to its end."""
    left_alone: tuple[Diagnostic, ...] = ()
    """Why changes without a step, such as adoptions, were not made."""
    warnings: tuple[Diagnostic, ...] = ()
    """What went wrong beside the steps: applied, but not recorded."""
    adopted: int = 0
    """Resources that were live as declared and are owned from now on."""
    recorded: int = 0
    """Owned resources that were live as declared and of which only the record was written again."""
    unrecorded: Annotated[tuple[str, ...], UNWRITTEN] = ()
    """Addresses of changes without steps whose records could not be written."""
    let_go: int = 0
    """Resources whose record was deleted, since they are no longer owned, gone, or owned by another name."""

    @property
    def went_wrong(self) -> tuple[Failed | InDoubt, ...]:
        """The steps with a reason why they are not done, or may not be."""
        return (*self.failed, *self.in_doubt)

    @property
    def is_recorded(self) -> bool:
        """The account remembers all that was applied."""
        return UNRECORDED.isdisjoint(warning.code for warning in self.warnings)

    @property
    def is_success(self) -> bool:
        """The run is complete, and no error stands among its warnings."""
        return self.is_complete and all(warning.severity is not Severity.ERROR for warning in self.warnings)

    @property
    def is_complete(self) -> bool:
        """The run came to its end and left nothing undone."""
        unfinished = self.failed or self.in_doubt or self.skipped or self.not_started or self.left_alone
        return self.stopped is None and not unfinished


StepOutcome = Done | Failed | InDoubt | Skipped | NotNeeded | NotStarted
"""The possible results of a step."""

Event = Started | Waiting | StepOutcome | Finished
