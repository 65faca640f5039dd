"""Everything that the files of a topology declare, without its places in them, as JSON holds it."""

from __future__ import annotations

from typing import Annotated, Any, Self

from reconciler.changes.kind import Registry
from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Address, Config, Declared
from reconciler.model.shape import ALWAYS
from reconciler.model.topology import (
    Allowed,
    BulkEntry,
    Expect,
    Forgotten,
    Guarded,
    IgnoreRule,
    Moved,
    Removed,
    Topology,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyHeader:
    """All of a topology except its resources."""

    expect: Expect
    """As in the file."""
    removed: Annotated[tuple[Removed, ...], ALWAYS] = ()
    """As in the file."""
    forget: Annotated[tuple[Address, ...], ALWAYS] = ()
    """As in the file."""
    bulk: tuple[BulkEntry, ...] = ()
    """Entries of `removed` and `forget` that are about many."""
    moved: Annotated[tuple[Moved, ...], ALWAYS] = ()
    """As in the file."""
    guards: Annotated[tuple[Guarded, ...], ALWAYS] = ()
    """As in the file."""
    allow: tuple[Allowed, ...] = ()
    """As at the top level of the files."""
    ignore_drift: tuple[IgnoreRule, ...] = ()
    """As in the file."""

    @classmethod
    def of(cls, topology: Topology, **more: Any) -> Self:
        """Return what the topology says besides its resources; `more` is what a larger document holds."""
        return cls(
            expect=topology.expect, removed=topology.removed, forget=tuple(one.address for one in topology.forget),
            bulk=topology.bulk, moved=topology.moved, guards=topology.guards, allow=topology.allow,
            ignore_drift=topology.ignore_drift,
            **more,
        )  # fmt: skip

    def topology(self, name: str, resources: tuple[Declared, ...]) -> Topology:
        """Return the topology that says this and has these resources."""
        return Topology(
            name=name, resources=resources, expect=self.expect, removed=self.removed,
            forget=tuple(Forgotten(address=one) for one in self.forget), bulk=self.bulk, moved=self.moved, guards=self.guards,
            allow=self.allow, ignore_drift=self.ignore_drift,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource, and what its file says of it."""

    address: Address
    """The resource."""
    spec: Config
    """What the file says of it."""

    @classmethod
    def of(cls, one: Declared) -> ResourceSpec:
        """Return what the file says, and nothing else."""
        return cls(address=one.address, spec=one.spec.model_dump(mode="json", exclude_unset=True, by_alias=True))

    def declared(self, registry: Registry) -> Declared:
        """Return the resource. Raises ValueError (pydantic's) where its kind has no such fields."""
        return Declared(address=self.address, spec=registry.of(self.address).spec.model_validate(self.spec))
