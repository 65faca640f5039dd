"""Writer, reader and schema of one type agree: each key stands in all three, and what is wrong is named with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reconciler.cli.shared.schemas import SCHEMAS
from reconciler.journeys.saved.codec import plan_schema
from reconciler.model.diagnostic import CannotContinue
from reconciler.report.codec.json import plan_json
from tests.report.plans import everything
from tests.support.plans import plan_from_json

CONTRACTS = sorted(set(SCHEMAS) - {"topology", "fleet"})


def objects(schema: Any) -> list[dict[str, Any]]:
    """Every object that a schema describes key by key."""
    if isinstance(schema, list):
        return [one for part in schema for one in objects(part)]
    if not isinstance(schema, dict):
        return []
    inside = [one for part in schema.values() for one in objects(part)]
    return [schema, *inside] if schema.get("type") == "object" and "properties" in schema else inside


@pytest.mark.parametrize("name", CONTRACTS)
def test_every_key_of_every_contract_says_what_it_means(name: str) -> None:
    found = objects(json.loads(SCHEMAS[name]()))
    assert found
    assert [key for one in found for key, what in one["properties"].items() if not what.get("description")] == []


@pytest.mark.parametrize("name", CONTRACTS)
def test_no_object_of_any_contract_takes_an_unknown_key(name: str) -> None:
    assert all(one["additionalProperties"] is False for one in objects(json.loads(SCHEMAS[name]())))


def test_a_key_that_is_always_written_is_required() -> None:
    change = json.loads(plan_schema())["$defs"]["PlannedChange"]
    assert change["required"] == ["action", "address", "consequences", "fields", "verdicts"]


def damaged(**change: Any) -> str:
    data = json.loads(plan_json(everything()))
    data["changes"][0] |= change
    return json.dumps(data)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"action": "explode"}, r"changes\[0\]\.action: one of create, update"),
        ({"surprise": 1}, r"changes\[0\]\.surprise: unknown key"),
        ({"address": 7}, r"changes\[0\]\.address: text expected"),
        ({"fields": {}}, r"changes\[0\]\.fields: an array expected"),
        ({"span": {"file": "a.yaml"}}, r"changes\[0\]\.span\.line: missing"),
        ({"fields": [{"path": "max_age"}]}, r"changes\[0\]\.fields\[0\]\.class: missing"),
    ],
)
def test_a_damaged_plan_is_refused_with_the_place_of_the_damage(change: dict[str, Any], where: str) -> None:
    with pytest.raises(CannotContinue, match=where) as refused:
        plan_from_json(damaged(**change))
    assert refused.value.diagnostics[0].code == "XX901"
