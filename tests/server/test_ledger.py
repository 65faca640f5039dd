"""The ledger lives in the account: made on the first apply, written by compare-and-set, read with everything else."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.diagnostic import Diagnostic
from reconciler.model.ledger.records import Owned, encode_owned
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import observe
from reconciler.server.remember import ledger
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account, connect
from tests.support.binaries import NEWEST, OLDEST
from tests.support.jetstream import done, make_stream, talk
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

ORDERS, OTHER = Address.of("stream", "ORDERS"), Address.of("stream", "OTHER")
RECORD = Owned(
    topology="orders", source="git@host:orders", git_revision="abc", fields={"max_age": 1, "subjects": ["o"]}
)


async def kept(js: JetStream) -> Snapshot:
    """The account with a ledger in it."""
    await ledger.ensure_bucket(js, await observe(js))
    return await observe(js)


@on_every_version
def test_a_record_written_is_read_back(account: Account) -> None:
    async def work(js: JetStream) -> remembered.Memory:
        await kept(js)
        assert await ledger.write(js, {ORDERS: RECORD}, {}) == []
        return remembered.read_memory(await observe(js), REGISTRY)

    found = talk(account, work)
    assert found.records[ORDERS].fields == RECORD.fields
    assert found.records[ORDERS].revision == 2  # the id came first
    assert found.problems == ()


@on_every_version
def test_a_record_dropped_is_gone_and_can_be_written_again(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await kept(js)
        await ledger.write(js, {ORDERS: RECORD}, {})
        await ledger.write(js, {ORDERS: None}, ledger.revisions(await observe(js)))
        dropped = await observe(js)
        again = await ledger.write(js, {ORDERS: RECORD}, ledger.revisions(dropped))
        return remembered.read_memory(dropped, REGISTRY), again, remembered.read_memory(await observe(js), REGISTRY)

    dropped, again, final = talk(account, work)
    assert dropped.records == {}
    assert again == []
    assert set(final.records) == {ORDERS}


@on_every_version
def test_every_name_the_server_accepts_can_be_remembered(account: Account) -> None:
    names = ["é" * 127, "a=b", "$x", "日本", "{%}", "CON", "-", "a" * 255]
    records = {Address.of("consumer", name, name): RECORD for name in names}

    async def work(js: JetStream) -> Any:
        await kept(js)
        return await ledger.write(js, records, {}), remembered.read_memory(await observe(js), REGISTRY)

    problems, found = talk(account, work)
    assert problems == []
    assert set(found.records) == set(records)


@on_every_version
def test_the_bucket_is_made_for_any_kv_client_and_for_leases(account: Account) -> None:
    config = talk(account, kept).streams["KV_reconciler"]["config"]
    assert config["subjects"] == ["$KV.reconciler.>"]
    assert config["max_msgs_per_subject"] == 1
    assert config["num_replicas"] == 1
    assert all(config[switch] for switch in ("allow_direct", "allow_msg_ttl", "allow_rollup_hdrs", "deny_delete"))


def test_the_bucket_carries_an_id_that_stays(account: Account) -> None:
    async def work(js: JetStream) -> tuple[bytes, bytes]:
        first, second = await kept(js), await kept(js)
        return first.entries["reconciler"]["id"].value, second.entries["reconciler"]["id"].value

    first, second = talk(account, work)
    assert len(first) == 32
    assert first == second


def test_an_id_missing_since_an_interrupted_run_is_made_up_for(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await kept(js)
        done(await js.request("STREAM.PURGE.KV_reconciler", {}))
        return await kept(js)

    assert "id" in talk(account, work).entries["reconciler"]


def test_two_who_apply_for_the_first_time_agree_on_one_bucket(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        empty = await observe(js)
        await asyncio.gather(*(ledger.ensure_bucket(js, empty) for _ in range(5)))
        return await observe(js)

    assert talk(account, work).entries["reconciler"]["id"].revision == 1


@pytest.mark.parametrize("clustered_account", ["2.11", "2.15"], indirect=True)
def test_a_cluster_keeps_three_copies(clustered_account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_stream(js, "WARM", num_replicas=3)
        return await kept(js)

    assert talk(clustered_account, work).streams["KV_reconciler"]["config"]["num_replicas"] == 3


@contextmanager
def _bounded(minor: str, limits: str) -> Iterator[Any]:
    """An account that wants every stream bounded, with further limits."""
    account = f"jetstream: {{max_mem: 1GB, {limits}, max_bytes_required: true}}, users: [{{user: u, password: u}}]"

    class Bounded:
        async def connect(self) -> Any:
            return await connect(server.url, "u", "u")

    with NatsServer(minor, f"accounts {{A: {{{account}}}}}") as server:
        yield Bounded()


@pytest.mark.parametrize("minor", [OLDEST, NEWEST])
@pytest.mark.parametrize(
    ("limits", "reserved"),
    [
        ("max_file: 16GB", 64 << 20),
        ("max_file: 16000000", 1_000_000),
        ("max_file: 16MB, disk_max_stream_bytes: 300000", 300_000),
    ],
)
def test_an_account_that_wants_bounded_streams_gets_a_ledger_that_fits(minor: str, limits: str, reserved: int) -> None:
    with _bounded(minor, limits) as bounded:
        assert talk(bounded, kept).streams["KV_reconciler"]["config"]["max_bytes"] == reserved


@pytest.mark.parametrize("minor", [OLDEST, NEWEST])
@pytest.mark.parametrize("left", [200_000, 1_000])
def test_where_little_is_left_to_reserve_the_ledger_takes_less_or_says_so(minor: str, left: int) -> None:
    async def work(js: JetStream) -> tuple[Diagnostic | None, Snapshot]:
        await make_stream(js, "FULL", max_bytes=16_000_000 - left)
        return await ledger.ensure_bucket(js, await observe(js)), await observe(js)

    with _bounded(minor, "max_file: 16000000") as bounded:
        problem, snapshot = talk(bounded, work)
    if left == 200_000:
        assert problem is None
        assert snapshot.streams["KV_reconciler"]["config"]["max_bytes"] == 125_000
    else:
        assert problem is not None
        assert problem.fix is not None
        assert problem.fix.startswith("The account or server has no storage left to reserve")


def test_a_record_somebody_else_wrote_meanwhile_is_left_and_reported(account: Account) -> None:
    theirs = Owned(topology="theirs")

    async def work(js: JetStream) -> tuple[list[Diagnostic], remembered.Memory]:
        await kept(js)
        await ledger.write(js, {ORDERS: theirs}, {})
        return await ledger.write(js, {ORDERS: RECORD}, {}), remembered.read_memory(await observe(js), REGISTRY)

    (problem,), found = talk(account, work)
    assert problem.message == ("applied, but not recorded as owned: expected revision 0, but wrong last sequence: 2")
    assert found.records[ORDERS].topology == "theirs"


def test_a_record_that_could_not_be_dropped_is_told_as_still_there(account: Account) -> None:
    async def work(js: JetStream) -> list[Diagnostic]:
        await kept(js)
        await ledger.write(js, {ORDERS: RECORD}, {})
        return await ledger.write(js, {ORDERS: None, OTHER: RECORD}, {ORDERS: 99, OTHER: 98})

    forgotten, made = talk(account, work)
    assert forgotten.message.startswith("done, but still recorded as owned: expected revision 99, but")
    assert forgotten.fix == "apply again, which forgets it"
    assert made.message.startswith("applied, but not recorded as owned: expected revision 98, but")


def test_what_keeps_many_records_from_being_written_is_told_once(account: Account) -> None:
    many = {Address.parse(f"stream/S{number}"): RECORD for number in range(1_200)}

    async def work(js: JetStream) -> list[Diagnostic]:
        await kept(js)
        return await ledger.write(js.writing_unless(lambda: "the lease is gone"), many, {})

    (problem,) = talk(account, work)
    assert problem.address == "stream/S0"
    assert "(nor are 1,199 others)" in problem.message.replace("_", ",")
    assert "the lease is gone" in problem.message


def test_records_that_others_wrote_meanwhile_are_told_as_one(account: Account) -> None:
    many = {Address.parse(f"stream/S{number}"): RECORD for number in range(30)}
    theirs = dict.fromkeys(many, Owned(topology="theirs"))

    async def work(js: JetStream) -> list[Diagnostic]:
        await kept(js)
        await ledger.write(js, theirs, {})
        return await ledger.write(js, many, {})

    (problem,) = talk(account, work)
    assert problem.message.startswith("applied, but not recorded as owned (nor are 29 others): expected revision 0")


def test_what_cannot_be_read_is_reported_and_the_rest_is_used(account: Account) -> None:
    async def work(js: JetStream) -> remembered.Memory:
        await kept(js)
        await ledger.write(js, {ORDERS: RECORD}, {})
        await js.put_entry("reconciler", "owned.stream.BROKEN", b"{", expected_revision=0)
        await js.put_entry("reconciler", "something.else", b"\xff", expected_revision=0)
        return remembered.read_memory(await observe(js), REGISTRY)

    found = talk(account, work)
    assert set(found.records) == {ORDERS}
    assert [(p.address, p.code) for p in found.problems] == [("stream/BROKEN", "LE101")]


def test_a_missing_bucket_is_an_empty_ledger(account: Account) -> None:
    assert remembered.read_memory(talk(account, observe), REGISTRY).records == {}


def test_who_may_not_make_the_bucket_is_told_what_to_allow() -> None:
    deny = 'permissions: {publish: {deny: "$JS.API.STREAM.CREATE.>"}}'

    class Reader:
        async def connect(self) -> Any:
            return await connect(server.url, "u", "u")

    async def work(js: JetStream) -> Any:
        return await ledger.ensure_bucket(js, await observe(js))

    config = f"accounts {{A: {{jetstream: enabled, users: [{{user: u, password: u, {deny}}}]}}}}"
    with NatsServer(config=config) as server:
        said = talk(Reader(), work)
    assert "the bucket could not be created: permission denied" in said.message
    assert "$JS.API.STREAM.CREATE.KV_reconciler" in (said.fix or "")


def test_six_thousand_records_cost_little_more_than_sending_them(account: Account) -> None:
    records = {Address.of("consumer", f"S{n // 5}", f"c{n % 5}"): RECORD for n in range(6_000)}
    value = json.dumps(encode_owned(RECORD)).encode()

    async def work(js: JetStream) -> tuple[list[Diagnostic], float, float]:
        await kept(js)
        began = time.process_time()  # ours alone: other load on the machine must not fail this
        await asyncio.gather(*(js.put_entry("reconciler", f"x.{n}", value, expected_revision=0) for n in range(6_000)))
        sent = time.process_time()
        return await ledger.write(js, records, {}), time.process_time() - sent, sent - began

    problems, seconds, floor = talk(account, work)
    assert problems == []
    assert seconds < 3 * floor, (seconds, floor)
