"""What a rule may read: what is wanted, what is live, who owns what, and the changes between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import date
from functools import lru_cache, wraps
from typing import NamedTuple, Protocol, TypeVar

from reconciler.changes.change import Change, FieldChange
from reconciler.changes.renaming import Recipe
from reconciler.changes.verdict import Other, Verdict
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import Diagnostic, SourceSpan
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Resource
from reconciler.model.topology import Allowed, Guarded
from reconciler.model.wire.questions import Facts
from reconciler.model.wire.snapshot import Snapshot, Target


class SubjectsRead(NamedTuple):
    """What a resource reads of a stream."""

    stream: str
    """The stream."""
    subjects: tuple[str, ...]
    """What it reads of it; `>` for everything."""


class AboutKind(Protocol):
    """What rules about several resources ask of a kind."""

    @property
    def backing(self) -> str | None: ...
    @property
    def section(self) -> str: ...
    @property
    def own_name(self) -> Callable[[str], str]: ...
    @property
    def reserves(self) -> str: ...
    @property
    def as_stream(self) -> Callable[[Resource], Config]: ...
    @property
    def deviations(self) -> Callable[[Address, Config, Snapshot], Config]: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def reads(self) -> Callable[[Address, Config], Iterable[SubjectsRead]]: ...
    @property
    def adrift(self) -> Callable[[Change, View], Iterable[FieldChange]]: ...
    def stream(self, address: Address) -> str | None: ...
    def record_bucket(self, address: Address) -> str | None: ...


class HouseRules(Protocol):
    """Policies that are ready to judge."""

    def judge(self, change: Change, view: View, needing: frozenset[str]) -> Sequence[Verdict]:
        """Judge a change by the policies that need to know no more than `needing`."""
        ...


def backed_by(stream: str, kinds: Mapping[str, AboutKind]) -> Iterator[Address]:
    """Every resource that a stream of this name may be."""
    for name, kind in kinds.items():
        if kind.backing is not None and stream.startswith(kind.backing):
            yield Address.of(name, stream.removeprefix(kind.backing))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What is wanted, what is live, who owns what, and the changes between; rules may read all of it."""

    snapshot: Snapshot
    topology: str = ""
    environment: str = ""
    own_entries: frozenset[SourceSpan] = frozenset()
    """Places of the entries of every list that the files hold for this environment alone."""
    source: str | None = None
    """Repository that the files come from, if known."""
    ledger_known: bool = True
    facts: Facts = field(default_factory=dict)
    """Questions that were asked since, with their answers."""
    desired: Mapping[Address, Resource] = field(default_factory=dict)
    """What will exist after apply, as far as it is declared."""
    live: Mapping[Address, Resource] = field(default_factory=dict)
    changes: Mapping[Address, Change] = field(default_factory=dict)
    ledger: Mapping[Address, Owned] = field(default_factory=dict)
    """Who owns what, in any topology."""
    stopped: tuple[str, ...] = ()
    """Topologies earlier in the same run whose plans nobody can carry out yet."""
    owners_named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The owners of streams that the files of other topologies of the same run name, by topology: what they name from now on."""
    unmanaged: tuple[Address, ...] = ()
    """Live, and neither declared nor owned by this topology: never touched."""
    guards: tuple[Guarded, ...] = ()
    """How many of a kind the files allow to delete or replace at once."""
    allow: tuple[Allowed, ...] = ()
    """Consent that the files give to many at once."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What was found on the way: records that cannot be understood, and entries that name nothing and look like a
    typo."""
    refusals: tuple[tuple[Address, Verdict], ...] = ()
    """What entries of `removed` and `forget` match and may not."""
    kinds: Mapping[str, AboutKind] = field(default_factory=dict)
    policies: HouseRules | None = None
    """The topology's policies."""
    today: date = date.min
    """The day on which consent ends, as far as it is known."""

    def is_shared(self, entry: SourceSpan | None) -> bool:
        """Does an entry at this place count in other environments too?"""
        return bool(self.environment) and entry not in self.own_entries

    @property
    def target(self) -> Target:
        """The server and account that the snapshot was taken of."""
        return self.snapshot.target

    def stream_of(self, address: Address) -> str | None:
        """The stream behind a resource; None if it has none of its own."""
        kind = self.kinds.get(address.kind)
        return kind.stream(address) if kind else None

    def is_stream(self, address: Address) -> bool:
        """Is it a stream, under any kind's name?"""
        kind = self.kinds.get(address.kind)
        return kind is not None and kind.backing is not None

    def backed_by(self, stream: str) -> Iterator[Address]:
        """Every resource that a stream of this name may be: both `stream/KV_x` and `kv_bucket/x` for `KV_x`."""
        return backed_by(stream, self.kinds)

    def change_of_stream(self, name: str) -> Change | None:
        """What becomes of a stream, under whichever kind's name a file declares it."""
        return next((change for address in self.backed_by(name) if (change := self.changes.get(address))), None)

    def children(self, parent: str, kind: str) -> list[Change]:
        """Changes of `kind` under the resource whose names begin with `parent`."""
        return self.by_parent(kind).get(parent, [])

    def by_parent(self, kind: str) -> Mapping[str, list[Change]]:
        """Changes of `kind`, by the first of their names: those of consumers by stream."""
        return _by_kind(self).get(kind, {})

    def owner_of(self, *address: str) -> str | None:
        """The other topology that owns this; None: nobody does, or this topology does."""
        owned = self.ledger.get(Address.of(*address))
        return owned.topology if owned and owned.topology != self.topology else None

    def others(self, addresses: Iterable[Address], of: Iterable[str | None] = ()) -> tuple[Other, ...]:
        """Addresses that do not belong to this topology: it neither owns nor declares them. Each with what it reads `of`
        these streams; of all, if it reads none of these."""
        owners, streams = {address: self.ledger.get(address) for address in addresses}, frozenset(of)
        return tuple(
            Other(str(address), owned.topology if owned else None, self.reads(address, streams))
            for address, owned in owners.items()
            if (owned.topology != self.topology if owned else address not in self.desired)
        )

    def reads(self, address: Address, of: Collection[str | None]) -> tuple[str, ...]:
        """The subjects that a resource reads of these streams; of all, if it reads none of these."""
        kind, live, owned = self.kinds.get(address.kind), self.live.get(address), self.ledger.get(address)
        config = live.config if live else owned.applied if owned else None
        all_reads = list(kind.reads(address, config)) if kind and config is not None else []
        wanted = [reads for reads in all_reads if reads.stream in of] or all_reads
        return tuple(dict.fromkeys(subject for reads in wanted for subject in reads.subjects))

    def protects(self, *address: str) -> bool:
        """Was this last applied with `protect: true`, by any topology?"""
        owned = self.ledger.get(Address.of(*address))
        return owned is not None and owned.protected


@lru_cache(maxsize=4)
def _by_kind(view: View) -> Mapping[str, Mapping[str, list[Change]]]:
    """Changes by their kind and the first of their names; sorted out once, since thousands of streams ask."""
    by_kind: dict[str, dict[str, list[Change]]] = {}
    for address, change in view.changes.items():
        by_kind.setdefault(address.kind, {}).setdefault(address.stream, []).append(change)
    return by_kind


T = TypeVar("T")


def once_per_view(function: Callable[[str, View], T]) -> Callable[[str, View], T]:
    """Compute each value of a function of a name and a view only once; of the newest views, which are compared by
    identity."""

    @lru_cache(maxsize=4)
    def values_of(_view: View) -> dict[str, T]:
        return {}

    @wraps(function)
    def computed_once(name: str, view: View) -> T:
        values = values_of(view)
        if name not in values:
            values[name] = function(name, view)
        return values[name]

    return computed_once
