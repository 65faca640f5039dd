"""A plan: what changes, the verdicts about it, the very steps that will run, and which streams lose something by them. Frozen
data, to and from JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated

from reconciler.changes.change import Action, Consequence, FieldChange
from reconciler.changes.verdict import Verdict
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.ledger.records import BUCKET, Owned, encode_key
from reconciler.model.resource import Address
from reconciler.model.shape import ALWAYS, UNWRITTEN, AddressText, Count, computed, counts_by, format_of
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.steps import Call, Step

FORMAT = 1
"""Version of the JSON form; another number is refused, never guessed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One line of the plan: a change with all verdicts about it."""

    address: AddressText
    """The resource."""
    action: Action
    """What happens to it."""
    fields: Annotated[tuple[FieldChange, ...], ALWAYS] = ()
    """Fields that differ."""
    verdicts: Annotated[tuple[Verdict, ...], ALWAYS] = ()
    """How the rules judge it."""
    consequences: Annotated[tuple[Consequence, ...], ALWAYS] = ()
    """What it does to messages and clients."""
    span: SourceSpan | None = None
    """Where the file declares it."""
    blocked_by: AddressText | None = None
    """A blocked resource that it depends on."""
    record: Owned | None = None
    """The record of it once this is applied; absent: none, or it is forgotten."""
    reason: str = ""
    """Why, where the action alone does not say it."""
    counterpart: AddressText | None = None
    """Of an orphan: what is to be created, and seems to be this object under another name. The record of a rename tells it,
    or an equal configuration."""
    adopts: bool = False
    """True: it is live and not recorded as owned yet, and an apply makes this topology its owner."""

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


ALWAYS_COUNTED = {
    "create": "To be created.",
    "update": "To be changed in place.",
    "replace": "To be deleted and recreated with their position.",
    "delete": "To be deleted.",
    "adopt": "Live as declared, and to be recorded as owned.",
    "keep": "As declared, with nothing to do.",
    "orphan": "Owned and live, but no longer declared; they are kept.",
    "unknown": "Their live state could not be read; nothing is done.",
    "refused": "Refused, whatever the change is.",
}
COUNTED = {
    "forget": "No longer managed; the objects stay.",
    "absent": "Neither live nor wanted, for example an entry in `removed:` whose object is gone.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What apply would do, in the order a reviewer reads it; `steps` is in an order that a server accepts."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    topology: str
    """Name of the topology."""
    environment: str = ""
    """The environment that the files were read for."""
    target: Target
    """The account and the servers that answered."""
    diagnostics: Annotated[tuple[Diagnostic, ...], ALWAYS] = ()
    """Findings besides the verdicts."""
    changes: Annotated[tuple[PlannedChange, ...], ALWAYS] = ()
    """Every resource that is not merely kept, by address."""
    steps: Annotated[tuple[Step, ...], ALWAYS] = ()
    """What an apply would send, in an order that servers accept."""
    kept: Annotated[int, UNWRITTEN] = 0
    """Resources already as declared."""
    unmanaged: Annotated[tuple[AddressText, ...], ALWAYS] = ()
    """What is live, but neither declared nor owned by this topology."""
    read: Annotated[Mapping[str, int], ALWAYS] = field(default_factory=dict)
    """How many objects of each kind were read."""
    after: str | None = None
    """The topology that is to be applied before: the plan starts from what the plan of that one leaves."""
    hidden: Annotated[Count, ALWAYS] = 0
    """Changes that this run leaves out: those that `--only` and `--exclude` do not select, and in a restoration those that wait
    to be applied."""
    ledger_known: Annotated[bool, ALWAYS] = True
    """False: bucket `reconciler` could not be read, so it is unknown what was applied last."""

    @property
    @computed("summary", after="target")
    def summary(self) -> Annotated[dict[str, int], counts_by(ALWAYS_COUNTED, COUNTED)]:
        """How many resources there are of each action; a refused change counts as refused only."""
        counts = dict.fromkeys(ALWAYS_COUNTED, 0)
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
        settled = (planned for planned in self.changes if not planned.is_blocked and planned.action not in at_rest)
        happening = (
            planned for planned in settled if planned.action is not Action.ORPHAN or planned.record
        )  # taken over, or let be
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


REMOVES = frozenset({Call.STREAM_DELETE, Call.CONSUMER_DELETE})


def is_at_stake(plan: Plan) -> bool:
    """Does this plan delete or replace anything, or do something that needed consent?"""
    return bool(streams_at_stake(plan)) or any(
        verdict.consented is not None for change in plan.changes for verdict in change.verdicts
    )


def streams_at_stake(plan: Plan) -> list[str]:
    """In order, each once. A step that only recreates something after another was refused is no loss by itself."""
    consented = {
        change.address for change in plan.changes if any(verdict.consented is not None for verdict in change.verdicts)
    }
    steps = (step for step in plan.steps if step.undoes is None)
    return sorted({name for step in steps for name in _streams_of_step(step, is_consented=step.address in consented)})


def _streams_of_step(step: Step, *, is_consented: bool) -> Iterator[str]:
    if step.call in REMOVES or (is_consented and step.call is Call.STREAM_UPDATE):
        yield step.on[0]
    elif is_consented and step.call is Call.CONSUMER_UPDATE:
        yield Address.parse(step.address).stream
    elif removes(step):
        yield f"KV_{step.on[0]}"  # a group's record


def removes(step: Step) -> bool:
    """Does the step delete an object, or the record of a group? The records of reconciler's own bucket do not count."""
    return step.call in REMOVES or (step.call is Call.ENTRY_DELETE and step.on[0] != BUCKET)
