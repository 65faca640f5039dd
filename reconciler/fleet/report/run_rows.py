"""What a run saw, one record for each target and for each drifted object: rows of tables, as reports need them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Annotated, NamedTuple, Self

from reconciler.changes.change import FieldClass
from reconciler.fleet.tables.rows import UNCOMPARED, UNREACHABLE, UNREMEMBERED, TargetLabels, TargetName
from reconciler.journeys.drift.drift import Standing, what_happened_text
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json
from reconciler.model.shape import ALWAYS, INLINE, UNWRITTEN, As, Code, Like, Name, computed
from reconciler.model.shape import Count as Many


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTarget:
    """What a target holds. None: it could not be read, so nothing was counted."""

    name: Annotated[TargetName, Name("target")]
    labels: Annotated[TargetLabels, ALWAYS] = field(default_factory=dict)
    version: str = ""
    """The lowest version of nats-server among those that answered."""
    streams: Many | None = None
    """Its streams."""
    consumers: Many | None = None
    """Its consumers."""
    messages: Many | None = None
    """Messages in its streams."""
    bytes: Many | None = None
    """Bytes in its streams."""
    unknown: Many | None = None
    """How much of it could not be read, although it answered."""
    error: str = ""
    """Why it could not be read."""
    seconds: Annotated[float | None, UNWRITTEN] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many objects of a target have this standing."""

    target: str
    standing: str
    """A `Standing`, `unreachable`, `uncompared` or `unremembered`."""
    objects: int
    drifted: int = 0
    """Those among them that drifted, without an `ignore_drift` entry."""
    unrecorded: int = 0
    """Those among the drifted that differ from the file alone: no record tells what was applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    path: str
    """The field, with dots and indexes."""
    field_class: Annotated[str, ALWAYS, Name("class"), Like(enum=[*map(str, FieldClass)])]
    """Who changed it: the file (`config`), somebody outside (`drifted`), or `both`; `plain` where there is no record;
    `unfinished` where an apply left a value that the next one replaces."""
    info: Annotated[FieldInfo, INLINE] = field(default_factory=FieldInfo)
    applied: Json = None
    """The value that was last applied, raw: durations in nanoseconds, sizes in bytes. Always missing where the class is
    `plain`: nobody knows it."""
    live: Json = None
    """The value that is live, raw."""
    desired: Json = None
    """The value that the file says, raw."""
    ignored: str = ""
    """The reason of the `ignore_drift` entry that covers it."""
    drifted: Annotated[bool, UNWRITTEN] = True

    @property
    def cause(self) -> str:
        """What made it differ, as far as records tell."""
        return what_happened_text(FieldClass(self.field_class), drifted=self.drifted, ignored=self.ignored)

    @property
    @computed("drift", after="class")
    def is_drift(self) -> bool:
        """True: it counts as drift. The value drifted, without an `ignore_drift` entry."""
        return self.drifted and not self.ignored


class Objection(NamedTuple):
    """A finding that an apply would get."""

    code: Code
    """The rule."""
    message: str
    """What it says."""

    @classmethod
    def each(cls, pairs: Iterable[tuple[str, str]]) -> list[Objection]:
        """Return the findings of codes and messages."""
        return [cls(*pair) for pair in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftEntry:
    """One object on one target, with all of its fields that differ."""

    target: TargetName
    standing: Annotated[str, Like(enum=[*map(str, Standing), UNREACHABLE, UNCOMPARED, UNREMEMBERED])]
    """The state of the object, or of the target: a `Standing`, `unreachable`, `uncompared` or `unremembered`."""
    fields: Annotated[tuple[Field, ...], ALWAYS] = ()
    """Fields that differ."""
    verdicts: Annotated[tuple[tuple[str, str], ...], ALWAYS, As(tuple[Objection, ...], Objection.each)] = ()
    """How the rules judge setting it to the file's values."""
    topology: str = ""
    """Name of the topology."""
    address: str = ""
    """The object. A missing key: it is about the target."""
    team: str = ""
    """Label `team` of the resource, otherwise of the target."""
    reason: str = ""
    """Why, where the standing alone does not say it."""
    ignored: str = ""
    """The reason of the `ignore_drift` entry that covers it."""
    place: str = ""
    """Where the file declares it: `streams/orders.yaml:12`."""
    error: str = ""
    """Why nothing could be compared."""

    @property
    @computed("drift", after="standing")
    def is_drift(self) -> bool:
        """True: it counts as drift, as `drift` decides for one account."""
        is_whole = self.standing in _STANDINGS and Standing(self.standing).is_whole
        return (is_whole and not self.ignored) or any(row.is_drift for row in self.fields)

    @property
    def is_recorded(self) -> bool:
        """Does a record tell what was applied of anything in it that drifted?"""
        classes = {row.field_class for row in self.fields if row.is_drift}
        return classes != {str(FieldClass.PLAIN)}

    @property
    def is_of_target(self) -> bool:
        """Does it represent a target that could not be read or compared, and not one of its objects?"""
        return self.standing in (UNREACHABLE, UNCOMPARED)

    @property
    def equality_key(self) -> object:
        """The key of things that are equal on several targets."""
        fields = tuple(
            (field.path, repr(field.live), repr(field.desired), repr(field.applied), field.drifted, field.ignored)
            for field in self.fields
        )
        return (self.address, self.standing, self.place, self.reason, self.ignored, self.error, self.verdicts, fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFinding:
    """A finding about one target that is no verdict on a change."""

    target: TargetName
    severity: Severity
    """`error` fails the command; the others do not."""
    code: Code
    """The code, for `reconciler explain`."""
    name: str
    """The code's name."""
    message: str
    """What is wrong, in a sentence."""
    address: str = ""
    """The object that it is about."""
    place: str = ""
    """The place in the files."""
    fix: str = ""
    """What to do about it."""

    @classmethod
    def of(cls, target: str, diagnostic: Diagnostic) -> Self:
        """Return what a plan of this target says."""
        return cls(
            target=target, severity=diagnostic.severity, code=diagnostic.code, name=diagnostic.name,
            message=diagnostic.message, address=diagnostic.address or "", fix=diagnostic.fix or "",
            place=str(diagnostic.span) if diagnostic.span else "",
        )  # fmt: skip


_STANDINGS = frozenset(state.value for state in Standing)
