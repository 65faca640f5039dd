"""Other names: a consumer goes on under a new one where it stood, cut off anywhere; what cannot be renamed is left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.change import Action
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.resource import Address
from reconciler.model.topology import Moved, Topology
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.testbed import imagined
from tests.convergence.drawing import topology
from tests.convergence.running import apply_offline, plan_offline, remaining
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done

STREAM, OLD, NEW = Address.of("stream", "S"), Address.of("consumer", "S", "old"), Address.of("consumer", "S", "new")
RETENTIONS = ("limits", "interest", "workqueue")


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def text(retention: str, consumers: str, moved: str = "") -> str:
    return f"{moved}streams: {{S: {{subjects: [s], retention: {retention}, consumers: {{{consumers}}}}}}}\n"


def renamed(retention: str, reason: str = ", reason: plainer") -> str:
    moved = f"moved: [{{from: consumer/S/old, to: consumer/S/new{reason}}}]\n"
    return text(retention, "new: {ack_policy: explicit}", moved)


def asked(someone: Someone, consumer: str, acknowledge: int, of: int) -> list[bytes]:
    """What a client of this consumer gets, of which it is done with some."""

    async def ask(js: JetStream) -> list[bytes]:
        nc = js.pipeline.nc
        answers = await nc.subscribe(inbox := nc.new_inbox())
        await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.S.{consumer}", b'{"batch":%d}' % of, reply=inbox)
        got = [await answers.next_msg(timeout=20) for _ in range(of)]
        for message in got[:acknowledge]:
            await nc.request(message.reply, b"+ACK", timeout=20)
        return [message.data for message in got]

    return someone.ask(ask)


async def publish(js: JetStream) -> None:
    for number in range(10):
        await js.pipeline.nc.request("s", b"%d" % number, timeout=20)


async def consumers(js: JetStream) -> list[str]:
    return sorted(done(await js.request("CONSUMER.NAMES.S"))["consumers"] or [])


async def owned_consumers(js: JetStream) -> list[str]:
    return sorted(a.name for a in remembered.read_memory(await observe(js), REGISTRY).records if a.kind == "consumer")


@pytest.mark.parametrize("retention", RETENTIONS)
def test_a_renamed_consumer_goes_on_where_the_old_one_stood(someone: Someone, retention: str) -> None:
    someone.applied(text(retention, "old: {ack_policy: explicit}"))
    someone.ask(publish)
    asked(someone, "old", acknowledge=3, of=4)
    ran = someone.apply(renamed(retention))
    assert (ran.code, someone.ask(consumers), someone.ask(owned_consumers)) == (0, ["new"], ["new"]), ran
    assert someone.has_nothing_to_do("topology.yaml")
    assert asked(someone, "new", acknowledge=7, of=7) == [b"%d" % number for number in range(3, 10)]


def test_the_entry_may_stay_and_may_go(someone: Someone) -> None:
    someone.applied(text("limits", "old: {ack_policy: explicit}"))
    someone.applied(renamed("limits"))
    assert someone.has_nothing_to_do("topology.yaml")
    assert someone.has_nothing_to_do(
        someone.write("reconciler: 1\ntopology: t\n" + text("limits", "new: {ack_policy: explicit}"))
    )


def test_without_a_reason_it_waits_for_consent(someone: Someone) -> None:
    someone.applied(text("limits", "old: {ack_policy: explicit}"))
    ran = someone.apply(renamed("limits", reason=""))
    assert (ran.code, "moved: [{from: consumer/S/old" in ran.out, someone.ask(consumers)) == (4, True, ["old"]), ran.out


def test_a_saved_plan_renames(someone: Someone) -> None:
    someone.applied(text("limits", "old: {ack_policy: explicit}"))
    assert someone.plan(renamed("limits"), "-o", "p.json").code == 0
    assert someone("apply", "p.json", "--yes").code == 0
    assert someone.ask(consumers) == ["new"]
    again = someone("apply", "p.json", "--yes")
    assert (again.code, "is done already" in again.out) == (0, True), again


def test_what_is_not_ours_is_not_renamed(someone: Someone) -> None:
    someone.applied(text("limits", ""))
    someone.ask(lambda js: js.write("CONSUMER.CREATE.S.old", {
        "stream_name": "S", "action": "create", "config": {"durable_name": "old", "ack_policy": "explicit"},
    }))  # fmt: skip
    ran = someone.apply(renamed("limits"))
    assert (ran.code, "XX104" in ran.out, someone.ask(consumers)) == (4, True, ["old"]), ran.out


def test_a_protected_consumer_keeps_its_name(someone: Someone) -> None:
    someone.applied(text("limits", "old: {ack_policy: explicit, protect: true}"))
    ran = someone.apply(renamed("limits"))
    assert (ran.code, "XX103" in ran.out, someone.ask(consumers)) == (4, True, ["old"]), ran.out


def test_a_stream_is_left_as_it_is_and_the_way_is_printed(someone: Someone) -> None:
    someone.applied("streams: {OLD: {subjects: [s]}}\n")
    ran = someone.apply("moved: [{from: stream/OLD, to: stream/NEW}]\nstreams: {NEW: {subjects: [s]}}\n")
    assert (ran.code, "2. Declare NEW with `sources: [{name: OLD}]`" in ran.out) == (4, True), ran.out


def test_the_printed_way_leads_there(someone: Someone) -> None:
    """Step by step, with every message at its end."""
    someone.applied("streams: {S: {subjects: [s]}}\n")
    someone.ask(publish)
    someone.applied("streams: {S: {subjects: [s]}, NEW: {sources: [{name: S}]}}\n")
    someone.ask(caught_up)
    someone.applied("streams: {S: {}, NEW: {subjects: [s], sources: [{name: S}]}}\n")
    someone.ask(publish)
    someone.applied("streams: {S: {}, NEW: {subjects: [s]}}\n")
    someone.applied("streams: {NEW: {subjects: [s]}}\nremoved: [{address: stream/S, reason: it is NEW now}]\n")
    assert someone.ask(stored) == 20


async def caught_up(js: JetStream) -> None:
    while await stored(js) < 10:
        pass


async def stored(js: JetStream) -> int:
    return int(done(await js.read("STREAM.INFO.NEW"))["state"]["messages"])


def wishes(retention: str, name: Address) -> dict[Address, dict[str, Any]]:
    return {STREAM: {"retention": retention, "subjects": ["S"]}, name: {"ack_policy": "explicit"}}


def moving(retention: str) -> Topology:
    moved = Moved(origin=OLD, address=NEW, reason="plainer")
    return replace(topology("drawn", wishes(retention, NEW)), moved=(moved,))


@pytest.mark.parametrize("retention", RETENTIONS)
@pytest.mark.parametrize("version", [Version(2, 11), Version(2, 15)], ids=str)
def test_cut_anywhere_the_next_run_finishes_the_renaming(retention: str, version: Version) -> None:
    account = imagined.empty_snapshot(Target(version=version, peers=1))
    live = apply_offline(plan_offline(topology("drawn", wishes(retention, OLD)), account), account)
    wanted = moving(retention)
    steps = [step for step in plan_offline(wanted, live).steps if step.undoes is None]
    assert steps
    for cut in range(len(steps) + 1):
        halfway = imagined.snapshot_after_steps(live, steps[:cut])
        after = apply_offline(plan_offline(wanted, halfway), halfway)
        assert (set(after.consumers["S"]), remaining(plan_offline(wanted, after), ())) == ({"new"}, []), cut


@pytest.mark.parametrize("retention", RETENTIONS)
def test_refused_under_the_new_name_it_is_there_under_the_old_one_and_the_next_run_renames_it(retention: str) -> None:
    account = imagined.empty_snapshot(Target(version=Version(2, 15), peers=1))
    live = apply_offline(plan_offline(topology("drawn", wishes(retention, OLD)), account), account)
    wanted = moving(retention)
    steps = plan_offline(wanted, live).steps
    back = next(step for step in steps if step.undoes)
    until = next(number for number, step in enumerate(steps) if step.id == back.undoes)
    before = [step for step in steps[:until] if step.undoes is None]
    refused = imagined.snapshot_after_steps(live, [*before, replace(back, undoes=None)])
    assert "old" in refused.consumers["S"]
    again = plan_offline(wanted, refused)
    assert [(change.address, change.fields) for change in again.changes] == [(str(NEW), ())], (
        "where it starts is no wish"
    )
    after = apply_offline(again, refused)
    assert (set(after.consumers["S"]), remaining(plan_offline(wanted, after), ())) == ({"new"}, [])


@pytest.mark.parametrize("retention", RETENTIONS)
def test_the_plan_is_one_replacement(retention: str) -> None:
    account = imagined.empty_snapshot(Target(version=Version(2, 15), peers=1))
    live = apply_offline(plan_offline(topology("drawn", wishes(retention, OLD)), account), account)
    plan = plan_offline(moving(retention), live)
    assert [(change.address, change.action) for change in plan.changes] == [("consumer/S/new", Action.REPLACE)]
