"""Nobody changed anything, so nothing drifts: after an upgrade of the server alone, of the tool alone, or of both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from reconciler.model.ledger.records import BUCKET
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.drift.account import Owner
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import MINORS
from tests.support.jetstream import talk
from tests.support.servers import NatsServer

EVERYTHING = """
streams:
  ORDERS:
    subjects: [orders.*.*]
    max_age: 7d
    metadata: {team: a}
    consumers:
      plain: {}
      pulls: {ack_policy: explicit, max_ack_pending: 500}
      pushes: {deliver_subject: to.here, ack_policy: explicit}
    groups:
      billing:
        type: elastic
        max_members: 4
        partitioning_filters: [{filter: orders.*.*, partitioning_wildcards: [1]}]
        members: [a, b]
  COPY: {mirror: {name: ORDERS}}
  FED: {sources: [{name: ORDERS}]}
  WORK: {subjects: [w.>], retention: workqueue, discard: new, max_bytes: 1GiB}
kv_buckets:
  CONFIG: {history: 5, ttl: 30d}
object_stores:
  FILES: {ttl: 30d}
"""
USED = [*(f"orders.a.{n}" for n in range(5)), "w.a"]


async def used(js: JetStream) -> None:
    """With messages in it, so that what starts anew can be told from what stays."""
    for subject in USED:
        await js.pipeline.request(subject, b"x", within=30)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[NatsServer]:
    with NatsServer(request.param, accounts_config(2)) as started:
        yield started


@pytest.mark.parametrize(("server", "after"), [*pairwise(MINORS)], indirect=["server"])
def test_nothing_drifts_when_the_server_is_upgraded(server: NatsServer, after: str, tmp_path: Path) -> None:
    owner = Owner(Account(server=server, user="a0", password="a0"), tmp_path)
    owner.apply(EVERYTHING)
    talk(owner.account, used)
    topology = owner.apply(EVERYTHING.replace("max_age: 7d", "max_age: 8d"))  # remembers how much was stored by then
    server.kill()
    server.restart(after)
    found = owner.drift(topology)
    assert [(one.address, one.standing, one.fields) for one in found.items] == []
    assert (found.exit_code, found.in_sync) == (0, len(topology.resources))


IN_MEMORY = """
streams:
  LAST: {subjects: [last.>], storage: memory, consumers: {c: {ack_policy: explicit}}}
  KEPT: {subjects: [kept.>], consumers: {c: {ack_policy: explicit}, f: {ack_policy: explicit, mem_storage: true}}}
kv_buckets: {CACHE: {storage: memory}}
"""


@pytest.mark.parametrize("server", ["2.11", "2.15"], indirect=True)
def test_what_a_single_server_kept_in_memory_is_missing_because_it_restarted(
    server: NatsServer, tmp_path: Path
) -> None:
    owner = Owner(Account(server=server, user="a0", password="a0"), tmp_path)
    topology = owner.apply(IN_MEMORY)
    server.kill()
    server.restart()
    found = owner.drift(topology)
    assert {item.address for item in found.items} == {
        "stream/LAST", "consumer/LAST/c", "consumer/KEPT/f", "kv_bucket/CACHE",
    }  # fmt: skip
    assert {item.reason for item in found.items} == {
        "it was applied in memory, which a single server forgets at each restart, and no longer exists"
    }


def old_form(value: bytes, *, of: str) -> bytes:
    """A record as an earlier version of this tool wrote it."""
    record = json.loads(value)
    del record["seen"]
    if of == "the first":
        record.pop("knows", None)
    else:
        record["knows"] = "2.11"
    return json.dumps(record).encode()


@pytest.mark.parametrize("of", ["the first", "one that knew 2.11"])
def test_nothing_drifts_by_records_that_an_earlier_version_wrote(account: Account, tmp_path: Path, of: str) -> None:
    owner = Owner(account, tmp_path)
    topology = owner.apply(EVERYTHING)

    async def rewritten(js: JetStream) -> int:
        snapshot = await observe(js)
        records = {key: one for key, one in snapshot.entries[BUCKET].items() if key.startswith("owned.")}
        for key, one in records.items():
            await js.put_entry(BUCKET, key, old_form(one.value, of=of), expected_revision=one.revision)
        return len(records)

    assert talk(account, rewritten) == len(topology.resources)
    found = owner.drift(topology)
    assert (found.items, found.exit_code, found.in_sync) == ((), 0, len(topology.resources))


def test_what_was_made_anew_as_declared_is_ours_again_after_the_next_apply(account: Account, tmp_path: Path) -> None:
    owner = Owner(account, tmp_path)
    topology = owner.apply("streams:\n  S: {subjects: [s.>]}\n")

    async def anew(js: JetStream) -> None:
        await js.request("STREAM.DELETE.S")
        await js.request("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})

    talk(account, anew)
    before = owner.drift(topology).exit_code
    owner.apply("streams:\n  S: {subjects: [s.>]}\n")
    assert (before, owner.drift(topology).exit_code) == (3, 0)
