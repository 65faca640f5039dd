"""One apply at a time: two at once, one that is killed, one that is suspended, one that waits in vain."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.memory.lease import Free, Held, Holder, encode_holder, lease_key
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger.records import BUCKET
from reconciler.server.read.observe import observe
from reconciler.server.read.read_kv import entry
from reconciler.server.remember import ledger
from reconciler.server.remember.lease import (
    Leases,
    LeaseTerms,
    Unavailable,
    end_if_still_held,
    lease_state,
    leased,
)
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.cli.running import environment
from tests.faults.kinds import TRANSIENT
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.lease.conftest import TTL, Applier, streams
from tests.support.accounts import Account, connect
from tests.support.binaries import NEWEST, OLDEST
from tests.support.jetstream import done, make_bucket, make_stream, talk
from tests.support.lossy import losing
from tests.support.servers import NatsServer
from tests.support.suspending import suspended
from tests.support.topologies import read
from tests.support.versions import on_every_version

PATIENT = LeaseTerms(ttl=20, every=0.5, grace=60)
"""Of those who are given it in the end, however long everything takes."""
IMPATIENT = LeaseTerms(ttl=20, every=1, grace=-19)


def holder(run: str, topology: str = "t") -> Holder:
    return Holder(topology=topology, run=run, user=run, host="here", pid=7, since="2026-01-01T00:00:00Z")


async def bucket(js: JetStream) -> None:
    await ledger.ensure_bucket(js, await observe(js))


def held(leases: Leases | Unavailable) -> Leases:
    assert isinstance(leases, Leases), leases
    return leases


@on_every_version
def test_a_lease_is_kept_longer_than_its_term_and_given_back(account: Account) -> None:
    async def work(js: JetStream) -> tuple[str | None, bool, list[str]]:
        await bucket(js)
        waited_for: list[str] = []
        async with leased(js, [holder("a")], terms=LeaseTerms(ttl=4, every=0.5)) as first:
            with pytest.raises(CannotContinue, match=r"being applied by a on here \(process 7\) since 2026-01-01"):
                async with leased(js, [holder("b")], terms=LeaseTerms(ttl=1, every=1, grace=4)):
                    pass  # that was waited for longer than the term of the first
            lost = held(first).why_lost()
        async with leased(js, [holder("b")], terms=PATIENT, tell=waited_for.append) as second:
            return lost, held(second).why_lost() is None, waited_for

    assert talk(account, work) == (None, True, [])


@on_every_version
def test_a_lease_nobody_renews_is_free_after_its_term(account: Account) -> None:
    async def work(js: JetStream) -> tuple[list[str], float]:
        await bucket(js)
        said: list[str] = []
        headers = {"Nats-TTL": "3s"}
        began = time.monotonic()
        put = await js.put_entry(
            "reconciler", lease_key("t"), b'{"run":"gone","user":"ann"}', expected_revision=0, headers=headers
        )
        assert isinstance(put, Stored)
        async with leased(js, [holder("b")], terms=PATIENT, tell=said.append):
            return said, time.monotonic() - began

    said, seconds = talk(account, work)
    assert said[0].startswith("topology t is being applied by ann on")
    assert seconds > 2.5


@on_every_version
def test_who_works_on_after_unlock_has_stopped_before_anybody_else_gets_the_lease(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECONCILER_LEASE_TTL", "4")  # renewed each second

    async def work(js: JetStream) -> tuple[object, str | None]:
        await bucket(js)
        async with leased(js, [holder("a")], terms=LeaseTerms.usual()) as first:
            shown = await lease_state(js, "t")
            assert isinstance(shown, Held)
            ended = await end_if_still_held(js, shown)
            async with leased(js, [holder("b")], terms=PATIENT):
                return ended, held(first).why_lost()

    ended, lost = talk(account, work)
    assert isinstance(ended, Free)
    assert lost == "the lease of topology t ran out, or was removed by `reconciler unlock`"


async def one(js: JetStream, run: str, inside: list[str], most: list[int]) -> None:
    """Takes it, and notes how many have it then."""
    async with leased(js, [holder(run)], terms=PATIENT) as leases:
        inside.append(run)
        most.append(len(inside))
        await asyncio.sleep(0.05)
        assert held(leases).why_lost() is None
        inside.remove(run)


@on_every_version
def test_one_of_many_takers_gets_it(account: Account) -> None:
    async def work(js: JetStream) -> list[int]:
        await bucket(js)
        most: list[int] = []
        inside: list[str] = []
        await asyncio.gather(*(one(js, f"r{n}", inside, most) for n in range(8)))
        return most

    assert talk(account, work) == [1] * 8


def test_on_a_bucket_with_three_replicas_one_of_many_has_it_and_it_ends_with_its_term(
    clustered_account: Account,
) -> None:
    async def work(js: JetStream) -> tuple[int, list[int], str]:
        await bucket(js)
        replicas = done(await js.request("STREAM.INFO.KV_reconciler"))["config"]["num_replicas"]
        inside: list[str] = []
        most: list[int] = []
        await asyncio.gather(*(one(js, f"r{n}", inside, most) for n in range(4)))
        gone = b'{"run":"gone","user":"ann"}'
        headers = {"Nats-TTL": "1s"}
        put = await js.put_entry("reconciler", lease_key("t"), gone, expected_revision=None, headers=headers)
        assert isinstance(put, Stored)
        async with leased(js, [holder("b")], terms=PATIENT) as leases:
            there = await entry(js, "reconciler", lease_key("t"))
            assert held(leases).why_lost() is None
            return replicas, most, there.value.decode()  # type: ignore[union-attr]

    replicas, most, value = talk(clustered_account, work)
    assert (replicas, most, '"run":"b"' in value) == (3, [1] * 4, True)


def test_a_renewal_whose_answer_never_came_does_not_keep_the_lease_from_being_given_back(account: Account) -> None:
    async def work(js: JetStream) -> bytes:
        await bucket(js)
        async with leased(js, [holder("a")], terms=LeaseTerms(ttl=20, every=60)):
            again = encode_holder(holder("a"))
            await js.put_entry("reconciler", lease_key("t"), again, expected_revision=None, headers={"Nats-TTL": "30s"})
        there = await entry(js, "reconciler", lease_key("t"))
        return there.value  # type: ignore[union-attr]

    assert talk(account, work) == b""


def test_whoever_was_taken_over_learns_it_and_gives_nothing_back(account: Account) -> None:
    async def work(js: JetStream) -> tuple[str | None, bool, bytes]:
        await bucket(js)
        gone = asyncio.Event()
        async with leased(js, [holder("a")], terms=LeaseTerms(ttl=20, every=0.5), stop=gone) as leases:
            await js.put_entry(
                "reconciler", lease_key("t"), b'{"run":"b","user":"bob","host":"h"}', expected_revision=None
            )
            await asyncio.wait_for(gone.wait(), 30)
            lost = held(leases).why_lost()
        there = await entry(js, "reconciler", lease_key("t"))
        return lost, gone.is_set(), there.value  # type: ignore[union-attr]

    lost, told, value = talk(account, work)
    assert lost == "the lease of topology t was taken over by bob on h (process 0)"
    assert told
    assert b'"bob"' in value


def test_a_refusal_that_passes_is_waited_for_and_no_reason_to_go_on_without_a_lease(account: Account) -> None:
    """While a cluster has no leader, each question to it is refused."""
    look, over = "$JS.API.STREAM.MSG.GET.KV_reconciler", time.monotonic() + 2

    async def work() -> bool:
        async with wire(lambda: account.server.port, Point(Request(look, 1), Side.REQUEST)) as between:
            near = await account.connect()
            far = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
            other, js = await JetStream.open(near), await JetStream.open(far)
            await bucket(other)

            async def refused(moment: Moment) -> Goes:
                if time.monotonic() > over:
                    return Goes.ON
                between.at, between.was_reached = Point(Request(look, between.seen[look] + 1), Side.REQUEST), False
                moment.answer({"error": TRANSIENT})
                return Goes.NOWHERE

            between.act = refused
            async with leased(js, [holder("a")], terms=PATIENT) as leases:
                found = isinstance(leases, Leases)
            await near.close()
            await far.close()
        return found

    assert asyncio.run(work())
    assert time.monotonic() > over


def test_a_bucket_whose_creation_nobody_confirmed_is_there_all_the_same(account: Account) -> None:
    async def work() -> tuple[object, set[str]]:
        async with losing(account.server.port, b'"io.nats.jetstream.api.v1.stream_create_response"') as port:
            nc = await connect(f"nats://127.0.0.1:{port}", account.user, account.password)
            js = await JetStream.open(nc, within=2)
            unusable = await ledger.ensure_bucket(js.persistent(), await observe(js))
            keys = set((await observe(js)).entries["reconciler"])
            await js.close()
            await nc.close()
        return unusable, keys

    assert asyncio.run(work()) == (None, {"id"})


def test_somebody_who_was_there_for_a_moment_between_two_looks_was_waited_for(account: Account) -> None:
    """Two leases: the second was free when it was looked at, and is free again at the next look."""

    async def work() -> bool:
        second = Point(Request(f"$KV.reconciler.{lease_key('u')}", 1), Side.REQUEST)
        async with wire(lambda: account.server.port, second) as between:
            near = await account.connect()
            far = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
            other, js = await JetStream.open(near), await JetStream.open(far)
            await bucket(other)

            async def comes_and_goes(_moment: Moment) -> Goes:
                async with leased(other, [holder("b", "u")]):
                    return Goes.ON

            between.act = comes_and_goes
            async with leased(js, [holder("a", "t"), holder("a", "u")]) as leases:
                waited = held(leases).waited
            await near.close()
            await far.close()
        return waited

    assert asyncio.run(work())


def test_why_a_lease_could_not_be_renewed_is_said_with_the_way_out(account: Account) -> None:
    async def work(js: JetStream) -> str | None:
        await bucket(js)
        gone = asyncio.Event()
        async with leased(js, [holder("a")], terms=LeaseTerms(ttl=4, every=0.5), stop=gone) as leases:
            config = done(await js.request("STREAM.INFO.KV_reconciler"))["config"]
            done(await js.request("STREAM.UPDATE.KV_reconciler", {**config, "max_bytes": 1}))
            await asyncio.wait_for(gone.wait(), 30)
            return held(leases).why_lost()

    lost = talk(account, work)
    assert lost is not None
    assert lost.startswith(
        "the lease of topology t was not renewed in time: maximum bytes exceeded (10077); give bucket reconciler room"
    )


def test_without_ttl_in_the_bucket_there_are_no_leases(account: Account) -> None:
    async def work(js: JetStream) -> Leases | Unavailable:
        await make_bucket(js, "reconciler")
        async with leased(js, [holder("a")], terms=PATIENT) as leases:
            return leases

    assert talk(account, work) == Unavailable("per-message TTL is disabled (10166)")


def test_a_new_leader_of_the_cluster_that_does_not_know_the_bucket_yet_is_asked_again(account: Account) -> None:
    the_leader = "$JS.API.STREAM.MSG.GET.KV_reconciler"

    async def not_found(moment: Moment) -> Goes:
        moment.answer({"error": {"code": 404, "err_code": 10059, "description": "stream not found"}})
        return Goes.NOWHERE

    async def work() -> bool:
        async with wire(lambda: account.server.port, Point(Request(the_leader, 1), Side.REQUEST)) as between:
            between.act = not_found
            nc = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
            js = await JetStream.open(nc)
            async with leased(js, [holder("a")], terms=PATIENT) as leases:
                is_ours = held(leases).why_lost() is None
            await js.close()
            await nc.close()
            return is_ours and between.was_reached

    talk(account, bucket)
    assert asyncio.run(work())


@pytest.mark.parametrize("minor", [OLDEST, NEWEST])
def test_a_server_that_is_away_is_told_as_such(minor: str) -> None:
    async def away() -> CannotContinue:
        nc = await connect(server.url, "", "")
        js = await JetStream.open(nc)
        await bucket(js)
        server.close()
        with pytest.raises(CannotContinue) as raised:
            async with leased(js, [holder("a")], terms=IMPATIENT):
                pass
        await js.close()
        await nc.close()
        return raised.value

    with NatsServer(minor) as server:
        [problem] = asyncio.run(away()).diagnostics
    assert problem.message.startswith("The server cannot be reached, so the lease of topology t could not be taken")
    assert problem.fix == "Apply again when the server can be reached."


def test_the_leases_of_several_topologies_are_all_given_back_when_one_is_held(account: Account) -> None:
    async def work(js: JetStream) -> list[bool]:
        await bucket(js)
        async with leased(js, [holder("x", "m")], terms=LeaseTerms(ttl=20, every=2)):
            with pytest.raises(CannotContinue):
                async with leased(js, [holder("a", name) for name in ("z", "m", "b")], terms=IMPATIENT):
                    pass
            entries = [await entry(js, "reconciler", lease_key(name)) for name in ("b", "m", "z")]
        return [one is None or one.deleted for one in entries]  # type: ignore[union-attr]

    assert talk(account, work) == [True, False, True]


def test_renewals_that_arrive_keep_a_lease_also_where_none_of_their_answers_does(account: Account) -> None:
    """As on a network or a server so slow that every answer comes too late."""

    async def work() -> str | None:
        acknowledgements = [b'"stream":"KV_reconciler","seq":%d' % number for number in range(3, 30)]
        async with losing(account.server.port, *acknowledgements) as port:
            nc = await connect(f"nats://127.0.0.1:{port}", account.user, account.password)
            js = await JetStream.open(nc)
            await bucket(js)
            async with leased(js, [holder("a")], terms=LeaseTerms(ttl=5, every=0.7)) as leases:
                await asyncio.sleep(6)
                lost = held(leases).why_lost()
            await nc.close()
        return lost

    assert asyncio.run(work()) is None


def test_whoever_is_stopped_while_it_waits_does_nothing_more(account: Account, tmp_path: Path) -> None:
    stop = asyncio.Event()

    async def work(js: JetStream) -> tuple[Finished, float, int]:
        await bucket(js)
        planned = await plan(read(tmp_path, streams(3), name="t"), js)
        async with leased(js, [holder("a")]):
            began = time.monotonic()
            events = [event async for event in apply(planned, js, stop=stop, tell=lambda _: stop.set())]
            took = time.monotonic() - began
        assert isinstance(events[-1], Finished)
        return events[-1], took, await number_of_streams(js)

    finished, took, made = talk(account, work)
    assert (finished.stopped, finished.warnings, made) == ("interrupted", (), 0)
    assert len(finished.not_started) == 3
    assert took < 20, "the lease would have been waited for up to 25 s"


def test_whoever_is_stopped_before_anything_is_written_down_does_not_say_that_it_was(
    account: Account, tmp_path: Path
) -> None:
    stop = asyncio.Event()

    async def work(js: JetStream) -> Finished:
        await bucket(js)
        await make_stream(js, "S0", subjects=["s.0"])
        planned = await plan(read(tmp_path, streams(1), name="t"), js)
        assert (len(planned.plan.records), planned.plan.steps) == (1, ())
        async with leased(js, [holder("a")]):
            events = [event async for event in apply(planned, js, stop=stop, tell=lambda _: stop.set())]
        assert isinstance(events[-1], Finished)
        return events[-1]

    assert talk(account, work).stopped == "interrupted"


def test_whose_lease_was_removed_before_anything_is_written_down_says_that_and_not_that_somebody_stopped_it(
    account: Account, tmp_path: Path
) -> None:
    stop = asyncio.Event()

    async def unlocked(_planned: Planned, js: JetStream) -> None:
        done(await js.write(f"STREAM.PURGE.KV_{BUCKET}", {"filter": f"$KV.{BUCKET}.{lease_key('t')}"}))
        await stop.wait()

    async def work(js: JetStream) -> Finished:
        await make_stream(js, "S0", subjects=["s.0"])
        planned = await plan(read(tmp_path, streams(1), name="t"), js)
        events = apply(planned, js, stop=stop, terms=PATIENT, backup=unlocked)
        return [event async for event in events if isinstance(event, Finished)][-1]

    finished = talk(account, work)
    said = "the lease of topology t ran out, or was removed by `reconciler unlock`"
    assert (finished.is_success, finished.stopped) == (False, said)
    assert [said in one.message for one in finished.warnings if one.code == "LE103"] == [True]


@on_every_version
def test_of_two_appliers_at_once_one_works_and_the_other_waits_for_it(account: Account, tmp_path: Path) -> None:
    """Both planned before either began, so that the one that comes second finds its work done."""

    async def work() -> tuple[list[str], list[str]]:
        async with (
            Applier.started(tmp_path / "a", account, streams(MANY)) as first,
            Applier.started(tmp_path / "b", account, streams(MANY)) as second,
        ):
            await asyncio.gather(first.has_planned(), second.has_planned())
            first.goes("stay")
            second.goes("stay")
            said = {await one.says(): one for one in (first, second)}
            said["began"].goes()  # whichever that is, it had the lease until the other had asked for it
            return sorted(said), [await first.last(), await second.last()]

    (began, waiting), ends = asyncio.run(work())
    assert began == "began"
    assert waiting.startswith("waiting topology t is being applied by")
    assert sorted(ends) == ["done 0 failed 0", f"done {MANY} failed 0"]


@on_every_version
def test_after_an_applier_is_killed_the_next_takes_over_and_finishes(account: Account, tmp_path: Path) -> None:
    async def work() -> tuple[str, str]:
        async with Applier.started(tmp_path / "b", account, streams(MANY)) as second:
            async with Applier.started(tmp_path / "a", account, streams(MANY), TTL) as first:
                await asyncio.gather(first.has_planned(), second.has_planned())
                first.goes()
                assert await first.says() == "began"
            second.goes()
            return await second.says(), await second.last()

    waited, ended = asyncio.run(work())
    assert waited.startswith("waiting topology t is being applied by")
    assert ended.endswith("failed 0")
    assert talk(account, number_of_streams) == MANY


@on_every_version
def test_an_applier_that_sleeps_through_its_lease_writes_nothing_more(
    account: Account, new_account: Callable[..., Account], tmp_path: Path
) -> None:
    """It is suspended among its steps, another takes over and is done; then it wakes. Where it was suspended between asking
    whether it may write and handing the requests to the system, those still go out, which are no more than a window. That
    takes some microseconds, so nobody is suspended there twice."""
    late = written_after_sleep(account, tmp_path / "first")
    assert late <= WINDOW
    if late > 1:
        assert written_after_sleep(new_account(account.minor), tmp_path / "second") <= 1


def written_after_sleep(account: Account, folder: Path) -> int:
    """How many streams an applier still creates that sleeps through its lease. It writes nothing else."""
    folder.mkdir()

    async def work() -> tuple[str, list[int], str, list[int]]:
        async with (
            Applier.started(folder / "a", account, streams(MANY), TTL) as sleeper,
            Applier.started(folder / "b", account, "streams: {OTHER: {subjects: [other]}}\n") as other,
        ):
            await asyncio.gather(sleeper.has_planned(), other.has_planned())
            sleeper.goes()
            assert await sleeper.says() == "began"
            with suspended(sleeper.process.pid):
                other.goes()
                ended = await other.last()
                before = await asyncio.to_thread(talk, account, traces)
            woken = await sleeper.last()
            return ended, before, woken, await asyncio.to_thread(talk, account, traces)

    ended, before, woken, after = asyncio.run(work())
    assert ended == "done 1 failed 0"
    assert woken.startswith("stopped the lease of topology t was")
    assert before[0] < MANY, "it was suspended before its end"
    assert after[1] == before[1], "nothing was written into the journal or the ledger"
    return after[0] - before[0]


def test_in_many_rounds_of_two_processes_each_is_alone(account: Account, tmp_path: Path) -> None:
    talk(account, bucket)

    async def work() -> list[str]:
        command = (sys.executable, "-m", "tests.lease.rounds", account.url, account.user, "15")
        both = [
            await asyncio.create_subprocess_exec(*command, env=environment(tmp_path), stdout=asyncio.subprocess.PIPE)
            for _ in range(2)
        ]
        outputs = await asyncio.gather(*(one.communicate() for one in both))
        return [line for out, _ in outputs for line in out.decode().splitlines()]

    assert asyncio.run(work()) == ["alone"] * 30


WINDOW = 64
"""Requests that are under way at once."""

MANY = 500
"""Streams, so many that whoever has begun is not done a moment later."""


async def number_of_streams(js: JetStream) -> int:
    return int(done(await js.request("STREAM.NAMES", {"subject": "s.*"}))["total"])


async def traces(js: JetStream) -> list[int]:
    """What whoever writes anything changes: streams, and messages in the bucket."""
    return [await number_of_streams(js), done(await js.request("STREAM.INFO.KV_reconciler"))["state"]["last_seq"]]
