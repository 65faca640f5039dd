"""Groups as they live, told from what was read: who wrote them, where keys go, who idles."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.kinds.elastic_group.queue_stream import queue_config
from reconciler.kinds.groups.doctor import examine
from reconciler.kinds.groups.finding import Evidence
from reconciler.kinds.groups.live_group import Group, groups, pin_of, queue_writer, record_writer
from reconciler.kinds.groups.places import Pattern, depths, locate
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.version import Version

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "partition.json").read_text())["vectors"]
FILTERS = [{"filter": "j.*", "partitioning_wildcards": [1]}]
RECORD: dict[str, Any] = {"max_members": 4, "partitioning_filters": FILTERS, "members": ["a", "b"]}


def group(record: dict[str, Any] | str, type_: str = "elastic", queue: dict[str, Any] | None = None) -> Group:
    text = record if isinstance(record, str) else json.dumps(record, separators=(",", ":"))
    streams = {"S-g": {"config": queue, "state": {"messages": 0}}} if queue else {}
    entries = {f"{type_}-consumer-groups": {"S.g": Entry(text.encode(), 1)}}
    (found,) = groups(Snapshot(target=Target(version=Version(2, 15)), streams=streams, entries=entries))
    return found


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['subject']}-{v['partitions']}-{v['wildcard_tokens']}")
def test_a_subject_is_where_the_server_put_it(vector: dict[str, Any]) -> None:
    wildcards = tuple(vector["wildcard_tokens"] or ())
    at = locate(
        vector["subject"], Pattern(filter=vector["source_filter"], wildcards=wildcards, partitions=vector["partitions"])
    )
    assert at is not None
    assert (at.partition, at.hashed) == (vector["partition"], vector["hash_key"])


def test_the_text_that_decides_is_enough() -> None:
    pattern = Pattern(filter="orders.*.*", wildcards=(2,), partitions=12)
    whole, text = locate("orders.eu.42", pattern), locate("42", pattern)
    assert whole is not None and text is not None
    assert whole.partition == text.partition


def test_a_subject_of_another_filter_is_nowhere() -> None:
    assert locate("other.eu", Pattern(filter="orders.*", wildcards=(1,), partitions=4)) is None


@pytest.mark.parametrize(
    ("record", "type_", "writer"),
    [
        (RECORD, "elastic", "orbit.go"),
        ({"max_members": 4, "filter": "j.*", "partitioning_wildcards": [1]}, "elastic", "orbit.go v0.1"),
        ({"max_members": 4, "filter": "j.*", "members": ["a"]}, "static", "orbit.java"),
        ({**RECORD, "max_buffered_msg": 0}, "elastic", "orbit.java"),
        ({**RECORD, "member_mappings": []}, "elastic", "orbit.net"),
        (json.dumps({**RECORD, "max_buffered_msg": -1}), "elastic", "natsio-pcgroups"),
    ],
    ids=["go", "first-go", "java-static", "java", "net", "python"],
)
def test_a_record_tells_its_writer_by_its_spelling(record: Any, type_: str, writer: str) -> None:
    assert record_writer(group(record, type_)) == writer


def test_a_queue_tells_its_writer_too() -> None:
    go = queue_config("S", RECORD, {})
    net = json.loads(json.dumps(go).replace("{{Wildcard(", "{{wildcard("))
    del net["discard"], net["allow_direct"]
    assert queue_writer(group(RECORD, queue=dict(go))) == "orbit.go"
    assert queue_writer(group(RECORD, queue=net)) == "orbit.net"
    assert queue_writer(group(RECORD, queue={**go, "max_msgs": 7})) == "nobody known"


def test_members_beyond_the_partitions_idle_and_own_nothing() -> None:
    found = group({**RECORD, "members": ["d", "a", "e", "c", "b"]})
    assert found.surplus_members == ["e"]
    assert [member.name for member in found.members] == ["a", "b", "c", "d"]


def test_a_partition_of_nobody_has_no_owner() -> None:
    found = group({"max_members": 3, "member_mappings": [{"member": "a", "partitions": [2, 0]}]})
    assert found.owners == ["a", None, "a"]
    assert found.members[0].partitions == (0, 2)


def test_messages_are_counted_by_the_first_token() -> None:
    found = depths({"0.j.a": 2, "0.j.b": 1, "1.j.c": 4, "7.j.d": 5, "x": 1}, 2)
    assert (found.messages, found.subjects, found.outside) == ((3, 4), (2, 1), {"7": 5, "x": 1})
    assert (found.of((0, 1)), found.total) == (7, 13)


def test_a_pin_is_as_old_as_the_servers_clock_says() -> None:
    client = {"group": "PCG", "pinned_client_id": "abc", "pinned_ts": "2026-01-01T10:00:00.5Z"}
    info = {"priority_groups": [client], "ts": "2026-01-01T10:00:03.500000001Z"}
    found = pin_of(info)
    assert found is not None and (found.client, found.age) == ("abc", 3_000_000_000)
    assert pin_of({**info, "priority_groups": [{**client, "pinned_client_id": ""}]}) is None


def test_what_could_not_be_read_is_not_judged_missing() -> None:
    entries = {"elastic-consumer-groups": {"S.g": Entry(json.dumps(RECORD).encode(), 1)}}
    snapshot = Snapshot(target=Target(version=Version(2, 15)), entries=entries)
    assert groups(snapshot)[0].unread is None
    (unread,) = groups(replace(snapshot, unknown={"stream/S-g": "no answer in time"}))
    assert unread.unread == "no answer in time"


def behind(lag: int, held: int, **config: Any) -> set[str]:
    """Codes of a queue that has still to take in so many messages of a source that holds so many."""
    streams: dict[str, dict[str, Any]] = {
        "S": {"config": {"max_age": 1, **config}, "state": {"messages": held, "last_seq": held}},
        "S-g": {
            "config": queue_config("S", RECORD, {}),
            "state": {"messages": 0, "last_seq": 0},
            "sources": [{"lag": lag}],
        },
    }
    entries = {"elastic-consumer-groups": {"S.g": Entry(json.dumps(RECORD).encode(), 1)}}
    found = groups(Snapshot(target=Target(version=Version(2, 15)), streams=streams, entries=entries))
    return {one.code for one in examine(found, Evidence())} & {"GR160"}


def test_a_busy_queue_is_a_little_behind_and_that_is_no_finding() -> None:
    assert behind(50, 60) == behind(500, 1_000_000) == set()


def test_a_queue_far_behind_a_source_that_drops_is_one() -> None:
    assert behind(500, 1_000) == {"GR160"}
    assert behind(500, 1_000, discard="new") == set()
