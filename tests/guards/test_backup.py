"""What is about to go is written down first, and comes back message by message; on a real server."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.apply.backup import back_up
from reconciler.journeys.plan.files import load
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.memory.lease import Held, lease_key, read_lease
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.ledger.records import BUCKET
from reconciler.report.outcome import outcome_text
from reconciler.server.read import lost_answers as settled
from reconciler.server.read.read_kv import entry
from reconciler.server.read.snapshot import archive_fault
from reconciler.server.remember.lease import LeaseTerms
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.e2e.here import Here, somebody
from tests.e2e.someone import Someone
from tests.guards.restoring import messages, restore
from tests.support.accounts import Account, User
from tests.support.binaries import MINORS
from tests.support.jetstream import done
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

S = "streams:\n  T: {subjects: [t]}\n  S: {subjects: [s.*], consumers: {c: {ack_policy: explicit}}}\n"
GONE = "streams: {T: {subjects: [t]}}\nremoved: [{address: stream/S, reason: r}, {address: consumer/S/c, reason: r}]\n"
NATS = os.environ.get("RECONCILER_NATS_CLI") or shutil.which("nats")


async def fill(js: JetStream) -> None:
    """Some megabytes that do not compress, so that the server waits for acknowledgements; and a hole."""
    for number in range(60):
        payload = os.urandom(200_000) if number % 2 else b"small"
        await js.pipeline.nc.request(f"s.{number % 3}", payload, timeout=20, headers={"n": str(number)})
    done(await js.write("STREAM.MSG.DELETE.S", {"seq": 7}))


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def worked(js: JetStream) -> None:
    """Ten delivered, five of them done."""
    nc = js.pipeline.nc
    answers = await nc.subscribe(inbox := nc.new_inbox())
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", b'{"batch":10}', reply=inbox)
    got = [await answers.next_msg(timeout=20) for _ in range(10)]
    for message in got[:5]:
        await nc.request(message.reply, b"+ACK", timeout=20)


def owner(folder: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    someone = somebody(folder, account, monkeypatch)
    someone.applied(S)
    return someone


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return owner(tmp_path, account, monkeypatch)


@on_every_version
def test_a_backup_brings_every_message_and_position_back(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = owner(tmp_path, account, monkeypatch)
    someone.ask(fill)
    someone.ask(worked)
    before = someone.ask(lambda js: messages(js, "S"))
    ran = someone.apply(GONE, "--backup", "kept")
    assert (ran.code, "Backed up S (59 messages" in ran.err) == (0, True), ran
    someone.ask(lambda js: restore(js, tmp_path / "kept" / "S"))
    assert someone.ask(lambda js: messages(js, "S")) == before
    consumer = someone.ask(info)
    assert (consumer["ack_floor"]["stream_seq"], consumer["num_pending"]) == (5, 49)
    assert listed(tmp_path / "kept" / "S") == ["backup.json", "stream.tar.s2"]


FEWER = S.replace("[s.*],", "[s.*], max_msgs: 10,")


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_the_backup_of_a_stream_that_stays_is_brought_back_elsewhere(
    minor: str, new_account: Callable[..., Account], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = owner(tmp_path, new_account(minor), monkeypatch)
    someone.ask(fill)
    before = someone.ask(lambda js: messages(js, "S"))
    ran = someone.apply(FEWER, "--backup", "kept", "--allow", "ST301=stream/S", "--allow", "CO301=consumer/S/c")
    said = " ".join(ran.err.split())
    assert (ran.code, "nothing is restored over it" in said, "without a stream S" in said) == (0, True, True), ran
    assert len(someone.ask(lambda js: messages(js, "S"))) == 10
    refused = someone.ask(lambda js: js.request("STREAM.RESTORE.S", head(tmp_path / "kept" / "S"), within=10))
    assert isinstance(refused, Refusal)
    assert refused.err_code == 10130, refused
    elsewhere = somebody(tmp_path, new_account(minor), monkeypatch)
    elsewhere.ask(lambda js: restore(js, tmp_path / "kept" / "S"))
    assert elsewhere.ask(lambda js: messages(js, "S")) == before


def test_from_2_15_on_a_stream_that_stays_comes_back_under_another_name(
    new_account: Callable[..., Account], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = owner(tmp_path, new_account("2.15"), monkeypatch)
    someone.ask(fill)
    before = someone.ask(lambda js: messages(js, "S"))
    assert someone.apply(FEWER, "--backup", "kept", "--allow", "ST301=stream/S").code == 0
    backup = tmp_path / "kept" / "S"
    whole = json.loads((backup / "backup.json").read_text())
    config = {name: value for name, value in whole["config"].items() if name != "subjects"}
    (backup / "backup.json").write_text(json.dumps({**whole, "config": {**config, "name": "OLD"}}))
    someone.ask(lambda js: restore(js, backup))
    assert someone.ask(lambda js: messages(js, "OLD")) == before


def head(folder: Path) -> dict[str, Any]:
    """What a restoration begins with."""
    whole = json.loads((folder / "backup.json").read_text())
    return {"config": whole["config"], "state": whole["state"]}


async def info(js: JetStream) -> Mapping[str, Any]:
    return done(await js.read("CONSUMER.INFO.S.c"))


if NATS:  # optional: the same is shown above over the API

    def test_the_nats_cli_restores_it(someone: Someone, tmp_path: Path) -> None:
        someone.ask(fill)
        before = someone.ask(lambda js: messages(js, "S"))
        assert someone.apply(GONE, "--backup", "kept").code == 0
        restoring = [str(NATS), *someone.login, "stream", "restore", "--no-progress", str(tmp_path / "kept" / "S")]
        ran = subprocess.run(restoring, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, ran
        assert someone.ask(lambda js: messages(js, "S")) == before


def test_nothing_is_written_over_and_nothing_done(someone: Someone, tmp_path: Path) -> None:
    (tmp_path / "kept" / "S").mkdir(parents=True)
    ran = someone.apply(GONE, "--backup", "kept")
    assert (ran.code, "backups are never overwritten" in ran.err, someone.ask(names)) == (1, True, ["S", "T"]), ran
    assert listed(tmp_path / "kept" / "S") == []


async def names(js: JetStream) -> list[str]:
    found = done(await js.request("STREAM.NAMES"))["streams"] or []
    return sorted(name for name in found if not name.startswith("KV_"))


def test_without_a_whole_backup_nothing_is_done(
    new_account: Callable[..., Account], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers before 2.15 have no snapshots of memory streams."""
    someone = owner(tmp_path, new_account("2.14"), monkeypatch)
    someone.applied(S + "  M: {storage: memory}\n")
    gone = f"{S}removed: [{{address: stream/M, reason: r}}]\n"
    ran = someone.apply(gone, "--backup", "kept")
    assert (ran.code, "no impl (10064)" in ran.err, someone.ask(names)) == (1, True, ["M", "S", "T"]), ran
    assert listed(tmp_path / "kept") == []
    assert "stopped" in someone("history").out.splitlines()[1]


def test_what_destroys_nothing_backs_nothing_up(someone: Someone, tmp_path: Path) -> None:
    ran = someone.apply(S.replace("[t]", "[t, u]"), "--backup", "kept")
    assert (ran.code, "nothing was backed up" in ran.err, (tmp_path / "kept").exists()) == (0, True, False), ran


def test_a_saved_plan_backs_up_as_well(someone: Someone, tmp_path: Path) -> None:
    assert someone.plan(GONE, "-o", "p.json").code == 0
    ran = someone("apply", "p.json", "--yes", "--backup", "kept")
    assert (ran.code, someone.ask(names)) == (0, ["T"]), ran
    assert json.loads((tmp_path / "kept" / "S" / "backup.json").read_text())["config"]["name"] == "S"


def test_what_comes_next_is_backed_up_as_well() -> None:
    interrupted = outcome_text(Finished(stopped="interrupted"), arguments="t.yaml", backup="my backups")
    assert interrupted.splitlines()[-1] == "Next: reconciler apply t.yaml --backup 'my backups'"


def test_what_comes_next_writes_over_no_backup(someone: Someone, tmp_path: Path) -> None:
    """Interrupted after the backup, when it looks once more; what it says to run next works as it stands."""
    file = someone.write(GONE)
    ran = someone.interrupted("$JS.API.STREAM.LIST", "apply", file, "--yes", "--backup", "kept", nth=3)
    assert (ran.code, listed(tmp_path / "kept"), someone.ask(names)) == (130, ["S"], ["S", "T"]), ran
    assert "--backup kept-2" in ran.out, ran.out
    again = someone("apply", file, "--yes", "--backup", "kept-2")
    assert (again.code, someone.ask(names)) == (0, ["T"]), again


def test_an_empty_name_is_no_folder(someone: Someone, tmp_path: Path) -> None:
    ran = someone.apply(GONE, "--backup", "")
    assert (ran.code, someone.ask(names), (tmp_path / "S").exists()) == (64, ["S", "T"], False), ran


def test_a_folder_that_cannot_be_written_stops_everything(someone: Someone, tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    ran = someone.apply(GONE, "--backup", "kept")
    assert (ran.code, "Cannot write kept" in ran.err, someone.ask(names)) == (1, True, ["S", "T"]), ran


def test_a_deleted_consumer_takes_its_stream_into_the_backup(someone: Someone, tmp_path: Path) -> None:
    text = "streams: {T: {subjects: [t]}, S: {subjects: [s.*]}}\nremoved: [{address: consumer/S/c, reason: r}]\n"
    assert someone.apply(text, "--backup", "kept").code == 0
    assert listed(tmp_path / "kept") == ["S"]


def test_it_is_taken_when_nobody_else_may_change_anything(someone: Someone, tmp_path: Path) -> None:
    someone.write(GONE)
    topology = load([tmp_path / "topology.yaml"]).topology
    assert topology
    seen: list[object] = []

    async def looks(_planned: Planned, js: JetStream) -> None:
        stored = await entry(js, BUCKET, lease_key("t"))
        assert not isinstance(stored, Refusal | NoAnswer), stored
        seen.append(read_lease(stored, "t"))
        raise CannotContinue

    async def applied(js: JetStream) -> None:
        planned = await plan(topology, js)
        with pytest.raises(CannotContinue):
            _ = [event async for event in apply(planned, js, backup=looks)]

    someone.ask(applied)
    assert isinstance(seen[0], Held)
    assert someone.ask(names) == ["S", "T"]


def test_interrupted_while_it_is_taken_nothing_is_done(someone: Someone, tmp_path: Path) -> None:
    someone.write(GONE)
    topology = load([tmp_path / "topology.yaml"]).topology
    assert topology
    stop = asyncio.Event()

    async def interrupted(_planned: Planned, _js: JetStream) -> None:
        stop.set()
        await asyncio.Event().wait()

    async def applied(js: JetStream) -> Finished:
        planned = await plan(topology, js)
        return [event async for event in apply(planned, js, stop=stop, backup=interrupted)][-1]  # type: ignore[return-value]

    finished = someone.ask(applied)
    assert (someone.ask(names), finished.done, finished.stopped) == (["S", "T"], (), "interrupted")


def test_a_lease_lost_while_it_is_taken_lets_nothing_be_done(someone: Someone, tmp_path: Path) -> None:
    someone.write(GONE)
    topology = load([tmp_path / "topology.yaml"]).topology
    assert topology

    async def unlocked(_planned: Planned, js: JetStream) -> None:
        await settled.delete(js, BUCKET, lease_key("t"), expected_revision=None)
        await asyncio.Event().wait()

    async def applied(js: JetStream) -> Finished:
        planned, terms = await plan(topology, js), LeaseTerms(ttl=20, every=0.1)
        return [event async for event in apply(planned, js, terms=terms, backup=unlocked)][-1]  # type: ignore[return-value]

    finished = someone.ask(applied)
    assert (someone.ask(names), finished.done) == (["S", "T"], ())
    assert "ran out, or was removed" in str(finished.stopped)


def test_a_slow_disk_holds_up_nothing_else(someone: Someone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease is renewed on the same event loop."""

    async def taken(js: JetStream) -> list[bool]:
        there, goes_on, waited = asyncio.Event(), threading.Event(), []
        loop = asyncio.get_running_loop()

        def slow(_disk: int) -> None:
            loop.call_soon_threadsafe(there.set)
            waited.append(goes_on.wait(10))

        monkeypatch.setattr(os, "fsync", slow)
        taking = asyncio.ensure_future(anext(back_up(js, ["S"], tmp_path / "kept")))
        await there.wait()
        goes_on.set()
        await taking
        return waited

    assert someone.ask(taken) == [True, True]


def test_who_may_not_take_snapshots_hears_it_before_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    may = 'publish: {deny: ["$JS.API.STREAM.SNAPSHOT.>"]}'
    users = f"{{user: boss, password: boss}}, {{user: ci, password: ci, permissions: {{{may}}}}}"
    with NatsServer(config=f"accounts {{ A: {{jetstream: enabled, users: [{users}]}} }}") as server:
        boss, ci = (Someone(Here(tmp_path), user, user.login) for user in (User(server, "boss"), User(server, "ci")))
        boss.applied(S)
        ran = ci.apply(GONE, "--backup", "kept")
        told = "AP301" in ran.err and "$JS.API.STREAM.SNAPSHOT.S" in ran.err
        assert (ran.code, told, (tmp_path / "kept").exists(), boss.ask(names)) == (1, True, False, ["S", "T"]), ran


def test_a_torn_archive_is_seen() -> None:
    begins, frame = b"\xff\x06\x00\x00S2sTwO", b"\x01\x08\x00\x00" + b"12345678"
    assert archive_fault(io.BytesIO(begins + frame)) is None
    assert archive_fault(io.BytesIO(begins + frame[:-1])) == "it ends in the middle of a frame"
    assert archive_fault(io.BytesIO(begins + frame[:2])) == "it ends in the middle of a frame"
    assert archive_fault(io.BytesIO(frame)) == "it does not begin as a snapshot does"
