"""Who did it: the request that was the change names them. Where none is seen, nobody is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.journeys.drift.words import item_sentence
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.drift.account import Owner, asking, author, authors, item, updating
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.versions import on_every_version

HOUR = 3_600_000_000_000
ORDERS = """
streams:
  ORDERS:
    subjects: [orders.>]
    max_age: 7d
    consumers:
      east: {filter_subject: orders.east.>}
      west: {max_ack_pending: 500}
"""
GROUP = """
streams:
  S:
    subjects: [s.*]
    groups:
      g:
        type: elastic
        max_members: 2
        partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]
        members: [a, b]
"""


@pytest.fixture
def owner(account: Account, tmp_path: Path) -> Owner:
    return Owner(account, tmp_path)


async def wider(js: JetStream) -> None:
    config = {"durable_name": "west", "ack_policy": "none", "max_ack_pending": 5}
    info = await js.request("CONSUMER.INFO.ORDERS.west")
    assert isinstance(info, dict)
    body = {
        "stream_name": "ORDERS",
        "action": "update",
        "config": {**info["config"], **config, "ack_policy": "explicit"},
    }
    await asking("CONSUMER.CREATE.ORDERS.west", body)(js)


@on_every_version
def test_two_writers_within_a_second_each_get_what_they_did(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(ORDERS.replace("{max_ack", "{ack_policy: explicit, max_ack"))
    owner.meddle(
        ("alice", updating("ORDERS", max_age=HOUR)), ("bob", updating("ORDERS", max_age=2 * HOUR)),
        ("alice", updating("ORDERS", max_msgs=9)), ("bob", updating("ORDERS", description="bob's")),
        ("alice", wider), ("bob", asking("CONSUMER.DELETE.ORDERS.east")),
    )  # fmt: skip
    drift = owner.drift(topology)
    assert authors(item(drift, "stream/ORDERS")) == {"max_age": "bob", "max_msgs": "alice", "description": "bob"}
    assert authors(item(drift, "consumer/ORDERS/west")) == {"max_ack_pending": "alice"}
    assert author(item(drift, "consumer/ORDERS/east")) == "bob"


def test_an_actor_has_user_host_account_and_time(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(ORDERS)
    owner.meddle(("alice", updating("ORDERS", max_age=HOUR)))
    (field,) = item(owner.drift(topology), "stream/ORDERS").fields
    assert field.by is not None
    assert field.by.actor is not None
    said = field.by.actor
    assert (said.user, said.account, said.host) == (owner.account.user, owner.account.user, "127.0.0.1")
    assert said.request == "$JS.API.STREAM.UPDATE.ORDERS"
    assert said.at.startswith("20")


def test_who_says_again_what_another_did_did_not_do_it(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(ORDERS)
    owner.meddle(("alice", updating("ORDERS", max_age=HOUR)), ("bob", updating("ORDERS", max_age=HOUR)))
    assert authors(item(owner.drift(topology), "stream/ORDERS")) == {"max_age": "alice"}


def test_what_happened_before_anybody_listened_is_unknown(owner: Owner) -> None:
    topology = owner.apply(ORDERS)
    owner.meddle(("alice", updating("ORDERS", max_age=HOUR)))
    owner.audited()
    owner.meddle(("bob", updating("ORDERS", max_age=HOUR)))
    assert authors(item(owner.drift(topology), "stream/ORDERS")) == {"max_age": "unknown"}


def test_without_an_audit_trail_nobody_is_named_and_the_reason_is(owner: Owner) -> None:
    topology = owner.apply(ORDERS)
    owner.meddle(("alice", updating("ORDERS", max_age=HOUR)))
    (field,) = item(owner.drift(topology), "stream/ORDERS").fields
    assert field.by is not None
    assert (field.by.actor, field.by.unknown) == (None, "no stream captures $JS.EVENT.ADVISORY.API")


def test_who_deleted_a_stream_and_who_recreated_it_are_both_named(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(ORDERS.replace("ORDERS", "GONE").replace("orders.", "gone."))
    anew = {"name": "GONE", "subjects": ["gone.>"], "max_age": 7 * 24 * HOUR}
    owner.meddle(("alice", asking("STREAM.DELETE.GONE")), ("bob", asking("STREAM.CREATE.GONE", anew)))
    drift = owner.drift(topology)
    recreated = item(drift, "stream/GONE")
    assert author(recreated) == "bob"
    assert recreated.deleted_by is not None
    assert recreated.deleted_by.actor is not None
    assert recreated.deleted_by.actor.client == "alice"
    assert "by bob" in item_sentence(recreated)
    assert "; the old one was deleted by alice" in item_sentence(recreated)
    assert author(item(drift, "consumer/GONE/east")) == "alice"


def test_writes_to_a_kv_bucket_leave_no_trace_of_who_made_them(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(GROUP)

    async def members(js: JetStream) -> None:
        record = {"max_members": 2, "filter": "s.*", "partitioning_wildcards": [1], "members": ["a"]}
        found = await js.put_entry(
            "elastic-consumer-groups", "S.g", json.dumps(_as_today(record)).encode(), expected_revision=None
        )
        assert isinstance(found, Stored), found

    owner.meddle(("alice", members))
    (field,) = item(owner.drift(topology), "elastic_group/S/g").fields
    assert field.by is not None
    assert (field.by.actor, field.by.unknown) == (None, "writes to KV buckets leave no audit event")


def test_who_recreated_the_queue_of_a_group_is_named(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(GROUP)
    config = done(talk(owner.account, lambda js: js.request("STREAM.INFO.S-g")))["config"]
    owner.meddle(("alice", asking("STREAM.DELETE.S-g")), ("bob", asking("STREAM.CREATE.S-g", config)))
    recreated = item(owner.drift(topology), "elastic_group/S/g")
    assert author(recreated) == "bob"
    assert recreated.deleted_by is not None
    assert recreated.deleted_by.actor is not None
    assert recreated.deleted_by.actor.client == "alice"


def test_who_deleted_the_queue_of_a_group_is_named(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(GROUP)
    owner.meddle(("alice", asking("STREAM.DELETE.S-g")))
    assert authors(item(owner.drift(topology), "elastic_group/S/g")) == {"queue_stream": "alice"}


def test_who_edited_the_queue_of_a_group_is_named(owner: Owner) -> None:
    owner.audited()
    topology = owner.apply(GROUP)
    owner.meddle(("alice", updating("S-g", max_msgs=7)), ("bob", updating("S-g", max_age=HOUR)))
    assert authors(item(owner.drift(topology), "elastic_group/S/g")) == {"queue_stream": "bob"}


def test_of_a_queue_that_is_gone_the_reason_for_naming_nobody_is_no_record(owner: Owner) -> None:
    topology = owner.apply(GROUP)
    owner.meddle(("alice", asking("STREAM.DELETE.S-g")))
    (field,) = item(owner.drift(topology), "elastic_group/S/g").fields
    assert field.by is not None
    assert field.by.unknown == "no stream captures $JS.EVENT.ADVISORY.API"


def test_who_paused_a_consumer_is_named_though_nobody_saw_it_made(owner: Owner) -> None:
    topology = owner.apply(ORDERS)
    owner.audited()
    owner.meddle(
        ("alice", asking("CONSUMER.PAUSE.ORDERS.west", {"pause_until": "2098-01-01T00:00:00Z"})),
        ("bob", asking("CONSUMER.PAUSE.ORDERS.west", {"pause_until": "2099-01-01T00:00:00Z"})),
    )
    assert authors(item(owner.drift(topology), "consumer/ORDERS/west")) == {"pause_until": "bob"}


def test_who_let_a_consumer_go_on_is_named_though_nobody_saw_it_made(owner: Owner) -> None:
    topology = owner.apply(ORDERS.replace("{max_ack", "{pause_until: '2099-01-01T00:00:00Z', max_ack"))
    owner.audited()
    owner.meddle(
        ("alice", asking("CONSUMER.PAUSE.ORDERS.west", {"pause_until": "2098-01-01T00:00:00Z"})),
        ("bob", asking("CONSUMER.PAUSE.ORDERS.west", {})),
    )
    assert authors(item(owner.drift(topology), "consumer/ORDERS/west")) == {"pause_until": "bob"}


def _as_today(record: dict[str, object]) -> dict[str, object]:
    filters = [{"filter": record["filter"], "partitioning_wildcards": record["partitioning_wildcards"]}]
    return {"max_members": 2, "partitioning_filters": filters, "members": record["members"]}


def test_in_a_cluster_whose_events_lack_the_request_the_answer_tells(
    clustered_account: Account, tmp_path: Path
) -> None:
    owner = Owner(clustered_account, tmp_path)
    owner.audited()
    topology = owner.apply(ORDERS)
    owner.meddle(("alice", updating("ORDERS", max_age=HOUR)), ("bob", updating("ORDERS", max_msgs=9)))
    assert authors(item(owner.drift(topology), "stream/ORDERS")) == {"max_age": "alice", "max_msgs": "bob"}
