"""Converts a topology to plain data that JSON can hold, and back: all declarations, without their places in the files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from reconciler.changes.kind import Registry
from reconciler.model.resource import Address, Declared
from reconciler.model.topology import (
    Allowance,
    Allowed,
    Expect,
    Forgotten,
    Guarded,
    IgnoreRule,
    Moved,
    Removed,
    Topology,
)

Data = Mapping[str, Any]


def declared_data(topology: Topology) -> dict[str, Any]:
    """Return all of a topology as data."""
    return {**header_data(topology), "resources": [resource_data(one) for one in topology.resources]}


def header_data(topology: Topology) -> dict[str, Any]:
    """Return everything except the resources."""
    ignored = [
        known({"address": one.address, "path": one.path, "reason": one.reason, "until": _iso(one.until)})
        for one in topology.ignore_drift
    ]
    return {
        "expect": topology.expect.model_dump(mode="json", exclude_unset=True),
        "removed": [
            known({"address": str(one.address), "reason": one.reason, "until": _iso(one.until)})
            for one in topology.removed
        ],
        "forget": [str(one.address) for one in topology.forget],
        "moved": [
            known({"from": str(one.origin), "to": str(one.address), "reason": one.reason, "until": _iso(one.until)})
            for one in topology.moved
        ],
        "guards": [
            known({"kind": one.kind, "upto": one.upto, "reason": one.reason, "until": _iso(one.until)})
            for one in topology.guards
        ],
        **({"allow": [_allowed_data(one) for one in topology.allow]} if topology.allow else {}),
        **({"ignore_drift": ignored} if ignored else {}),
    }


def _allowed_data(one: Allowed) -> dict[str, Any]:
    return {**one.consent.model_dump(mode="json", exclude_unset=True), "on": one.on}


def resource_data(one: Declared) -> dict[str, Any]:
    """Return the address of a resource and what its file says of it."""
    return {"address": str(one.address), "spec": spec_data(one)}


def spec_data(one: Declared) -> dict[str, Any]:
    """Return what the file says, and nothing else."""
    return one.spec.model_dump(mode="json", exclude_unset=True, by_alias=True)


def known(items: Data) -> dict[str, Any]:
    """Leave out items without a value: an absent value is a missing key."""
    return {key: value for key, value in items.items() if value is not None}


def _iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def topology_of(name: str, data: Data, registry: Registry, resources: tuple[Declared, ...] | None = None) -> Topology:
    """Rebuild the topology from data; `resources` are those to use where the data holds none. Raises KeyError,
    TypeError or ValueError (pydantic's too) for anything else."""
    return Topology(
        name=name,
        expect=Expect.model_validate(data["expect"]),
        resources=tuple(_resource(one, registry) for one in data["resources"]) if resources is None else resources,
        removed=tuple(_removed(one) for one in data["removed"]),
        forget=tuple(Forgotten(address=Address.parse(one)) for one in data["forget"]),
        moved=tuple(_moved(one) for one in data.get("moved", ())),
        guards=tuple(Guarded(**{**one, "until": _day(one)}) for one in data.get("guards", ())),
        allow=tuple(Allowance.model_validate(one).allowed() for one in data.get("allow", ())),
        ignore_drift=tuple(IgnoreRule(**{**one, "until": _day(one)}) for one in data.get("ignore_drift", ())),
    )


def _resource(data: Data, registry: Registry) -> Declared:
    address = Address.parse(data["address"])
    return Declared(address=address, spec=registry.of(address).spec.model_validate(data["spec"]))


def _removed(data: Data) -> Removed:
    return Removed(address=Address.parse(data["address"]), reason=data["reason"], until=_day(data))


def _moved(data: Data) -> Moved:
    origin, to = Address.parse(data["from"]), Address.parse(data["to"])
    return Moved(origin=origin, address=to, reason=data.get("reason"), until=_day(data))


def _day(data: Data) -> date | None:
    return date.fromisoformat(data["until"]) if "until" in data else None
