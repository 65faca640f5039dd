"""What `upgrade-check --format json` prints."""

from __future__ import annotations

from typing import Annotated

from reconciler.journeys.upgrade.check import Checked
from reconciler.model.dataclass import dataclass
from reconciler.model.shape import ALWAYS, INLINE, format_of
from reconciler.report.codec.json import json_of
from reconciler.report.codec.schema import published_schema

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeReport:
    """What another server version would make of an account, or of files."""

    format: Annotated[int, ALWAYS, format_of(FORMAT)] = FORMAT
    """Version of this contract. If you do not know the number, stop reading."""
    checked: Annotated[Checked, INLINE]


def upgrade_json(checked: Checked) -> str:
    """Return the findings in their order, and how many there are of each fate."""
    return json_of(UpgradeReport(checked=checked))


def upgrade_schema() -> str:
    """Return the JSON schema of what `upgrade-check --format json` prints, as text."""
    return published_schema("reconciler upgrade-check", UpgradeReport.__doc__ or "", UpgradeReport)
