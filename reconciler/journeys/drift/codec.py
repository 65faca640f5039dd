"""Drift as JSON, a contract for tools (`schemas/drift.schema.json`)."""

from __future__ import annotations

from typing import Annotated

from reconciler.journeys.drift.drift import Drift, Written
from reconciler.model.dataclass import dataclass
from reconciler.model.shape import INLINE
from reconciler.report.codec.schema import published_schema


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftDocument:
    """What one look found, and what was done about it."""

    drift: Annotated[Drift, INLINE]
    accepted: tuple[Written, ...] | None = None
    """What `drift accept` wrote into the files."""


def drift_schema() -> str:
    """Return the JSON schema of what `drift --format json` prints, as text."""
    description = (
        "Fields and objects that differ from what was last applied, who changed them, and how much of the account is "
        "declared."
    )
    return published_schema("reconciler drift", description, DriftDocument)
