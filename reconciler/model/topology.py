"""The desired state of one topology, as loaded from its files: resources, removals and what it expects of its target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import SourceSpan
from reconciler.model.policy import PlacedPolicy
from reconciler.model.resource import Address, Consent, Declared, Spec, Where, nowhere, text_like
from reconciler.model.selection import selects
from reconciler.model.shape import INLINE, UNWRITTEN, Name, Position
from reconciler.model.wire.version import Version

VERSION = r"^v?[0-9]+(\.[0-9]+)*([-+].*)?$"


def _version(text: str) -> str:
    Version.parse(text)
    return text


class Expect(Spec):
    """Refuse to work against the wrong place."""

    cluster: str | None = None
    """Name of the cluster that the account must be in. Left out: any."""
    domain: str | None = None
    """JetStream domain that must answer. Left out: any."""
    account: str | None = None
    """Name or public key of the account that must answer. In operator mode, servers before 2.12 tell only the key.
    Left out: any."""
    min_server: Annotated[str, AfterValidator(_version), text_like(VERSION, 'for example 2.12.8 or "2.12"')] | None = (
        None
    )
    """Oldest version of nats-server that this topology is written for, for example `2.12`; checks without a server
    judge for it. Left out: the newest that is known."""


ADDRESS, HOW_TO_ADDRESS = "^[^/]+(/[^/]+)+$", "kind/name, for example stream/ORDERS"
AddressText = Annotated[str, text_like(ADDRESS, HOW_TO_ADDRESS)]
"""An address, as it is written."""


class Removal(Spec):
    """A deletion, written down so that a reviewer sees it."""

    address: AddressText
    """What to delete, for example `stream/OLD`."""
    reason: str = Field(min_length=1)
    """Why, in words that a reviewer can judge."""
    until: date | None = None
    """The last day on which this deletes anything. Left out: it never ends."""


MATCHES, HOW_TO_MATCH = "[/=]", "an address, for example stream/TENANT-*, or a label, for example team=orders"
MatchesText = Annotated[str, text_like(MATCHES, HOW_TO_MATCH)]
"""A pattern of addresses, or a label, as it is written."""


class BulkRemoval(Spec):
    """Deletions that one entry writes down: of everything that a pattern or a label matches."""

    on: MatchesText
    """What to delete: a pattern of addresses, for example `stream/TENANT-7*`, or a label, for example `tenant=t7`. It
    matches what this topology owns and its files no longer declare, and nothing else."""
    upto: int = Field(ge=1)
    """How many objects the entry may match. If it matches more, nothing that it matches is deleted."""
    reason: str = Field(min_length=1)
    """Why, in words that a reviewer can judge."""
    until: date | None = None
    """The last day on which this deletes anything. Left out: it never ends."""


class BulkForget(Spec):
    """Objects that one entry gives up: everything that a pattern or a label matches."""

    on: MatchesText
    """What to give up: a pattern of addresses, for example `stream/TENANT-7*`, or a label, for example `tenant=t7`. It
    matches what this topology owns and its files no longer declare, and nothing else."""
    upto: int = Field(ge=1)
    """How many objects the entry may match. If it matches more, nothing that it matches is given up."""


class Guard(Spec):
    """More of one kind may go at once than usual, written down so that a reviewer sees it."""

    kind: str
    """The kind of resource, for example `stream`."""
    upto: int = Field(ge=1)
    """How many of them one apply may delete or replace."""
    reason: str = Field(min_length=1)
    """Why, in words that a reviewer can judge."""
    until: date | None = None
    """The last day on which this counts. Left out: it never ends."""


class Move(Spec):
    """Something goes by another name than before."""

    from_: AddressText = Field(alias="from")
    """The address until now, for example `consumer/ORDERS/old`, or `topology/OLD` for everything that topology owns."""
    to: AddressText
    """The address from now on."""
    reason: str | None = Field(default=None, min_length=1)
    """Why, in words that a reviewer can judge. Where no server can rename, it is the consent to recreate the
    object. Left out: no such consent."""
    until: date | None = None
    """The last day on which this moves anything. Left out: it never ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """A `removed:` entry with its place."""

    address: Address
    """What to delete."""
    reason: str
    """Why, as the file says it."""
    until: date | None = None
    """The last day on which it counts."""
    where: Annotated[Where, UNWRITTEN] = nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A `forget:` entry: stop managing, keep the object."""

    address: Address
    where: Where = nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkEntry:
    """An entry of `removed:` or `forget:` that is about many, with its place."""

    key: Literal["removed", "forget"]
    """The list that it stands in."""
    on: str
    """What it matches: a pattern of addresses, or a label."""
    upto: Position
    """How many objects it may match."""
    reason: str | None = None
    """Why, as the file says it."""
    until: date | None = None
    """The last day on which it counts."""
    where: Annotated[Where, UNWRITTEN] = nowhere

    def selects(self, address: Address, labels: Mapping[str, str]) -> bool:
        """Does the entry match a resource of this address, with these labels?"""
        return selects(self.on, address, labels)


class Ignored(Spec):
    """Drift that this topology accepts, written down so that a reviewer sees it."""

    address: str
    """An address, or a pattern of addresses, for example `stream/ORDERS` or `stream/*`."""
    path: str | None = None
    """Which field, for example `placement` or `metadata.team`. Left out: everything about the object."""
    reason: str = Field(min_length=1)
    """Why, in words that a reviewer can judge."""
    until: date | None = None
    """The last day on which this is ignored. Left out: it never ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreRule:
    """An `ignore_drift:` entry with its place."""

    address: str
    """An address, or a pattern."""
    path: str | None = None
    """The field; absent: everything."""
    reason: str
    """Why, as the file says it."""
    until: date | None = None
    """The last day on which it counts."""
    where: Annotated[Where, UNWRITTEN] = nowhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A `moved:` entry with its place."""

    origin: Annotated[Address, Name("from")]
    """The address before."""
    address: Annotated[Address, Name("to")]
    """The address from now on."""
    reason: str | None = None
    """Why, as the file says it."""
    until: date | None = None
    """The last day on which it counts."""
    where: Annotated[Where, UNWRITTEN] = nowhere

    @property
    def is_of_topology(self) -> bool:
        """Does the owner itself have another name?"""
        return self.address.kind == TOPOLOGY


TOPOLOGY = "topology"
"""Begins the address of an owner in `moved:`, as `stream` begins that of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A `guards:` entry with its place."""

    kind: str
    """The kind."""
    upto: Position
    """How many of them may be deleted or replaced."""
    reason: str
    """Why, as the file says it."""
    until: date | None = None
    """The last day on which it counts."""
    where: Annotated[Where, UNWRITTEN] = nowhere


class Allowance(Consent):
    """Permission for one harmful change of many resources, written down once."""

    on: MatchesText
    """Of which resources: a pattern of addresses, for example `stream/TENANT-*`, or a label, for example
    `team=orders`."""

    def with_place(self, where: Where = nowhere) -> Allowed:
        """The consent with the place of its entry; `on` is not part of it."""
        consent = self.model_dump(exclude={"on"}, exclude_unset=True)
        return Allowed(consent=Consent.model_validate(consent), on=self.on, where=where)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """An `allow:` entry at the top level of the files, with its place."""

    consent: Annotated[Consent, INLINE]
    """What each of them is given."""
    on: str
    """Of which resources: a pattern of addresses, or a label."""
    where: Annotated[Where, UNWRITTEN] = nowhere

    def selects(self, address: Address, labels: Mapping[str, str]) -> bool:
        """Is this resource one of those that the consent is given to?"""
        return selects(self.on, address, labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Everything one owner declares; parents stand before their children."""

    name: str
    expect: Expect = field(default_factory=Expect)
    resources: tuple[Declared, ...] = ()
    removed: tuple[Removed, ...] = ()
    forget: tuple[Forgotten, ...] = ()
    bulk: tuple[BulkEntry, ...] = ()
    """Entries that are about many: those of `removed`, then those of `forget`."""
    moved: tuple[Moved, ...] = ()
    guards: tuple[Guarded, ...] = ()
    allow: tuple[Allowed, ...] = ()
    ignore_drift: tuple[IgnoreRule, ...] = ()
    policies: tuple[PlacedPolicy, ...] = ()
    """House rules, from these files and from those that they name."""
    where: Where = nowhere
    """Places of top-level paths such as `expect.min_server`."""
    files: tuple[str, ...] = ()
    environment: str = ""
    """The environment that they were read for; empty where there are none."""
    leads_to: str = ""
    """Where that environment leads, in words: `context prod`."""
    own_entries: frozenset[SourceSpan] = frozenset()
    """Places of the entries of every list that the files hold for that environment alone."""
