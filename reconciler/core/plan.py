"""A plan: what changes, what was judged about it, and the very steps that will run. Frozen data, to and from JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from reconciler.core.diagnostic import Diagnostic, SourceSpan
from reconciler.core.diff import Action, Change, Consequence, FieldChange
from reconciler.core.kind import Registry
from reconciler.core.records import Owned
from reconciler.core.resource import Address
from reconciler.core.rule import Outcome, Verdict
from reconciler.core.wire import Call, Step, Target

FORMAT = 1
"""Version of the JSON form; another number is refused, never guessed at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChange:
    """One line of the plan: a change with everything that was judged about it."""

    address: str
    action: Action
    fields: tuple[FieldChange, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    consequences: tuple[Consequence, ...] = ()
    span: SourceSpan | None = None
    reason: str = ""
    adopts: bool = False
    """The object is live and not yet remembered as ours; applying makes it ours."""
    blocked_by: str | None = None
    """Address of the blocked resource this depends on."""
    record: Owned | None = None
    """What to remember once this is applied; None: nothing, or forget."""

    @property
    def is_blocked(self) -> bool:
        return self.blocked_by is not None or self.action is Action.UNKNOWN or any(v.blocks for v in self.verdicts)

    @property
    def is_refused(self) -> bool:
        return any(verdict.refuses for verdict in self.verdicts)

    @property
    def needs_consent(self) -> bool:
        return not self.is_refused and any(verdict.blocks for verdict in self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be done, in the order a reviewer reads it; `steps` is in an order a server accepts."""

    topology: str
    target: Target
    changes: tuple[PlannedChange, ...] = ()
    """Everything that is not merely kept, ordered by address."""
    steps: tuple[Step, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    kept: int = 0
    """Resources already as declared."""
    unmanaged: tuple[str, ...] = ()
    read: Mapping[str, int] = field(default_factory=dict)
    """How many objects of each kind were read."""
    ledger_known: bool = True
    format: int = FORMAT

    @property
    def summary(self) -> dict[str, int]:
        """Counts by what becomes of resources; a refused change counts as refused only."""
        counts = dict.fromkeys(("create", "update", "replace", "delete", "adopt", "keep", "orphan", "unknown", "refused"), 0)
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
        return tuple(change for change in self.changes if change.is_blocked)

    @property
    def exit_code(self) -> int:
        """0 fine, 1 something needed is unknown, 4 refused or consent missing; 4 never hides 1."""
        if any(change.action is Action.UNKNOWN for change in self.changes) or any(d.is_error for d in self.diagnostics):
            return 1
        return 4 if any(v.blocks for change in self.changes for v in change.verdicts) else 0


def ordered_steps(changes: Mapping[Address, Change], registry: Registry, made: Mapping[Address, tuple[Step, ...]]) -> tuple[Step, ...]:
    """All steps as one graph: what a resource needs comes before it, what depends on it goes before it.

    Steps that several changes share (the bucket of the groups) have one id and stand once.
    """
    linked: dict[str, Step] = {}
    for address, steps in made.items():
        before = tuple(dict.fromkeys(_last_ids(_prerequisites(changes[address], changes, registry), made)))
        for step in steps:
            if step.id not in linked:
                linked[step.id] = _after(step, before)
    return tuple(linked.values())


def _prerequisites(change: Change, changes: Mapping[Address, Change], registry: Registry) -> Iterable[Address]:
    address, kind = change.address, registry.of(change.address)
    if change.action is Action.DELETE:
        # Whoever hangs on a deleted thing goes first.
        for other, dependant in changes.items():
            if dependant.action is Action.DELETE and dependant.live and address in _needed(dependant.address, registry):
                yield other
        return
    yield from _needed(address, registry)
    if change.desired:
        yield from kind.needs(change.desired)


def _needed(address: Address, registry: Registry) -> tuple[Address, ...]:
    within = registry.of(address).place.within
    return (Address(within, address.names[:-1]),) if within else ()


def _last_ids(addresses: Iterable[Address], made: Mapping[Address, tuple[Step, ...]]) -> Iterable[str]:
    return (step.id for address in addresses for step in made.get(address, ()) if step.undoes is None)


def _after(step: Step, before: tuple[str, ...]) -> Step:
    if not before or step.call in (Call.GATE_CONSUMERS_GONE,):
        return step
    return replace(step, after=tuple(dict.fromkeys((*before, *step.after))))


def blocked_dependants(changes: Mapping[Address, Change], blocked: set[Address], registry: Registry) -> dict[Address, Address]:
    """Changes that cannot go ahead because something they need is blocked → what blocks them."""
    found: dict[Address, Address] = {}
    for address, change in changes.items():
        if address in blocked or not change.action.writes:
            continue
        for needed in _prerequisites(change, changes, registry):
            culprit = needed if needed in blocked else found.get(needed)
            if culprit and not _exists(changes.get(needed)):
                found[address] = culprit
    return found


def _exists(change: Change | None) -> bool:
    """A blocked update of something live does not stop what merely needs it to exist."""
    return change is not None and change.live is not None and change.action is not Action.DELETE


def worst(verdicts: Iterable[Verdict]) -> Outcome:
    return max((verdict.outcome for verdict in verdicts), key=lambda outcome: outcome.rank, default=Outcome.ALLOWED)
