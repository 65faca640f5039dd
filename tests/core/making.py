"""Small resources, changes and kinds for tests of the engine: no YAML, no NATS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reconciler.changes.change import Change
from reconciler.changes.diff import resource_change
from reconciler.model.fields import FieldInfo
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address, Config, Consent, Resource, ServerDefault, Terms

FIELDS: Mapping[str, FieldInfo] = {
    "subjects": FieldInfo(unit="list", ordered=False),
    "backoff": FieldInfo(unit="list"),
    "placement": FieldInfo(unit="mapping", nested_unordered=("tags",)),
    "max_age": FieldInfo(unit="duration", default=0),
}
ORDERS = Address.of("stream", "ORDERS")


def wanted(config: Config, *, filled: Mapping[str, ServerDefault] | None = None, **terms: Any) -> Resource:
    filled = filled or {}
    stock = {name: one.value for name, one in filled.items() if one.value is not None}
    return Resource(address=ORDERS, config={**config, **stock}, filled=filled, terms=Terms(**terms))


def found(config: Config) -> Resource:
    return Resource(address=ORDERS, config=config)


def applied(fields: Config, *left: str, filled: Config | None = None, expected: Config | None = None) -> Owned:
    return Owned(topology="orders", fields=fields, left=left, filled=filled or {}, expected=expected or {})


def compared(desired: Resource, live: Config | None, owned: Owned | None = None) -> Change:
    return resource_change(desired, found(live) if live is not None else None, owned, FIELDS)


def consent(code: str = "ST101", **said: Any) -> Consent:
    return Consent(code=code, reason="rebuilt nightly", **{"to": "memory", **said})
