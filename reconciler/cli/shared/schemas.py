"""Every JSON Schema that `schemas/` publishes, by the name of its file."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from reconciler.documents.schema.topology import topology_text
from reconciler.fleet.accounts.fleet_file import fleet_file_schema
from reconciler.fleet.report.json import COMMANDS, fleet_plan_schema, fleet_schema
from reconciler.journeys.drift.codec import drift_schema
from reconciler.journeys.drift.watch_text import watch_schema
from reconciler.journeys.groups.json import groups_schema
from reconciler.journeys.history.json import history_schema
from reconciler.journeys.permissions.json import permissions_schema
from reconciler.journeys.rehearse.json import rehearsal_schema
from reconciler.journeys.saved.codec import plan_schema
from reconciler.journeys.upgrade.json import upgrade_schema
from reconciler.kinds import REGISTRY
from reconciler.report.codec.json import findings_schema, reports_schema
from reconciler.report.codec.outcome_json import outcome_schema


def fleet_file_text() -> str:
    """Return the JSON Schema of fleet.yaml."""
    return json.dumps(fleet_file_schema(), indent=2, ensure_ascii=False) + "\n"


_OF_ONE_TOPOLOGY: dict[str, Callable[[], str]] = {
    "plan": plan_schema, "apply": outcome_schema, "drift": drift_schema, "findings": findings_schema,
}  # fmt: skip
SCHEMAS: dict[str, Callable[[], str]] = {
    "topology": partial(topology_text, REGISTRY),
    **_OF_ONE_TOPOLOGY,
    "drift-watch": watch_schema,
    "reports": partial(reports_schema, _OF_ONE_TOPOLOGY),
    "groups": groups_schema,
    "rehearse": rehearsal_schema,
    "history": history_schema,
    "upgrade-check": upgrade_schema,
    "permissions": permissions_schema,
    "fleet": fleet_file_text,
    "fleet-plan": fleet_plan_schema,
    **{f"fleet-{command}": partial(fleet_schema, command) for command in COMMANDS},
}
