"""What one look found: every object that differs from its declaration, field by field, and how much of the account is
declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Annotated

from reconciler.changes.change import Action, FieldChange, FieldClass
from reconciler.changes.verdict import Verdict
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Json
from reconciler.model.shape import (
    ALWAYS,
    INLINE,
    UNWRITTEN,
    AddressText,
    As,
    Count,
    Like,
    Name,
    computed,
    counts_by,
    format_of,
)
from reconciler.model.wire.snapshot import Target
from reconciler.server.wire.audit import Attribution, Author

FORMAT = 1


class Standing(StrEnum):
    """The state of a declared or owned object, worst first."""

    UNKNOWN = "unknown"
    FOREIGN = "foreign"
    """Another topology, or this one from another repository, is recorded as the owner."""
    MISSING = "missing"
    RECREATED = "recreated"
    """Somebody deleted and recreated the object, perhaps with the same configuration."""
    CHANGED = "changed"
    PENDING = "pending"
    """Only the file changed: an apply would make this change."""
    ORPHANED = "orphaned"
    """The object is owned here and live, but no longer declared."""

    @property
    def is_drift(self) -> bool:
        """Did somebody change fields, or the whole object, outside the files? A change that waits to be applied is no
        drift."""
        return self.is_whole or self is Standing.CHANGED

    @property
    def is_whole(self) -> bool:
        """Did the whole object drift, not just some of its fields?"""
        return self in (Standing.FOREIGN, Standing.MISSING, Standing.RECREATED)


COUNTED = {
    Standing.UNKNOWN: "Their live state could not be read.",
    Standing.FOREIGN: "Another topology or repository applied them last.",
    Standing.MISSING: "Declared and applied, but no longer live.",
    Standing.RECREATED: "Deleted and recreated by somebody else.",
    Standing.CHANGED: "Changed by somebody else.",
    Standing.PENDING: "Changed only by the file: an apply would make this change.",
    Standing.ORPHANED: "Recorded and live, but no longer declared.",
    "ignored": "Drift that an `ignore_drift` entry covers.",
    "in_sync": "Live as declared and as applied.",
    "drifted_fields": "Fields that drifted, of all objects.",
}


def codes_of(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the codes of the rules that judge setting something to the file's value."""
    return list(dict.fromkeys(verdict.code for verdict in verdicts))


UNREMEMBERED = "differs from the file; no record of an apply"


def what_happened_text(field_class: FieldClass, *, drifted: bool, ignored: str) -> str:
    """Say what made a field differ, as far as records tell; nobody is accused where there is no record."""
    if field_class is FieldClass.UNFINISHED:
        return "left unfinished by an apply; the next one completes it"
    if not drifted:
        return "pending: the file changed, and that is not applied yet"
    if ignored:
        return f"ignored: {ignored}"
    return UNREMEMBERED if field_class is FieldClass.PLAIN else "changed outside"


Codes = Annotated[tuple[Verdict, ...], Name("codes"), As(tuple[str, ...], codes_of)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDrift:
    """One field that differs from the file, with who changed it: the file, somebody outside, or both."""

    change: Annotated[FieldChange, INLINE]
    applied: Json = None
    """The value that was last applied, raw; without a record, the file's value."""
    drifted: Annotated[bool, UNWRITTEN] = True
    """Somebody changed the field outside the files; otherwise the change waits to be applied."""
    by: Annotated[Attribution | None, Author] = None
    """Who did it, as far as audit events show; absent: nobody was looked up."""
    ignored: str = ""
    """The reason of the `ignore_drift` entry that covers it."""
    verdicts: Codes = ()
    """Rules that object to setting it to the file's value."""
    span: Annotated[SourceSpan | None, UNWRITTEN] = None
    is_sayable: Annotated[bool, UNWRITTEN] = True
    """A file can express the field."""
    stays: bool = False
    """True: no apply puts it back. A plan says what to do about it."""

    @property
    def path(self) -> str:
        """Where in the object the field lies, with dots: `consumer_limits.max_ack_pending`."""
        return self.change.path

    @property
    @computed("drift")
    def is_drift(self) -> bool:
        """True: it counts as drift. It was changed outside, and that is not ignored."""
        return self.drifted and not self.ignored

    @property
    def cause(self) -> str:
        """What made it differ, as far as records tell."""
        return what_happened_text(self.change.field_class, drifted=self.drifted, ignored=self.ignored)

    @property
    def is_stuck(self) -> bool:
        """Does it count as drift that nothing puts back, whatever consent there is?"""
        return self.is_drift and (self.stays or any(verdict.is_final for verdict in self.verdicts))


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedBy:
    """Who applied an object last."""

    topology: str
    """The owner."""
    source: str | None = None
    """The repository."""
    git_revision: str | None = None
    """The git revision."""

    @classmethod
    def of(cls, owned: Owned) -> AppliedBy:
        """Take it from the record of the object."""
        return cls(topology=owned.topology, source=owned.source, git_revision=owned.git_revision)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One object that differs from its declaration."""

    address: AddressText
    """The object."""
    standing: Standing
    """The state of the object, worst first."""
    fields: Annotated[tuple[FieldDrift, ...], ALWAYS] = ()
    """Fields that differ."""
    reason: str = ""
    """Why, where the standing alone does not say it."""
    ignored: str = ""
    """The reason of the `ignore_drift` entry that covers it."""
    verdicts: Codes = ()
    """Rules that object to setting the object as a whole to what the file says."""
    is_ours: Annotated[bool, UNWRITTEN] = True
    """This topology may put it back; it may not where others own or manage the object."""
    span: SourceSpan | None = None
    """Where the file declares it."""
    owned: Annotated[Owned | None, Name("applied_by"), As(AppliedBy, AppliedBy.of)] = None
    """Who applied it last."""
    by: Annotated[Attribution | None, Author] = None
    """Who deleted it, or recreated it, as far as audit events show."""
    deleted_by: Annotated[Attribution | None, Author] = None
    """Who deleted the one before, where another is in its place and audit events show it."""

    @property
    @computed("lost", after="codes", default=())
    def lost(self) -> Annotated[tuple[str, ...], As(str, "; ".join)]:
        """What was lost with the object that somebody deleted, if another one is in its place."""
        is_another = self.standing is Standing.RECREATED
        return tuple(verdict.message for verdict in self.verdicts if is_another and verdict.is_about_the_gone)

    @property
    def is_only_recorded(self) -> bool:
        """Putting it back changes nothing that is live: only its record is updated."""
        return self.standing is Standing.RECREATED and not any(drifting.is_drift for drifting in self.fields)

    @property
    @computed("drift", after="standing")
    def is_drift(self) -> bool:
        """True: it counts as drift. Something drifted that no `ignore_drift` entry covers."""
        return (self.standing.is_whole and not self.ignored) or any(drifting.is_drift for drifting in self.fields)

    @property
    def is_restorable(self) -> bool:
        """May this topology put back the object, or some of its fields? A rule may still refuse it."""
        return self.is_ours and self.is_drift and any((self.standing.is_whole, *self._reachable))

    @property
    def _reachable(self) -> list[bool]:
        return [not drifting.stays for drifting in self.fields if drifting.is_drift]

    @property
    def has_drift_left(self) -> bool:
        """Does some of its drift stay after a restoration, because others own it or no apply changes it?"""
        return self.is_drift and not (self.is_ours and all(self._reachable))

    @property
    def refusals(self) -> list[str]:
        """Codes of the rules that refuse to put it back, whatever consent there is."""
        verdicts = (
            *self.verdicts,
            *(verdict for drifting in self.fields if drifting.is_drift for verdict in drifting.verdicts),
        )
        return list(dict.fromkeys(verdict.code for verdict in verdicts if verdict.is_final))

    @property
    def stuck(self) -> list[str]:
        """Drifted fields that nothing puts back, where the rest of the object can be."""
        final = [drifting.path for drifting in self.fields if drifting.is_stuck]
        is_whole = any(verdict.is_final for verdict in self.verdicts)
        return [] if is_whole or len(final) == sum(drifting.is_drift for drifting in self.fields) else final

    @property
    def is_all_ignored(self) -> bool:
        """Did something drift, and is all of it ignored?"""
        return self.standing.is_drift and not self.is_drift


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A field that `drift accept` wrote into the file."""

    address: AddressText
    """The object."""
    span: SourceSpan | None = None
    """The place in the file."""
    field: FieldDrift
    """The field that the file now has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How many live objects are declared."""

    here: Annotated[Count, ALWAYS] = 0
    """Objects that this topology declares."""
    elsewhere: Annotated[Count, ALWAYS] = 0
    """Objects that other topologies applied, as recorded."""
    extras: Annotated[tuple[AddressText, ...], ALWAYS] = ()
    """Objects that no topology declares."""

    @property
    @computed("percent")
    def percent(self) -> Annotated[int, Like(minimum=0, maximum=100)]:
        """The percentage of live objects that are declared, rounded down: 100 says that nothing is left out."""
        live = self.here + self.elsewhere + len(self.extras)
        return 100 * (self.here + self.elsewhere) // live if live else 100


def sorted_by_address(items: Sequence[Item]) -> list[Item]:
    """Return the items in the order in which tools find them."""
    return sorted(items, key=lambda item: item.address)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What one look found."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    topology: str
    """Name of the topology."""
    environment: str = ""
    """The environment that the files were read for."""
    target: Target
    """The account and the servers that answered."""
    coverage: Annotated[Coverage, ALWAYS] = field(default_factory=Coverage)
    """How many live objects are declared."""
    diagnostics: Annotated[tuple[Diagnostic, ...], ALWAYS] = ()
    """Findings besides the verdicts."""
    items: Annotated[tuple[Item, ...], ALWAYS, As(tuple[Item, ...], sorted_by_address)] = ()
    """Every object that differs from its declaration, by address."""
    read: Annotated[Mapping[str, int], ALWAYS] = field(default_factory=dict)
    """How many objects of each kind were read."""
    ledger_known: Annotated[bool, ALWAYS] = True
    """False: bucket `reconciler` could not be read, so it is unknown what was applied last."""
    in_sync: Annotated[int, UNWRITTEN] = 0
    unrecorded: Annotated[Count, Name("without_record")] = 0
    """How many objects are as declared while no record says that an apply made them so."""

    @property
    def drifted(self) -> tuple[Item, ...]:
        """The objects with drift that is not ignored; exit code 3 depends on them."""
        return tuple(item for item in self.items if item.is_drift)

    @property
    def counts(self) -> dict[str, int]:
        """Count the objects by state; an ignored object counts only as that."""
        counts = {**dict.fromkeys(map(str, Standing), 0), "ignored": 0, "in_sync": self.in_sync}
        for item in self.items:
            counts["ignored" if item.is_all_ignored else item.standing.value] += 1
        return counts

    @property
    @computed("summary", after="target")
    def summary(self) -> Annotated[dict[str, int], counts_by(COUNTED)]:
        """The number of objects in each state."""
        return {
            **self.counts,
            "drifted_fields": sum(drifting.is_drift for item in self.items for drifting in item.fields),
        }

    @property
    def is_partial(self) -> bool:
        """Could part of the account not be read?"""
        return any(item.standing is Standing.UNKNOWN for item in self.items)

    @property
    @computed("exit_code", after="target")
    def exit_code(self) -> Annotated[int, Like(enum=[0, 1, 3])]:
        """The exit code of the command: 1 where part of the account or the bucket `reconciler` could not be read, 3 where
        something drifted; 3 never hides 1."""
        has_error = any(diagnostic.is_error for diagnostic in self.diagnostics)
        if self.is_partial or has_error or not self.ledger_known:
            return 1
        return 3 if self.drifted else 0


AT_REST = (Action.KEEP, Action.ADOPT)
"""What a plan says of an object that is as declared."""
