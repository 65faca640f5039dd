"""What happened since the plan was made is seen under the lease, before anything is lost: on real servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.events import ChangedSince, Finished
from reconciler.changes.plan import is_at_stake
from reconciler.journeys.adopt import adoption
from reconciler.journeys.apply.apply import LastLook, apply
from reconciler.journeys.plan.plan import Planned, plan, predicted_forms
from reconciler.memory.lease import Holder, lease_key
from reconciler.model.ledger.records import BUCKET
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Entry
from reconciler.server.read.read_kv import entry
from reconciler.server.remember import journal
from reconciler.server.remember.lease import leased
from reconciler.server.run.execute import execute
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.e2e.someone import Someone, login, start
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.lease.conftest import HEADER
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

DAY = 86_400_000_000_000
KEPT = "streams: {KEPT: {subjects: [k]}%s}\n"
A = KEPT % ", A: {subjects: [a]}"
GONE = KEPT % "" + "removed: [{address: stream/A, reason: old}]\n"
LIMITED = "streams: {A: {subjects: [a], max_msgs: %d%s}}\n"
AGREED = LIMITED % (2, ", allow: [{code: ST301, to: 2, reason: few are enough, upto: {messages: 3}}]")

CHANGED = "streams: {KEPT: {subjects: [k], max_age: 7d}}\n"
Meanwhile = Callable[[JetStream], Awaitable[object]]


async def planned(js: JetStream, folder: Path, text: str, name: str = "t", **options: object) -> Planned:
    return await plan(read(folder / name, text, name=name), js, RunOptions(**options))  # type: ignore[arg-type]


async def finished(what: Planned, js: JetStream) -> Finished:
    return [event async for event in apply(what, js) if isinstance(event, Finished)][-1]


async def applied(js: JetStream, folder: Path, text: str, name: str = "t", **options: object) -> None:
    assert (ended := await finished(await planned(js, folder, text, name, **options), js)).is_success, ended


async def published(js: JetStream, subject: str, number: int) -> None:
    for _ in range(number):
        await js.pipeline.nc.request(subject, b"x", timeout=20)


async def remade(js: JetStream) -> None:
    """Somebody deletes A, and makes the very same again."""
    config = done(await js.read("STREAM.INFO.A"))["config"]
    done(await js.write("STREAM.DELETE.A"))
    done(await js.write("STREAM.CREATE.A", config))


def codes(ended: Finished) -> list[str]:
    return [one.reason.code for one in ended.failed]


def removal(account: Account, folder: Path, stored: int, meanwhile: Meanwhile) -> tuple[list[str], bool]:
    """Why a removal of A is not made, of which somebody thinks for a while; and whether A is still there."""

    async def work(js: JetStream) -> tuple[list[str], bool]:
        await applied(js, folder, A)
        await published(js, "a", stored)
        made = await planned(js, folder, GONE)
        await meanwhile(js)
        ended = await finished(made, js)
        return codes(ended), "A" in done(await js.request("STREAM.NAMES"))["streams"]

    return talk(account, work)


def test_what_filled_up_since_somebody_was_asked_stays(account: Account, tmp_path: Path) -> None:
    assert removal(account, tmp_path, 1, lambda js: published(js, "a", 5)) == (["AP202"], True)


@on_every_version
def test_what_was_made_anew_since_somebody_was_asked_stays(account: Account, tmp_path: Path) -> None:
    assert removal(account, tmp_path, 3, remade) == (["AP201"], True)


@on_every_version
@pytest.mark.parametrize(
    ("wanted", "allow"), [(LIMITED % (2, ""), (("ST301", "stream/A"),)), (LIMITED % (100, ", description: x"), ())]
)
def test_what_was_made_anew_since_somebody_was_asked_is_not_changed(
    account: Account, tmp_path: Path, wanted: str, allow: tuple[tuple[str, str], ...]
) -> None:
    """It has come further than the one before."""

    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, LIMITED % (100, ""))
        await published(js, "a", 4)
        made = await planned(js, tmp_path, wanted, allow=allow)
        await remade(js)
        await published(js, "a", 6)
        return codes(await finished(made, js)), done(await js.read("STREAM.INFO.A"))["state"]["messages"]

    assert talk(account, work) == (["AP201"], 6)


def test_what_another_topology_took_over_since_stays(account: Account, tmp_path: Path) -> None:
    async def taken_over(js: JetStream) -> None:
        await applied(js, tmp_path, "streams: {A: {subjects: [a]}}\n", "other", take_over=("t",))

    assert removal(account, tmp_path, 0, taken_over) == (["AP203"], True)


def test_what_somebody_mirrors_by_now_stays(account: Account, tmp_path: Path) -> None:
    assert removal(account, tmp_path, 0, lambda js: make_stream(js, "M", mirror={"name": "A"})) == (["AP203"], True)


def test_what_is_as_it_was_goes(account: Account, tmp_path: Path) -> None:
    assert removal(account, tmp_path, 3, lambda js: published(js, "k", 1)) == ([], False)


QUEUED = "streams: {O: {subjects: [o.*], retention: %s%s}}\n"
GROUPED = (
    ", groups: {g: {type: elastic, max_members: 2, partitioning_filters: [{filter: o.*, partitioning_wildcards: [1]}]}}"
)
UNGROUPED = "removed: [{address: elastic_group/O/g, reason: over}]\n"


@on_every_version
@pytest.mark.parametrize(("retention", "ending"), [("workqueue", (["AP202"], 3)), ("limits", ([], None))])
def test_a_group_whose_queue_filled_up_since_stays_if_its_messages_exist_nowhere_else(
    account: Account, tmp_path: Path, retention: str, ending: tuple[list[str], int | None]
) -> None:
    async def queued(js: JetStream) -> int | None:
        info = await js.request("STREAM.INFO.O-g")
        return int(info["state"]["messages"]) if isinstance(info, dict) else None

    async def work(js: JetStream) -> tuple[list[str], int | None]:
        await applied(js, tmp_path, QUEUED % (retention, GROUPED))
        made = await planned(js, tmp_path, QUEUED % (retention, "") + UNGROUPED)
        await published(js, "o.1", 3)
        async with asyncio.timeout(30):
            while await queued(js) != 3:  # noqa: ASYNC110 - nothing announces that a queue has copied
                await asyncio.sleep(0.05)
        return codes(await finished(made, js)), await queued(js)

    assert talk(account, work) == ending


def test_the_bound_of_a_consent_is_measured_again(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, LIMITED % (100, ""))
        await published(js, "a", 4)
        made = await planned(js, tmp_path, AGREED)
        await published(js, "a", 4)
        return codes(await finished(made, js)), done(await js.read("STREAM.INFO.A"))["state"]["messages"]

    assert talk(account, work) == (["AP202"], 8)


@pytest.mark.parametrize(("since", "code"), [(remade, "AP201"), (lambda js: published(js, "a", 7), "AP202")])
def test_a_deletion_that_had_to_wait_for_other_steps_looks_once_more(
    account: Account, tmp_path: Path, since: Meanwhile, code: str
) -> None:
    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, A)
        await published(js, "a", 2)
        made = await planned(js, tmp_path, GONE)
        await since(js)
        look = LastLook.of(made.plan, made.snapshot).at
        events = [e async for e in execute(js, made.plan.steps, forms=predicted_forms(made.snapshot), last_look=look)]
        assert isinstance(events[-1], Finished)
        return codes(events[-1])

    assert talk(account, work) == [code]


def test_where_nothing_can_be_lost_nothing_is_looked_at_again(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[bool]:
        await applied(js, tmp_path, A)
        more = await planned(js, tmp_path, A + "kv_buckets: {B: {}}\n")
        edited = await planned(js, tmp_path, A.replace("[a]", "[a, b]"))
        return [is_at_stake(one.plan) for one in (more, edited, await planned(js, tmp_path, GONE))]

    assert talk(account, work) == [False, False, True]


GROUP = """
streams: {S: {subjects: [j.*], groups: {g: {
  type: elastic, max_members: 4, partitioning_filters: [{filter: j.*, partitioning_wildcards: [1]}], members: [%s]}}}}
"""


def test_a_membership_that_somebody_changed_since_is_told_with_all_three(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> Finished:
        await applied(js, tmp_path, GROUP % "a, b")
        made = await planned(js, tmp_path, GROUP % "a, b, c")
        record = await entry(js, "elastic-consumer-groups", "S.g")
        assert isinstance(record, Entry)
        theirs = record.value.replace(b'["a","b"]', b'["a","x"]')
        await js.put_entry("elastic-consumer-groups", "S.g", theirs, expected_revision=record.revision)
        return await finished(made, js)

    (failed,) = talk(account, work).failed
    assert failed.changed_since == (
        ChangedSince(path="members", planned=["a", "b"], now=["a", "x"], wanted=["a", "b", "c"]),
    )  # fmt: skip


async def waiting(what: Planned, js: JetStream, meanwhile: Meanwhile) -> Finished:
    """An apply that waits for another one, which does this `meanwhile`."""
    is_waiting = asyncio.Event()

    async def second() -> Finished:
        events = apply(what, js, tell=lambda _: is_waiting.set())
        return [event async for event in events if isinstance(event, Finished)][-1]

    async with leased(js, [Holder(topology="t", run="first", user="ann")]):
        running = asyncio.create_task(second())
        await asyncio.wait_for(is_waiting.wait(), 60)
        await meanwhile(js)
    return await running


def edited(**fields: object) -> Meanwhile:
    async def edit(js: JetStream) -> None:
        config = dict(done(await js.read("STREAM.INFO.A"))["config"])
        done(await js.write("STREAM.UPDATE.A", {**config, **fields}))

    return edit


def test_an_adoption_that_does_not_fit_any_more_is_told(account: Account, tmp_path: Path) -> None:
    """It has no step that could fail."""

    async def work(js: JetStream) -> tuple[Finished, str]:
        await applied(js, tmp_path, KEPT % "")
        await make_stream(js, "A", subjects=["a"])
        ended = await waiting(await planned(js, tmp_path, A), js, edited(max_msgs=5))
        runs = await journal.runs(js)
        assert isinstance(runs, list)
        return ended, runs[0].outcome

    ended, outcome = talk(account, work)
    assert (ended.is_success, [one.code for one in ended.left_alone], ended.done) == (False, ["AP103"], ())
    assert outcome == "incomplete"


def test_what_is_adopted_as_it_is_may_differ_from_the_file_also_after_waiting(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> Finished:
        await applied(js, tmp_path, KEPT % "")
        await make_stream(js, "A", subjects=["a"], max_msgs=5)
        found = adoption(await planned(js, tmp_path, A), as_is=True)
        return await waiting(found.planned, js, lambda js: published(js, "k", 1))

    assert talk(account, work).is_success


def test_a_run_that_found_its_work_done_has_only_recorded_it(account: Account, tmp_path: Path) -> None:
    age = KEPT % ", A: {subjects: [a], max_age: %s}"

    async def work(js: JetStream) -> tuple[object, Any]:
        await applied(js, tmp_path, age % "7d")
        ended = await waiting(await planned(js, tmp_path, age % "3d"), js, edited(max_age=3 * DAY))
        assert (ended.is_success, ended.done) == (True, ())
        runs = await journal.runs(js)
        assert isinstance(runs, list)
        newest = await journal.in_full(js, runs[0])
        return newest.outcome, newest.changes

    outcome, changes = talk(account, work)
    assert (outcome, changes["stream/A"]["action"]) == ("applied", "adopt")
    assert changes["stream/A"]["fields"]["max_age"]["to"] == 3 * DAY


def test_people_and_scripts_are_told_that_a_removal_was_refused(account: Account, tmp_path: Path) -> None:
    """The command itself; the stream fills up while its lease is on the way."""
    someone = Someone(Shell(tmp_path), account, login(account))
    someone.applied(A)

    async def fills(_moment: Moment) -> Goes:
        await asyncio.to_thread(someone.ask, lambda js: published(js, "a", 3))
        return Goes.ON

    async def work() -> tuple[int | None, dict[str, Any]]:
        file = someone.write(HEADER + GONE)
        at = Point(Request("$KV.reconciler.lease.t", 1), Side.REQUEST)
        async with wire(lambda: account.server.port, at) as between:
            between.act = fills
            through = ("--server", f"nats://127.0.0.1:{between.port}", *someone.login[2:])
            running = await start(someone.shell, "apply", file, "--yes", "--format", "json", *through)
            out, _ = await asyncio.wait_for(running.communicate(), 60)
            assert between.was_reached
        return running.returncode, json.loads(out)

    code, said = asyncio.run(work())
    (failed,) = said["failed"]
    assert (code, said["exit_code"], failed["reason"]["code"]) == (4, 4, "AP202")
    assert "The plan said 0 messages (ST310), and now it is 3" in failed["reason"]["message"]


def test_who_planned_before_or_while_another_was_at_work_looks_again_though_nobody_was_waited_for(
    account: Account, tmp_path: Path
) -> None:
    """Jobs of one commit: when their turn comes, the lease of the first is back, or nothing tells of it any more."""

    async def work(js: JetStream) -> list[tuple[bool, int]]:
        async def a_second_passes() -> None:
            """After which nothing is left of a lease that was given back."""
            done(await js.request(f"STREAM.PURGE.KV_{BUCKET}", {"filter": f"$KV.{BUCKET}.{lease_key('t')}"}))

        await applied(js, tmp_path, KEPT % "")
        await a_second_passes()
        first, before = await planned(js, tmp_path, CHANGED), await planned(js, tmp_path, CHANGED)
        async with leased(js, [Holder(topology="t", run="first", user="ann")]):
            meanwhile = await planned(js, tmp_path, CHANGED)
        await finished(first, js)
        ends = [await finished(meanwhile, js)]
        done(
            await js.request(f"STREAM.PURGE.KV_{BUCKET}", {"filter": f"$KV.{BUCKET}.{lease_key('t')}"})
        )  # as in a second
        ends.append(await finished(before, js))
        return [(one.is_success, len(one.done)) for one in ends]

    assert talk(account, work) == [(True, 0), (True, 0)]
