"""Renders live resources as sections of a file: only what differs from the server's defaults, in units people read.

This serves both an account (`export`) and what another tool's files describe (`import`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from reconciler.changes.kind import Context, Kind, Registry
from reconciler.engine.pairing.canonical import recognised_resources
from reconciler.model.resource import Address, Config, Declared, Json, Resource
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.written import in_units

Chosen = Callable[[Address], bool]
Beside = Mapping[Address, Config]
"""Keys of a file that no server holds, or that are written even where the value is the default."""


class Writer:
    """Renders a snapshot into one file or several."""

    def __init__(
        self, snapshot: Snapshot, registry: Registry, beside: Beside | None = None, known: Collection[Address] = ()
    ) -> None:
        """Prepare a snapshot. `known` maps objects to the kind they are recorded as: a bucket that was changed by hand
        is still the bucket that its owner declares."""
        self.live = recognised_resources(snapshot, registry, known_as=known)
        self._snapshot, self._registry, self._beside = snapshot, registry, beside or {}
        self._entries: dict[Address, dict[str, Any]] = {}

    @property
    def addresses(self) -> list[Address]:
        """Return all addresses that a file can declare, in its order."""
        return sorted(address for address, resource in self.live.items() if self._is_sayable(address, resource))

    def _is_sayable(self, address: Address, resource: Resource) -> bool:
        """Can a file declare it? Not if it is broken, or a record left behind by a deleted stream. The stream of a
        bucket counts."""
        above = self._registry.parent_of(address)
        stands_on = self._registry.backed_by(above.name) if above else [address]
        return not resource.why_unreadable and any(holder in self.live for holder in stands_on)

    def sections(self, chosen: Chosen = lambda _: True) -> dict[str, Json]:
        """Return the top-level sections of a file; what belongs to a stream stands inside it."""
        wanted = [address for address in self.addresses if chosen(address)]
        by_section: dict[str, dict[str, Any]] = {}
        for kind in self._registry.within(None):
            own = {a.name: dict(self.entry(a)) for a in wanted if a.kind == kind.name}
            for address in wanted:
                if self._registry.of(address).place.within == kind.name:
                    self._nest(own, address)
            if own:
                by_section[kind.section] = own
        return by_section

    def declared_resource(self, address: Address) -> Declared:
        """Return the declaration as it will be read back from a file."""
        spec = self._registry.of(address).spec
        values = {name: value for name, value in self.entry(address).items() if name in spec.model_fields}
        return Declared(address=address, spec=spec.model_validate(values))

    def _nest(self, parents: dict[str, Any], address: Address) -> None:
        """Put a child under its stream. A stream that is not part of the file is written as `external`."""
        kind = self._registry.of(address)
        parent = parents.setdefault(address.stream, {"external": True})
        parent.setdefault(kind.section, {})[address.name] = self.entry(address)

    def entry(self, address: Address) -> Mapping[str, Json]:
        """Return what a file says of a live resource, without what is nested in it."""
        if address not in self._entries:
            kind, beside = self._registry.of(address), self._beside.get(address, {})
            context = Context(
                target=self._snapshot.target, parent=self._parent_stream(address), snapshot=self._snapshot
            )
            self._entries[address] = _entry(self.live[address], kind, context, beside)
        return self._entries[address]

    def _parent_stream(self, address: Address) -> Resource | None:
        """Return the stream of a consumer or group, which may be a bucket's."""
        above = self._registry.parent_of(address)
        holders = (self.live.get(holder) for holder in self._registry.backed_by(above.name)) if above else ()
        parent = next(filter(None, holders), None)
        return replace(parent, config=self._registry.of(parent.address).as_stream(parent)) if parent else None


def _entry(resource: Resource, kind: Kind, context: Context, beside: Config) -> dict[str, Any]:
    known, rendered = kind.spec.model_fields, kind.render(resource)
    values = {name: value for name, value in rendered.items() if name in known}
    values = _without_filled(values, resource, kind, context)
    if left := _beyond_words(rendered, values, resource, kind, context):
        values = {name: value for name, value in values.items() if name not in left} | {"unmanaged": left}
    shown = {
        name: in_units(value, kind.fields[name]) if name in kind.fields else value for name, value in values.items()
    }
    shown |= {name: value for name, value in beside.items() if name not in shown}
    return (dict([kind.place.tag]) if kind.place.tag else {}) | {name: shown[name] for name in known if name in shown}


def _beyond_words(
    rendered: Mapping[str, Json], values: Mapping[str, Json], resource: Resource, kind: Kind, context: Context
) -> list[str]:
    """Live fields that a file cannot express, and those that a server would fill in otherwise than they are, whatever the
    file says. They stay as found, because otherwise a plan of the export would change them."""
    settled = _settled_resource(values, resource, kind, context)
    strange = rendered.keys() - kind.spec.model_fields.keys()
    either = {*strange, *settled.filled}
    return sorted(name for name in either if settled.config.get(name) != rendered.get(name))


def _without_filled(values: dict[str, Json], resource: Resource, kind: Kind, context: Context) -> dict[str, Json]:
    """Leave out values that the server fills in by itself, as far as they are the stock default: any other value was
    chosen."""
    bare = {name: value for name, value in values.items() if name not in _fillable(kind, values, resource, context)}
    filled = _settled_resource(bare, resource, kind, context).filled
    return {name: value for name, value in values.items() if name not in filled or filled[name].value != value}


def _fillable(kind: Kind, values: Mapping[str, Json], resource: Resource, context: Context) -> frozenset[str]:
    required = {
        name: values[name] for name, field in kind.spec.model_fields.items() if field.is_required() and name in values
    }
    return frozenset(_settled_resource(required, resource, kind, context).filled)


def _settled_resource(values: Mapping[str, Json], resource: Resource, kind: Kind, context: Context) -> Resource:
    return kind.settle(Declared(address=resource.address, spec=kind.spec.model_validate(values)), context)
