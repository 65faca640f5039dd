"""Who changed what: each request with the fields after it that were otherwise before."""

from __future__ import annotations

from pyspark.sql import SparkSession

from reconciler.fleet.events.events import actors
from reconciler.fleet.tables.tables import ACTORS
from tests.fleet.told import audit, events, said

OLD = {"subjects": ["s"], "max_age": 7, "metadata": {"team": "a", "_nats.ver": "2.14.6"}}
NEW = {"subjects": ["s"], "max_age": 9, "metadata": {"team": "b", "kind": "x", "_nats.ver": "2.15.1"}, "max_msgs": 5}
CONSUMER = {"ack_policy": "explicit", "max_deliver": 3}

TOLD = [
    audit(0, "create", OLD, made=True),
    audit(1, "create", OLD, made=False, client="app"),  # an application that makes its own stream as it starts
    audit(2, "update", NEW, client="bob"),
    audit(3, "create", CONSUMER, consumer="c", stream="S"),
    audit(4, "create", CONSUMER, consumer="c", client="app"),
    audit(5, "pause", consumer="c"),
    audit(6, "update", {**CONSUMER, "max_deliver": 5, "pause_until": "2099-01-01T00:00:00Z"}, consumer="c"),
    audit(7, "delete", refused="stream not found (10059)", stream="NOBODY"),
    audit(8, "purge", client="bob"),
    audit(9, "delete"),
    audit(10, "create", NEW, made=True),
    audit(11, "create", CONSUMER, consumer="c"),  # made anew, since the other one went with its stream
    audit(12, "update", OLD, stream="KV_CONFIG"),
    audit(13, "update", NEW, stream="KV_CONFIG"),
    audit(14, "delete", stream="OBJ_FILES"),
    {**audit(15, ""), "deed": None},
]


def test_each_deed_has_its_author_and_what_it_changed(spark: SparkSession) -> None:
    found = actors(events(spark, *TOLD)).orderBy("at")
    assert found.columns == ACTORS.names
    moved = ["max_age", "max_msgs", "metadata.kind", "metadata.team"]
    assert said(found, "client", "deed", "address", "kind", "changed") == [
        ("alice", "create", "stream/S", "stream", None),
        ("app", "create", "stream/S", "stream", []),
        ("bob", "update", "stream/S", "stream", moved),
        ("alice", "create", "consumer/S/c", "consumer", None),
        ("app", "update", "consumer/S/c", "consumer", []),
        ("alice", "pause", "consumer/S/c", "consumer", ["pause_until"]),
        ("alice", "update", "consumer/S/c", "consumer", ["max_deliver"]),
        ("bob", "purge", "stream/S", "stream", None),
        ("alice", "delete", "stream/S", "stream", None),
        ("alice", "create", "stream/S", "stream", None),
        ("alice", "create", "consumer/S/c", "consumer", None),
        ("alice", "update", "kv_bucket/CONFIG", "kv_bucket", None),
        ("alice", "update", "kv_bucket/CONFIG", "kv_bucket", moved),
        ("alice", "delete", "object_store/FILES", "object_store", None),
    ]
