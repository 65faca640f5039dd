"""Drift without a server: what was applied, what somebody made of it since, and what the files say now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reconciler.journeys.drift.drift import Drift, FieldDrift, Item
from reconciler.journeys.drift.look import find_drift
from reconciler.journeys.drift.report import drift_document
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address
from reconciler.report.formats import FORMATS
from reconciler.report.words.paper import Paper
from tests.support.topologies import Scene, scene

APPLIED = """
streams:
  S: {subjects: [s.>], max_age: 7d, max_msgs: 5}
"""


def look(
    folder: Path,
    desired: str = APPLIED,
    applied: str | None = APPLIED,
    outside: Mapping[str, Any] | None = None,
    *,
    record: Mapping[str, Any] | None = None,
    known: bool = True,
    **more: Any,
) -> Drift:
    """`outside`: raw configuration that somebody wrote over stream S since; `record`: the same over what we remember of it."""
    raw = {"streams": {"S": {"config": outside}}} if outside else {}
    found = scene(folder, desired, applied, raw={**raw, **more.pop("raw", {})}, **more)
    return seen(with_record(found, record or {}) if record else found, known=known)


def with_record(found: Scene, more: Mapping[str, Any], address: str = "stream/S") -> Scene:
    ledger: dict[Address, Owned] = dict(found.ledger)
    ledger[Address.parse(address)] = replace(ledger[Address.parse(address)], **more)
    return replace(found, ledger=ledger)


def seen(found: Scene, *, known: bool = True) -> Drift:
    found = replace(found, ledger_known=known, ledger=found.ledger if known else {})
    return find_drift(found.desired, found.view(), found.options)


def item(found: Drift, address: str = "stream/S") -> Item:
    return next(one for one in found.items if one.address == address)


def field(found: Drift, path: str, address: str = "stream/S") -> FieldDrift:
    return next(one for one in item(found, address).fields if one.path == path)


def drift_text(drift: Drift, paper: Paper | None = None, **more: Any) -> str:
    return FORMATS["text"](drift_document(drift, paper=paper, **more))


def drift_json(drift: Drift) -> str:
    return FORMATS["json"](drift_document(drift))


def drift_findings(drift: Drift) -> tuple[Diagnostic, ...]:
    """What viewers of findings get."""
    return drift_document(drift).shown_in_parts
