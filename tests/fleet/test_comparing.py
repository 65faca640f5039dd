"""Rows of one target in, rows of drift out: the very drift that the command tells, without any Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reconciler.fleet.accounts.rows import rows_of
from reconciler.fleet.drift.desired import _rows_for_target, rows_of_topology, topology_of_rows
from reconciler.fleet.drift.drift import drift_rows
from reconciler.fleet.tables.tables import CONFIGS, DESIRED, DRIFT
from reconciler.journeys.drift.look import look
from reconciler.kinds import REGISTRY
from reconciler.model.ledger.records import encode_key, encode_owned
from reconciler.model.run_options import Origin, RunOptions
from reconciler.model.topology import Topology
from reconciler.report.codec.json import json_text
from tests.support.topologies import TODAY, Scene, read, scene

AT = datetime(2026, 6, 1, 3, 0, tzinfo=UTC)
LABELS = {"env": "prod", "team": "platform"}
EACH = {"target": "eu-1", "run": "r1", "day": TODAY}
APPLIED = """
streams:
  ORDERS:
    subjects: [orders.>]
    max_age: 7d
    labels: {team: billing}
    consumers:
      billing: {ack_wait: 30s, max_deliver: 5}
  AUDIT: {subjects: [audit.>], storage: file}
  GONE: {subjects: [gone.>]}
"""
OUTSIDE = {
    "streams": {"ORDERS": {"config": {"max_age": 86_400_000_000_000}}, "AUDIT": {"config": {"storage": "memory"}}, "GONE": None},
    "consumers": {"ORDERS": {"billing": {"config": {"max_deliver": 9}}}},
}  # fmt: skip


def live(found: Scene) -> list[dict[str, Any]]:
    """Rows of SNAPSHOTS, with the ledger in its bucket."""
    records = {encode_key(a): json_text(encode_owned(owned)) for a, owned in found.ledger.items()}
    entries = [
        {"row": "entry", "scope": f"reconciler/{key}", "value": text.encode(), "revision": 1, "deleted": False}
        for key, text in records.items()
    ]
    return [{**dict.fromkeys(CONFIGS.names), **EACH, "at": AT, **row} for row in (*rows_of(found.snapshot), *entries)]


def wanted(topology: Topology) -> list[dict[str, Any]]:
    return [
        {**dict.fromkeys(DESIRED.names), **EACH, "labels": LABELS, **row} for row in rows_of_topology(topology, LABELS)
    ]


def rows(found: Scene) -> list[dict[str, Any]]:
    return [{**dict.fromkeys(DRIFT.names), **row} for row in drift_rows(live(found), wanted(found.desired))]


@pytest.fixture
def strayed(tmp_path: Path) -> list[dict[str, Any]]:
    return rows(scene(tmp_path, APPLIED, APPLIED, raw=OUTSIDE))


def of(found: list[dict[str, Any]], address: str) -> dict[str, Any]:
    (one,) = (row for row in found if row["address"] == address)
    return one


def test_a_field_that_strayed_is_a_row_with_all_its_values(strayed: list[dict[str, Any]]) -> None:
    one = of(strayed, "stream/ORDERS")
    told = {name: one[name] for name in ("standing", "path", "class", "live", "desired", "applied", "drifted")}
    assert told == {
        "standing": "changed", "path": "max_age", "class": "drifted", "live": "86400000000000",
        "desired": "604800000000000", "applied": "604800000000000", "drifted": True,
    }  # fmt: skip


def test_a_row_says_whose_it_is_and_where_that_was_looked_at(strayed: list[dict[str, Any]]) -> None:
    told = [of(strayed, "stream/ORDERS")[name] for name in ("target", "topology", "kind", "team", "run", "day", "at")]
    assert told == ["eu-1", "orders", "stream", "billing", "r1", TODAY, AT]


def test_without_a_label_of_its_own_the_team_is_the_targets(strayed: list[dict[str, Any]]) -> None:
    assert of(strayed, "stream/AUDIT")["team"] == "platform"


def test_rules_speak_about_putting_it_back(strayed: list[dict[str, Any]]) -> None:
    one = of(strayed, "stream/AUDIT")
    assert (one["path"], one["codes"], one["verdicts"][0]["name"]) == ("storage", ["ST101"], "storage-change")


def test_what_is_gone_is_a_row_without_a_path(strayed: list[dict[str, Any]]) -> None:
    one = of(strayed, "stream/GONE")
    assert (one["standing"], one["path"], one["drifted"], one["line"]) == ("missing", None, True, 10)


def test_the_look_itself_is_a_row_that_counts(strayed: list[dict[str, Any]]) -> None:
    (one,) = (row for row in strayed if row["standing"] == "compared")
    counted = {name: number for name, number in one["quantities"].items() if number}
    assert (one["address"], counted) == (None, {"missing": 1, "changed": 3})


def test_every_row_is_what_the_look_of_the_command_says(tmp_path: Path) -> None:
    found = scene(tmp_path, APPLIED.replace("7d", "9d"), APPLIED, raw=OUTSIDE)
    there = look(found.desired, scene_with_ledger(found), RunOptions(today=TODAY, origin=Origin())).drift
    said = {
        (item.address, one.path, one.change.field_class.value, tuple(v.code for v in one.verdicts))
        for item in there.items
        for one in item.fields
    }
    assert {
        (row["address"], row["path"], row["class"], tuple(row["codes"])) for row in rows(found) if row["path"]
    } == said


def scene_with_ledger(found: Scene) -> Any:
    from reconciler.fleet.accounts.rows import snapshot_of

    return snapshot_of(live(found))


def test_a_topology_goes_into_rows_and_comes_out_in_any_order(tmp_path: Path) -> None:
    topology = read(tmp_path, APPLIED + "ignore_drift: [{address: stream/*, path: max_age, reason: tried out}]\n")
    again = topology_of_rows(reversed(wanted(topology)), REGISTRY)
    assert {one.address: one.spec for one in again.resources} == {one.address: one.spec for one in topology.resources}
    assert [one.address.kind for one in again.resources] == ["stream", "stream", "stream", "consumer"]
    assert [(one.path, one.reason) for one in again.ignore_drift] == [("max_age", "tried out")]


def test_where_nobody_knows_what_was_applied_that_is_said_beside_what_differs_from_the_file(tmp_path: Path) -> None:
    found = scene(tmp_path, APPLIED, APPLIED, raw=OUTSIDE)
    unread = {
        **dict.fromkeys(CONFIGS.names),
        **EACH,
        "row": "unknown",
        "scope": "bucket/reconciler",
        "error": "no answer",
    }
    kept = [row for row in live(found) if not str(row["scope"]).startswith("reconciler")]
    told = [*drift_rows([*kept, unread], wanted(found.desired))]
    (whole,) = (row for row in told if row["standing"] == "unknown")
    assert "address" not in whole
    assert "compared with the files alone" in whole["reason"]
    assert "stream/ORDERS" in {row.get("address") for row in told}


def test_what_a_record_that_cannot_be_used_is_about_is_said_and_leaves_nothing_unread(tmp_path: Path) -> None:
    found = scene(tmp_path, APPLIED, APPLIED, raw=OUTSIDE)
    rubbish = [row | {"value": b"{"} if row["scope"] == "reconciler/owned.stream.GONE" else row for row in live(found)]
    told = [row for row in drift_rows(rubbish, wanted(found.desired)) if row["standing"] in ("unknown", "unremembered")]
    assert [(row["address"], row["standing"], row["codes"]) for row in told] == [
        ("stream/GONE", "unremembered", ["LE101"])
    ]


def unreachable(live: list[dict[str, Any]], wanted: list[dict[str, Any]], standing: str = "unreachable") -> str:
    (one,) = drift_rows(live, wanted)
    assert (one["standing"], one.get("address")) == (standing, None)
    return str(one["error"])


def uncompared(live: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> str:
    """Read, and all the same with nothing to compare it with."""
    return unreachable(live, wanted, "uncompared")


@pytest.fixture
def calm(tmp_path: Path) -> Scene:
    return scene(tmp_path, APPLIED, APPLIED)


def test_a_target_that_was_not_read_is_one_row_and_nothing_is_missing(calm: Scene) -> None:
    error = {**live(calm)[0], "row": "error", "json": None, "error": "nobody answers at nats://nowhere"}
    assert unreachable([error], wanted(calm.desired)) == "nobody answers at nats://nowhere"


def test_a_target_without_a_snapshot_is_one_row(calm: Scene) -> None:
    assert unreachable([], wanted(calm.desired)) == "this run took no snapshot of it"


def test_a_topology_that_could_not_be_rendered_is_one_row(calm: Scene) -> None:
    broken = {**wanted(calm.desired)[0], "json": None, "error": "t.yaml:3:1 XX515 `${region}` has no value"}
    assert "XX515" in uncompared(live(calm), [broken])


def test_another_place_than_the_files_are_for_is_one_row(tmp_path: Path, calm: Scene) -> None:
    elsewhere = read(tmp_path / "other", "expect: {account: BILLING}\nstreams: {S: {}}\n")
    assert "XX105" in uncompared(live(calm), wanted(elsewhere))


def test_rows_that_make_no_sense_end_the_look_at_their_target_alone(calm: Scene) -> None:
    torn = [{**row, "json": row["json"] and row["json"][:-3]} for row in live(calm)]
    assert unreachable(torn, wanted(calm.desired)).startswith("its snapshot cannot be read")


def test_a_target_that_is_to_hold_nothing_says_so_even_where_it_is_not_read(calm: Scene) -> None:
    (header,) = _rows_for_target({}, "", (), None, ())
    nothing = {**dict.fromkeys(DESIRED.names), **EACH, **header}
    assert [[row["standing"] for row in drift_rows(rows, [nothing])] for rows in (live(calm), [])] == [
        ["undeclared"]
    ] * 2


def test_rows_have_no_columns_of_their_own(strayed: list[dict[str, Any]], calm: Scene) -> None:
    def names(found: Iterator[Mapping[str, Any]]) -> set[str]:
        return {name for row in found for name in row}

    assert {name for row in strayed for name in row} <= set(DRIFT.names)
    assert names(rows_of_topology(calm.desired, {})) <= set(DESIRED.names)


def test_nobody_is_said_to_have_applied_what_no_record_tells(tmp_path: Path) -> None:
    """The bucket is gone, and only the file changed since."""
    lost = scene(tmp_path, APPLIED.replace("7d", "9d"), APPLIED, owner=None)
    told, (look, *_) = of(rows(lost), "stream/ORDERS"), rows(lost)
    assert {name: told[name] for name in ("standing", "path", "class", "live", "desired", "applied", "drifted")} == {
        "standing": "changed", "path": "max_age", "class": "plain", "live": "604800000000000",
        "desired": "777600000000000", "applied": None, "drifted": True,
    }  # fmt: skip
    assert (look["standing"], look["quantities"]["without_record"]) == ("compared", 3)


def test_what_a_look_says_besides_drift_stands_in_its_row(tmp_path: Path) -> None:
    """An entry that names nothing is no record that cannot be used."""
    said = APPLIED.replace("  GONE: {subjects: [gone.>]}\n", "") + (
        "ignore_drift: [{address: stream/ORDERS, reason: tried out, until: 2020-01-01}]\nforget: [stream/GONEE]\n"
    )
    found = rows(scene(tmp_path, said, APPLIED))
    told = {diagnostic["code"] for row in found for diagnostic in row["diagnostics"] or ()}
    assert told == {"DR102", "XX916"}
    assert [(row["standing"], row["address"]) for row in found] == [("compared", None), ("orphaned", "stream/GONE")]
