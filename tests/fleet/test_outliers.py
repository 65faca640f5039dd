"""What is otherwise than on most of a target's peers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reconciler.fleet.accounts.rows import rows_of
from reconciler.fleet.accounts.targets import Fleet, FleetTarget
from reconciler.fleet.drift.outliers import objects, objects_of, outliers, with_peers
from reconciler.fleet.runs.fleet_run import FleetRun
from reconciler.fleet.runs.looks import find_outliers
from reconciler.fleet.tables.store import store
from reconciler.fleet.tables.tables import OUTLIERS, SNAPSHOTS
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.connect.settings import Settings
from tests.fleet.drift_rows import Row, night
from tests.fleet.snapshot_rows import frame
from tests.support.topologies import target as place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

RAW = {"subjects": ["orders.>"], "retention": "limits", "storage": "file", "max_age": 0, "num_replicas": 1}


def holding(
    target: str, labels: Mapping[str, str] | None, unknown: str | None = None, **streams: Mapping[str, Any]
) -> list[Row]:
    """Rows of one target that holds these streams."""
    items = {
        name: {"config": {"name": name, **RAW, **config}, "created": "2026", "state": {"consumer_count": 0}}
        for name, config in streams.items()
    }
    snapshot = Snapshot(target=place(), streams=items, unknown={unknown: "no answer"} if unknown else {})
    around = {"run": "r1", "day": night(0).date(), "target": target, "labels": labels, "at": night(0)}
    return [{**dict.fromkeys(SNAPSHOTS.names), **around, **row} for row in rows_of(snapshot)]


def unread(target: str, labels: Mapping[str, str]) -> list[Row]:
    around = {"run": "r1", "day": night(0).date(), "target": target, "labels": labels}
    return [{**dict.fromkeys(SNAPSHOTS.names), **around, "row": "error", "error": "no answer within 5s"}]


def garbled(target: str, labels: Mapping[str, str]) -> list[Row]:
    """One that was read, and of which a row is not what it was."""
    return [
        {**row, "json": "{" if row["row"] == "stream" else row["json"]} for row in holding(target, labels, ORDERS={})
    ]


PROD, TEST = {"env": "prod", "role": "orders"}, {"env": "test", "role": "orders"}
DAY_NS = 86_400_000_000_000

FLEET = [
    *holding("a", PROD, ORDERS={"max_age": DAY_NS, "metadata": {"team": "x"}}, AUDIT={}),
    *holding("b", PROD, ORDERS={"max_age": DAY_NS, "subjects": ["b", "a"]}, AUDIT={}),
    *holding("c", PROD, ORDERS={"max_age": 7 * DAY_NS, "subjects": ["a", "b"]}, AUDIT={}, OWN={}),
    *holding("d", PROD, ORDERS={"subjects": ["a", "b"], "max_age": DAY_NS}),
    *holding("e", PROD, unknown="stream/AUDIT", ORDERS={"max_age": DAY_NS, "subjects": ["a", "b"]}),
    *unread("f", PROD),
    *garbled("g", PROD),
    *holding("t1", TEST, ORDERS={"max_age": 1}),
    *holding("t2", TEST, ORDERS={}),
    *holding("u", None, ORDERS={}),
]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> list[tuple[Any, ...]]:
    rows = outliers(objects(frame(spark, FLEET)))
    assert rows.columns == OUTLIERS.names
    names = ("target", "what", "address", "path", "value", "usual", "holders", "among")
    assert {row.peers for row in rows.select("peers").collect()} == {"env=prod, role=orders"}
    return sorted((tuple(row) for row in rows.select(*names).collect()), key=str)


def test_one_value_of_many_stands_out_and_so_does_what_only_one_has_or_lacks(found: list[tuple[Any, ...]]) -> None:
    day = str(DAY_NS)
    assert found == [
        ("a", "differs", "stream/ORDERS", "metadata.team", '"x"', None, 4, 5),
        ("a", "differs", "stream/ORDERS", "subjects", '["orders.>"]', '["a","b"]', 4, 5),
        ("c", "differs", "stream/ORDERS", "max_age", str(7 * DAY_NS), day, 4, 5),
        ("c", "extra", "stream/OWN", None, None, None, 3, 4),
        ("d", "missing", "stream/AUDIT", None, None, None, 3, 4),
    ]


def test_labels_can_be_chosen_that_make_peers(spark: SparkSession) -> None:
    rows = outliers(objects(frame(spark, FLEET)), by=["role"]).where("path = 'max_age'").orderBy("target")
    assert [(r.target, r.value, r.usual, r.holders, r.among, r.peers) for r in rows.collect()] == [
        ("c", str(7 * DAY_NS), str(DAY_NS), 4, 7, "role=orders"),
        ("t1", "1", str(DAY_NS), 4, 7, "role=orders"),
        ("t2", None, str(DAY_NS), 4, 7, "role=orders"),
    ]


def test_who_alone_has_its_labels_or_alone_of_them_was_read_has_no_peers(spark: SparkSession) -> None:
    """Unlike others it cannot be, then."""
    rows = [*holding("a", PROD), *unread("f", PROD), *holding("t1", TEST), *holding("t2", TEST), *holding("u", None)]
    held = objects(frame(spark, rows))
    alike = {by: {row.target for row in with_peers(held, by=[by] if by else []).collect()} for by in ("", "role")}
    assert alike == {"": {"t1", "t2"}, "role": {"a", "t1", "t2"}}


def test_a_target_that_was_not_read_is_nobodys_peer() -> None:
    assert list(objects_of(unread("f", PROD))) == []


def test_a_label_that_no_target_has_would_make_no_peers(spark: SparkSession, tmp_path: Path) -> None:
    fleet = Fleet(
        name="shops", file=tmp_path / "fleet.yaml", targets=(FleetTarget(name="a", settings=Settings(), labels=PROD),)
    )
    kept = store(spark, str(tmp_path))
    look = FleetRun(spark=spark, fleet=fleet, store=kept, run="r1", day=night(0).date(), say=Silent())
    with pytest.raises(CannotContinue, match="No target has the label `rolle`") as problem:
        find_outliers(look, by=["rolle"])
    assert problem.value.diagnostics[0].fix == "Use one of env, role."


class Silent:
    def __call__(self, text: str, /) -> None: ...

    def clear(self) -> None: ...


def test_a_bucket_is_one_object_and_not_the_stream_beneath_it() -> None:
    bucket = {
        "subjects": ["$KV.CONFIG.>"],
        "max_msgs_per_subject": 1,
        "deny_delete": True,
        "allow_rollup_hdrs": True,
        "duplicate_window": 120_000_000_000,
    }
    (itself, one) = objects_of(holding("a", PROD, KV_CONFIG={**bucket, "discard": "new", "allow_direct": True}))
    assert (itself["sure"], "address" in itself, one["address"]) == (True, False, "kv_bucket/CONFIG")
    assert all(json.loads(value) is not None for value in one["config"].values())
