"""Which object it was: only what both its creation and how far it had come say is made anew, unless creation outlives restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reconciler.changes.kind import Raw
from reconciler.engine.pairing.identity import (
    identity_after_request,
    identity_in_answer,
    identity_of_resource,
    is_another_object,
    is_recreated,
    recreated_stream_behind,
)
from reconciler.kinds import REGISTRY
from reconciler.model.ledger.records import Owned
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Entry, Snapshot, Target
from reconciler.model.wire.version import Version

OLD, NEW = "2.14.6", "2.15.1"


def seen(created: str | None = "then", at: Any = 9, server: str = OLD) -> dict[str, Any]:
    return {"at": at, "server": server} | ({"created": created} if created else {})


@pytest.mark.parametrize(
    ("was", "now", "keeps", "another"),
    [
        (seen(), seen("later", 3), True, True),
        (seen(), seen("later", 9), True, False),
        (seen(), seen("later", 3), False, False),
        (seen(), seen("then", 3), True, False),
        (seen(server=NEW), seen("later", 9, NEW), False, True),
        (seen(server=NEW), seen("later", 9, OLD), True, False),
        (seen(server=OLD), seen("later", 9, NEW), True, False),
        (seen(server="no version"), seen("later", 9, NEW), True, False),
        (seen(None), seen("later", 3), False, True),
        (seen(), seen(None, 3), False, True),
        (seen(None), seen(None, 9), True, False),
        ({}, seen("later", 3), True, False),
        (seen(), {}, True, False),
        (seen(at="9"), seen("later", 3), True, False),
        (seen(), seen("later", None), True, False),
    ],
    ids=[
        "created later and behind", "created later and as far", "what lives in memory starts again", "created then",
        "creation alone", "it was one that a restart moves", "it is one that a restart moves", "nobody knows the server",
        "without a creation then", "without a creation now", "an entry as far", "nothing remembered", "nothing there",
        "no number then", "no number now",
    ],
)  # fmt: skip
def test_what_is_surely_another_object(was: dict[str, Any], now: dict[str, Any], keeps: bool, another: bool) -> None:
    assert is_another_object(was, now, keeps=keeps) is another


@pytest.mark.parametrize(
    ("was", "now", "another"),
    [("A", "A", True), ("A", "B", False), ("A", None, False), (None, "A", False), (None, None, False)],
)
def test_while_its_server_goes_on_running_creation_alone_tells(was: str | None, now: str | None, another: bool) -> None:
    then, found = ({**seen(at=0), "process": one} if one else seen(at=0) for one in (was, now))
    assert is_another_object(then, {**found, "created": "later", "at": 9}, keeps=False) is another
    assert not is_another_object(then, found, keeps=True), "created then"


@pytest.mark.parametrize(
    ("version", "more", "process"),
    [
        (OLD, {"server": "N" * 40 + "TWELVELETTER", "is_all": True}, "TWELVELETTER"),
        (OLD, {"server": "NABC", "is_all": False}, None),
        (OLD, {"server": None, "is_all": True}, None),
        (NEW, {"server": "NABC", "is_all": True}, None),
    ],
    ids=["one server", "a cluster, or behind a leaf", "no id", "creation outlives it anyway"],
)
def test_which_start_of_its_server_it_was_is_remembered_where_that_tells(
    version: str, more: dict[str, Any], process: str | None
) -> None:
    target = Target(version=Version.parse(version), **more)
    assert identity_in_answer(stream(), target).get("process") == process


def stream(messages: int = 5, last: int = 9, created: str = "then", storage: str = "file") -> dict[str, Any]:
    return {
        "created": created, "config": {"name": "S", "storage": storage}, "state": {"messages": messages, "last_seq": last},
    }  # fmt: skip


def consumer(delivered: int = 4, acknowledged: int = 3) -> dict[str, Any]:
    return {
        "created": "then", "config": {"ack_policy": "explicit"},
        "delivered": {"consumer_seq": delivered, "stream_seq": delivered},
        "ack_floor": {"consumer_seq": acknowledged, "stream_seq": acknowledged},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("info", "told"),
    [
        (stream(), {"created": "then", "at": 9, "server": OLD, "messages": 5}),
        (stream(messages=0), {"created": "then", "at": 9, "server": OLD}),
        (consumer(), {"created": "then", "at": 4, "server": OLD, "next": 4}),
        (consumer(0, 0), {"created": "then", "at": 0, "server": OLD}),
        (consumer(2, 1), {"created": "then", "at": 2, "server": OLD, "next": 2}),
        ({"created": "then", "state": {"last_seq": 9}}, {"created": "then", "at": 9, "server": OLD}),
        ({"state": {"last_seq": 9}}, {}),
    ],
    ids=[
        "a stream",
        "an empty one",
        "a consumer",
        "one that has not begun",
        "one message on",
        "no count",
        "no creation",
    ],
)
def test_an_answer_tells_which_object_it_was_and_what_would_go_with_it(
    info: dict[str, Any], told: dict[str, Any]
) -> None:
    assert identity_in_answer(info, Target(version=Version.parse(OLD))) == told


def there(*, streams: dict[str, Any] | None = None, entry: Entry | None = None) -> Snapshot:
    entries = {"static-consumer-groups": {"S.g": entry}} if entry else {}
    return Snapshot(target=Target(version=Version.parse(OLD)), streams=streams or {}, entries=entries)


def test_what_is_not_there_has_no_identity() -> None:
    group, of_groups = Address.of("static_group", "S", "g"), REGISTRY["static_group"]
    of_streams = Address.of("stream", "S"), REGISTRY["stream"]
    assert identity_of_resource(there(), *of_streams) == {}
    assert identity_of_resource(there(), group, of_groups) == {}
    assert identity_of_resource(there(entry=Entry(b"", 7, deleted=True)), group, of_groups) == {}
    assert identity_of_resource(there(entry=Entry(b"{}", 7)), group, of_groups) == {"at": 7}
    assert identity_of_resource(there(streams={"S": stream()}), *of_streams)["at"] == 9


def test_a_group_is_told_by_its_record_and_by_its_queue() -> None:
    group, kind = Address.of("elastic_group", "S", "g"), REGISTRY["elastic_group"]
    entries = {"elastic-consumer-groups": {"S.g": Entry(b"{}", 7)}}
    then = Snapshot(target=Target(version=Version.parse(OLD)), streams={"S-g": stream()}, entries=entries)
    now = replace(then, streams={"S-g": stream(last=3, created="later")})
    owned = Owned(topology="t", seen=identity_of_resource(then, group, kind))
    assert owned.seen["behind"]["created"] == "then"
    assert recreated_stream_behind(owned, group, kind, then) is None
    assert recreated_stream_behind(owned, group, kind, now) == "S-g"
    assert not is_recreated(owned, group, kind, now), "its record is still the one that was written"
    assert recreated_stream_behind(Owned(topology="t", seen={"at": 7}), group, kind, now) is None, (
        "nobody had noted the queue"
    )


def test_what_a_request_tells_of_one_object_leaves_what_is_known_of_the_other() -> None:
    group, kind = Address.of("elastic_group", "S", "g"), REGISTRY["elastic_group"]
    record, queue = Raw("entry", ("elastic-consumer-groups", "S.g")), Raw("stream", ("S-g",))
    first = identity_after_request({}, record, {"at": 7}, group, kind)
    both = identity_after_request(first, queue, {"created": "then", "at": 0}, group, kind)
    assert both == {"at": 7, "behind": {"created": "then", "at": 0}}
    assert identity_after_request(both, record, {"at": 8}, group, kind) == {**both, "at": 8}


@pytest.mark.parametrize(("storage", "anew"), [("file", True), ("memory", False)])
def test_a_stream_that_is_remembered_is_told_from_the_one_in_its_place(storage: str, anew: bool) -> None:
    now = there(streams={"S": stream(last=3, created="later", storage=storage)})
    owned = Owned(topology="t", seen=seen())
    assert is_recreated(owned, Address.of("stream", "S"), REGISTRY["stream"], now) is anew


def test_a_record_that_goes_back_is_another_wherever_its_stream_lives() -> None:
    address, kind = Address.of("static_group", "S", "g"), REGISTRY["static_group"]
    owned = Owned(topology="t", seen={"at": 9})
    assert is_recreated(owned, address, kind, there(entry=Entry(b"{}", 3)))
    assert not is_recreated(owned, address, kind, there(entry=Entry(b"{}", 9)))


@pytest.mark.parametrize(
    ("stream_now", "consumer_created", "anew"),
    [
        (stream(last=3, created="later"), "later", True),
        (stream(last=3, created="later"), "then", False),
        (stream(last=9, created="later"), "later", False),
        (stream(last=9), "later", False),
    ],
    ids=["both", "it was made anew before that was written down", "the stream has come as far", "a restart moved it"],
)
def test_a_stream_that_was_made_anew_took_its_consumers_with_it(
    stream_now: dict[str, Any], consumer_created: str, anew: bool
) -> None:
    address = Address.of("consumer", "S", "c")
    now = replace(
        there(streams={"S": stream_now}), consumers={"S": {"c": {**consumer(9, 9), "created": consumer_created}}}
    )
    ledger = {Address.of("stream", "S"): Owned(topology="another", seen=seen())}
    owned = Owned(topology="t", seen=seen(at=0))
    assert is_recreated(owned, address, REGISTRY["consumer"], now, ledger) is anew
    assert not is_recreated(owned, address, REGISTRY["consumer"], now), "nobody remembers the stream"
