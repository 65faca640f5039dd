"""A snapshot holds everything an account has; what could not be read is unknown with its reason, never absent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.questions import SubjectCounts, Unanswered
from reconciler.model.wire.snapshot import Entry, Snapshot
from reconciler.model.wire.version import Version
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.observe import ask, observe
from reconciler.server.wire.api import JetStream
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.support.accounts import Account, connect
from tests.support.binaries import VERSIONS
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream, make_streams, talk
from tests.support.jwt import Operator
from tests.support.lossy import losing
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

BUCKET = "static-consumer-groups"
"""Read whole; of bucket `reconciler` only what matters to a plan is."""
LIST = "$JS.API.STREAM.LIST"


@on_every_version
def test_an_empty_account_still_tells_where_we_are(account: Account) -> None:
    target = talk(account, observe).target
    assert target.version == Version.parse(VERSIONS[account.minor])
    assert target.account == account.user
    assert (target.cluster, target.peers, target.domain) == (None, 1, None)
    assert target.limits["max_streams"] == -1


@on_every_version
def test_the_api_level_is_the_one_the_server_says(account: Account) -> None:
    levels = {"2.11": 1, "2.12": 3, "2.14": 4, "2.15": 5}
    assert talk(account, observe).target.level == levels[account.minor]


@on_every_version
def test_streams_and_consumers_are_the_servers_own_answers(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_stream(js, "ORDERS", subjects=["orders.>"])
        await make_consumer(js, "ORDERS", "west", filter_subject="orders.west")
        return await observe(js)

    snapshot = talk(account, work)
    assert snapshot.streams["ORDERS"]["config"]["subjects"] == ["orders.>"]
    assert snapshot.consumers["ORDERS"]["west"]["config"]["filter_subject"] == "orders.west"
    assert snapshot.unknown == {}


@on_every_version
def test_more_streams_than_fit_on_two_pages_are_all_found(account: Account) -> None:
    names = {f"S{n}" for n in range(600)}

    async def work(js: JetStream) -> Snapshot:
        await make_streams(js, *names, storage="memory")
        return await observe(js)

    assert set(talk(account, work).streams) == names


@on_every_version
def test_more_consumers_than_fit_on_a_page_are_all_found(account: Account) -> None:
    names = {f"c{n}" for n in range(300)}

    async def work(js: JetStream) -> Snapshot:
        await make_stream(js, "S", storage="memory")
        await asyncio.gather(*(make_consumer(js, "S", name) for name in names))
        return await observe(js)

    assert set(talk(account, work).consumers["S"]) == names


@on_every_version
def test_lasting_streams_are_found_while_others_come_and_go(account: Account) -> None:
    lasting = {f"keep{n:03}" for n in range(520)}

    async def churn(js: JetStream, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await make_streams(js, *(f"a{n}" for n in range(10)), storage="memory")
            await asyncio.gather(*(js.request(f"STREAM.DELETE.a{n}") for n in range(10)))

    async def work(js: JetStream) -> list[Snapshot]:
        await make_streams(js, *lasting, storage="memory")
        stop = asyncio.Event()
        others = asyncio.create_task(churn(js, stop))
        seen = [await observe(js) for _ in range(15)]
        stop.set()
        await others
        return seen

    for snapshot in talk(account, work):
        assert lasting <= set(snapshot.streams)
        assert snapshot.unknown == {}


def test_consumers_are_read_only_where_they_are_wanted(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_streams(js, "A", "B")
        await make_consumer(js, "A", "c")
        await make_consumer(js, "B", "c")
        return await observe(js, consumers_of={"A"})

    assert set(talk(account, work).consumers) == {"A"}


async def overtaken(js: JetStream, account: Account, deed: Callable[[], Awaitable[None]], often: int = 1) -> Snapshot:
    """What is seen when something is done each time the list of streams is on its way, so often at most."""
    async with wire(lambda: account.server.port, Point(Request(LIST, 1), Side.REPLY)) as between:

        async def meanwhile(_moment: Moment) -> Goes:
            await deed()
            between.at, between.was_reached = Point(Request(LIST, between.seen[LIST] + 1), Side.REPLY), False
            return Goes.ON

        between.act = meanwhile
        nc = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
        looking = await JetStream.open(nc)
        snapshot = await observe(looking)
        await looking.close()
        await nc.close()
    assert between.seen[LIST] == often
    return snapshot


def test_where_we_remember_a_consumer_a_count_of_none_is_not_believed(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        async def made() -> None:
            await make_consumer(js, "A", "c")

        await make_streams(js, "A", "B")
        await make_bucket(js, "reconciler")
        await js.put_entry("reconciler", "owned.consumer.A.c", b"{}", expected_revision=0)
        return await overtaken(js, account, made)

    snapshot = talk(account, work)
    assert snapshot.streams["A"]["state"]["consumer_count"] == 0
    assert {name: set(found) for name, found in snapshot.consumers.items()} == {"A": {"c"}}


def test_an_apply_that_ends_while_we_look_is_seen_whole_or_not_at_all(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        left = ["A", "B"]

        async def removed() -> None:
            for name in left:
                await js.write(f"STREAM.DELETE.{name}")
                await settled.delete(js, "reconciler", f"owned.stream.{name}", expected_revision=None)
            left.clear()

        await make_streams(js, "A", "B", "C")
        await make_bucket(js, "reconciler")
        for name in "ABC":
            await js.put_entry("reconciler", f"owned.stream.{name}", b"{}", expected_revision=0)
        return await overtaken(js, account, removed, often=2)

    snapshot = talk(account, work)
    remembered = {key for key, one in snapshot.entries["reconciler"].items() if not one.deleted}
    assert remembered == {"owned.stream.C"}
    assert set(snapshot.streams) == {"C", "KV_reconciler"}


@pytest.mark.parametrize(("key", "looks"), [("owned.stream.A", 3), ("intent.consumer.A.c", 3), ("lease.orders", 1)])
def test_who_writes_all_the_time_is_not_waited_for(account: Account, key: str, looks: int) -> None:
    async def work(js: JetStream) -> Snapshot:
        async def written() -> None:
            await js.put_entry("reconciler", key, b"{}", expected_revision=None)

        await make_bucket(js, "reconciler")
        await written()
        return await overtaken(js, account, written, often=looks)

    assert set(talk(account, work).entries["reconciler"]) == {key}


@on_every_version
def test_the_last_entry_of_each_key_is_read(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_bucket(js, BUCKET, max_msgs_per_subject=5)
        await js.put_entry(BUCKET, "a", b"old", expected_revision=0)
        await js.put_entry(BUCKET, "b", b"kept", expected_revision=0)
        await js.put_entry(BUCKET, "a", b"new", expected_revision=1)
        return await observe(js)

    assert talk(account, work).entries[BUCKET] == {"a": Entry(b"new", 3), "b": Entry(b"kept", 2)}


@on_every_version
@pytest.mark.parametrize("direct", [True, False])
def test_deleted_entries_are_marked_and_keep_their_revision(account: Account, direct: bool) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_bucket(js, BUCKET, allow_direct=direct)
        await js.put_entry(BUCKET, "purged", b"1", expected_revision=0)
        await js.put_entry(BUCKET, "deleted", b"1", expected_revision=0)
        await settled.delete(js, BUCKET, "purged", expected_revision=1)
        await js.put_entry(BUCKET, "deleted", b"", expected_revision=2, headers={"KV-Operation": "DEL"})
        return await observe(js)

    found = talk(account, work).entries[BUCKET]
    assert found == {"purged": Entry(b"", 3, deleted=True), "deleted": Entry(b"", 4, deleted=True)}


@on_every_version
@pytest.mark.parametrize("direct", [True, False])
def test_many_entries_with_holes_between_them_are_all_read(account: Account, direct: bool) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_bucket(js, BUCKET, allow_direct=direct, deny_delete=False)
        await asyncio.gather(*(js.put_entry(BUCKET, f"k{n}", b"v", expected_revision=0) for n in range(2500)))
        done(await js.request(f"STREAM.MSG.DELETE.KV_{BUCKET}", {"seq": 1200}))  # in the middle
        done(await js.request(f"STREAM.MSG.DELETE.KV_{BUCKET}", {"seq": 2500}))  # the last
        return await observe(js)

    found = talk(account, work).entries[BUCKET]
    assert len(found) == 2498
    assert found["k42"] == Entry(b"v", 43)


def test_a_big_bucket_is_read_faster_than_it_is_filled(account: Account) -> None:
    async def work(js: JetStream) -> tuple[int, float, float]:
        await make_bucket(js, BUCKET)
        keys = [f"k{n}" for n in range(10_000)]
        began = time.process_time()  # ours alone, and compared with ours: whatever the machine and its load
        await asyncio.gather(*(js.put_entry(BUCKET, key, b"x" * 300, expected_revision=0) for key in keys))
        filled = time.process_time()
        return len((await observe(js)).entries[BUCKET]), time.process_time() - filled, filled - began

    count, reading, filling = talk(account, work)
    assert count == 10_000
    assert reading < filling


@on_every_version
@pytest.mark.parametrize("direct", [True, False])
def test_of_our_own_bucket_all_is_read_but_the_journal(account: Account, direct: bool) -> None:
    keys = ("id", "owned.stream.A", "intent.consumer.A.c", "lease.orders")

    async def work(js: JetStream) -> Snapshot:
        await make_bucket(js, "reconciler", allow_direct=direct)
        for key in (*keys, "journal.1.begun"):
            await js.put_entry("reconciler", key, b"{}", expected_revision=0)
        return await observe(js)

    assert set(talk(account, work).entries["reconciler"]) == set(keys)


def test_entries_in_a_bucket_without_messages_are_known_to_be_none(account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_bucket(js, BUCKET)
        return await observe(js)

    assert talk(account, work).entries == {BUCKET: {}}


@on_every_version
def test_looking_leaves_no_trace(account: Account) -> None:
    async def work(js: JetStream) -> tuple[object, object]:
        await make_bucket(js, BUCKET)
        await make_stream(js, "S")
        await make_consumer(js, "S", "c")
        before = done(await js.request("INFO"))
        await observe(js)
        after = done(await js.request("INFO"))
        return [{k: v for k, v in told.items() if k != "api"} for told in (before, after)]  # type: ignore[return-value]

    before, after = talk(account, work)
    assert before == after


@on_every_version
def test_questions_are_answered_per_subject(account: Account) -> None:
    asked, lost = SubjectCounts(stream="S", filter="s.>"), SubjectCounts(stream="NOPE", filter=">")

    async def work(js: JetStream) -> object:
        await make_stream(js, "S", subjects=["s.>"])
        for subject in ("s.a", "s.b", "s.a"):
            await js.pipeline.nc.request(subject, b"", timeout=20)
        return await ask(js, [asked, lost])

    assert talk(account, work) == {asked: {"s.a": 2, "s.b": 1}, lost: Unanswered("stream not found (10059)")}


def test_a_wrong_domain_is_named_as_such(account: Account) -> None:
    with pytest.raises(CannotContinue) as caught:
        talk(account, observe, domain="nowhere")
    (said,) = caught.value.diagnostics
    assert said.code == "NA104"
    assert "nothing answers at $js.nowhere.api" in said.message.lower()


@pytest.mark.parametrize("clustered_account", ["2.11", "2.15"], indirect=True)
def test_a_cluster_is_known_by_its_name(clustered_account: Account) -> None:
    async def work(js: JetStream) -> Snapshot:
        await make_streams(js, "A", "B", "C", num_replicas=3)
        return await observe(js)

    snapshot = talk(clustered_account, work)
    assert snapshot.target.cluster == "C1"
    assert snapshot.target.version == Version.parse(VERSIONS[clustered_account.minor])
    assert set(snapshot.streams) == {"A", "B", "C"}
    assert snapshot.why_stream_unknown("A") is None


def test_a_replica_that_lags_behind_is_not_believed(clustered_account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await make_bucket(js, BUCKET, num_replicas=3)
        seen = []
        for n in range(60):
            await js.put_entry(BUCKET, "k", b"%d" % n, expected_revision=None)
            seen.append((await observe(js)).entries[BUCKET]["k"].revision)
        return seen

    assert talk(clustered_account, work) == list(range(1, 61))


def test_a_copy_that_its_leader_says_nothing_of_is_not_believed(account: Account) -> None:
    async def work() -> Snapshot:
        async with losing(account.server.port, *[b"stream_msg_get_response"] * 50) as port:
            nc = await connect(f"nats://127.0.0.1:{port}", account.user, account.password)
            js = await JetStream.open(nc, within=0.3)
            await make_bucket(js, BUCKET)
            await js.pipeline.request(f"$KV.{BUCKET}.k", b"1", within=20)
            snapshot = await observe(js)
            await js.close()
            await nc.close()
        return snapshot

    snapshot = asyncio.run(work())
    assert "no answer in time" in (snapshot.why_bucket_unknown(BUCKET) or "")
    assert BUCKET not in snapshot.entries


@pytest.mark.parametrize("minor", ["2.11", "2.12", "2.15"])
def test_an_account_in_operator_mode_has_a_name_where_the_server_tells_it(minor: str, tmp_path: Path) -> None:
    operator, creds = Operator(), tmp_path / "user.creds"
    creds.write_text(operator.creds())

    class Trusted:
        async def connect(self) -> Client:
            return await nats.connect(server.url, user_credentials=str(creds))

    with NatsServer(minor, operator.config) as server:
        target = talk(Trusted(), observe).target
    assert (len(target.account or ""), target.account_name) == (56, None if minor == "2.11" else "A")
