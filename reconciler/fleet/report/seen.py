"""What a run saw, one record for each target and for each drifted object: rows of tables, as reports need them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.journeys.drift.drift import Standing
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Json

UNREACHABLE = "unreachable"
"""The standing of a target that could not be read."""
UNREMEMBERED = "unremembered"
"""The standing of an object of which only one thing is known: its record cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTarget:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    version: str = ""
    streams: int = 0
    consumers: int = 0
    messages: int = 0
    bytes: int = 0
    unknown: int = 0
    """Scopes that could not be read, although the target answered."""
    seconds: float | None = None
    error: str = ""
    """Why it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many objects of a target have this standing."""

    target: str
    standing: str
    """A `Standing`, `unreachable` or `unremembered`."""
    objects: int
    drifted: int = 0
    """Those among them that drifted, without an `ignore_drift` entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    path: str
    field_class: str = ""
    live: Json = None
    desired: Json = None
    applied: Json = None
    drifted: bool = True
    ignored: str = ""
    info: FieldInfo = field(default_factory=FieldInfo)

    @property
    def counts(self) -> bool:
        """Did the value drift, without an `ignore_drift` entry?"""
        return self.drifted and not self.ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class StrayedObject:
    """One object on one target, with all of its fields that differ."""

    target: str
    standing: str
    """A `Standing`, `unreachable` or `unremembered`."""
    address: str = ""
    topology: str = ""
    team: str = ""
    fields: tuple[Field, ...] = ()
    reason: str = ""
    ignored: str = ""
    verdicts: tuple[tuple[str, str], ...] = ()
    """Code and message of each finding that an apply would get."""
    place: str = ""
    """`streams/orders.yaml:12`"""
    error: str = ""

    @property
    def is_drift(self) -> bool:
        """Is it drift, as `drift` decides for one account?"""
        whole = self.standing in _STANDINGS and Standing(self.standing).is_whole
        return (whole and not self.ignored) or any(one.counts for one in self.fields)

    @property
    def is_unread(self) -> bool:
        """Does it represent a target that could not be read, and not one of its objects?"""
        return self.standing == UNREACHABLE

    @property
    def sameness(self) -> object:
        """The key of things that are equal on several targets."""
        fields = tuple(
            (one.path, repr(one.live), repr(one.desired), repr(one.applied), one.drifted, one.ignored)
            for one in self.fields
        )
        return (self.address, self.standing, self.reason, self.ignored, self.error, self.verdicts, fields)


_STANDINGS = frozenset(one.value for one in Standing)
