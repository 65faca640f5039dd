"""Every apply is in the journal: begun, ended, cut off; and leases can be seen and removed from the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reconciler.journeys.apply.exclusive import other_topologies
from reconciler.journeys.plan.plan import plan
from reconciler.memory.journal import MAX_RUNS, RUNS_PER_TOPOLOGY, begun_key, outdated_keys, split_chunks
from reconciler.memory.lease import lease_key
from reconciler.server.read.observe import observe
from reconciler.server.read.read_kv import entry, names
from reconciler.server.remember import capacity as room
from reconciler.server.remember import journal, ledger
from reconciler.server.remember.lease import GIVEN_BACK
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran, Shell
from tests.e2e.here import somebody
from tests.e2e.someone import Someone, start
from tests.lease.conftest import TTL, Applier, streams
from tests.support.accounts import Account
from tests.support.contracts import followed
from tests.support.jetstream import done, make_stream, talk
from tests.support.repository import Repository
from tests.support.servers import NatsServer
from tests.support.topologies import from_files
from tests.support.versions import on_every_version

HELD = json.dumps({"run": "x", "user": "ann", "host": "ci-7", "pid": 4, "since": "2026-01-01T00:00:00Z"}).encode()


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


@on_every_version
def test_an_apply_is_in_the_history_with_who_and_how_much(someone: Someone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTOR", "octocat")
    file = someone.write("streams: {A: {subjects: [a]}, B: {subjects: [b]}}\n")
    assert someone("apply", file, "--yes").code == 0
    (run,) = json.loads(someone("history", "--format", "json").out)["runs"]
    assert (run["topology"], run["user"], run["outcome"], run["steps"]) == ("t", "octocat", "applied", 2)
    assert (run["counts"], run["outcomes"]) == ({"create": 2}, {"done": 2})
    assert run["account_user"] == someone.login[3]
    assert run["began"] <= run["ended"]
    said = someone("history").out.splitlines()
    assert "octocat@" in said[1]
    assert said[1].endswith("  2  applied")


def test_what_a_partial_apply_left_out_and_files_that_no_revision_has_are_told(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    repository = Repository(someone.shell.folder)
    repository.git("init", "--quiet")
    file = someone.write("streams: {A: {subjects: [a], storage: memory}, B: {subjects: [b]}}\n")
    repository.commit({})
    someone.write("streams: {A: {subjects: [a], storage: memory}, B: {subjects: [b], max_age: 1h}}\n")
    assert someone("apply", file, "--yes", "--partial").code == 4
    newest = someone("history").out.splitlines()[1]
    assert newest.endswith("-dirty      1  applied, 1 change left out"), newest
    assert "-dirty\n" in someone("history", "diff").out.splitlines(keepends=True)[0]
    assert "applied, 1 change left out" in someone("history", newest.split()[0]).out


def test_one_run_in_full_names_what_was_done_and_why_something_failed(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")

    async def failed(js: JetStream) -> None:
        await make_stream(js, "B", subjects=["elsewhere"])

    file = someone.write("streams: {A: {subjects: [a]}, B: {subjects: [b]}, C: {subjects: [c]}}\n")
    someone.ask(failed)
    plan = someone.write("streams: {B: {subjects: [elsewhere], max_msgs: 5}}\n", "b.yaml")
    assert someone("apply", plan, "--yes").code == 0
    newest = json.loads(someone("history", "--format", "json").out)["runs"][0]
    full = json.loads(someone("history", str(newest["run"]), "--format", "json").out)
    assert full["became"] == {"done": {"stream.update": ["B"]}}
    text = someone("history", str(newest["run"])).out
    assert text.startswith(f"run {newest['run']} of topology t: applied\n")
    assert "done: 1 step stream.update B" in text
    assert file == "topology.yaml"


def test_an_apply_without_anything_to_do_leaves_no_run(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    assert someone("apply", "topology.yaml", "--yes").code == 0
    assert len(json.loads(someone("history", "--format", "json").out)["runs"]) == 1


def test_before_the_first_apply_there_is_no_run(someone: Someone) -> None:
    ran = someone("history")
    assert (ran.code, ran.out) == (0, "No run is remembered in this account.\n")


def test_a_topology_without_a_run_is_not_taken_for_an_account_without_one(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    assert someone("history", "--topology", "nope").out == "No run of topology nope is remembered in this account.\n"
    assert someone("history", "diff", "--topology", "nope").err.startswith(
        "No run of topology nope is remembered in this account.\nSee `reconciler history`."
    )


def test_a_run_that_is_not_there_is_said_to_be_missing(someone: Someone) -> None:
    ran = someone("history", "42")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("There is no run 42 in the journal of this account.")


@on_every_version
def test_a_run_that_was_killed_is_running_first_and_then_cut_off(
    someone: Someone, account: Account, tmp_path: Path
) -> None:
    async def outcomes(js: JetStream) -> list[str]:
        runs = await journal.runs(js)
        assert isinstance(runs, list)
        return [run.outcome for run in runs]

    async def work() -> tuple[list[str], list[str]]:
        async with Applier.started(tmp_path / "b", account, "streams: {OTHER: {subjects: [other]}}\n") as second:
            async with Applier.started(tmp_path / "a", account, streams(1000), TTL) as first:
                await asyncio.gather(first.has_planned(), second.has_planned())
                first.goes()
                assert await first.says() == "began"
                running = await asyncio.to_thread(talk, account, outcomes)
            second.goes()
            await second.last()
        return running, await asyncio.to_thread(talk, account, outcomes)

    assert asyncio.run(work()) == (["running"], ["applied", "cut off"])
    assert "cut off" in someone("history").out


def test_looking_at_the_history_changes_nothing(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")

    async def state(js: JetStream) -> object:
        return done(await js.request("STREAM.INFO.KV_reconciler"))["state"]

    async def vanished(js: JetStream) -> None:
        async with asyncio.timeout(60):
            while await entry(js, "reconciler", lease_key("t")) is not None:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)

    someone.ask(vanished)  # the marker of the lease given back
    before = someone.ask(state)
    assert [someone(command).code for command in ("history", "unlock")] == [0, 0]
    assert someone.ask(state) == before


@on_every_version
def test_only_the_newest_runs_are_kept(account: Account) -> None:
    async def work(js: JetStream) -> int:
        await ledger.ensure_bucket(js, await observe(js))
        for number in range(RUNS_PER_TOPOLOGY + 10):
            assert isinstance(await js.put_entry("reconciler", begun_key(number), b"{}", expected_revision=0), Stored)
        await room.prune(js)
        left = RUNS_PER_TOPOLOGY + 10
        while left > RUNS_PER_TOPOLOGY:  # until the markers have vanished
            found = await names(js, "reconciler", "$KV.reconciler.journal.>")
            assert isinstance(found, list)
            left = len(found)
            await asyncio.sleep(0.1)
        return left

    assert talk(account, work) == RUNS_PER_TOPOLOGY


def test_of_many_runs_the_oldest_are_outdated() -> None:
    keys = ["journal.9.begun", "journal.10.begun", "journal.10.steps.0", "journal.11.begun", "lease.t"]
    assert outdated_keys(keys, {}, kept=2) == ["journal.9.begun"]


def test_each_topology_keeps_runs_of_its_own_while_there_are_not_too_many() -> None:
    keys = [begun_key(number) for number in range(1, 2 * MAX_RUNS)]
    many = dict.fromkeys(range(1, 2 * MAX_RUNS), "busy")
    left = {*keys} - {*outdated_keys(keys, {**many, MAX_RUNS + 1: "rare", 1: "old"})}
    assert (len(left), begun_key(MAX_RUNS + 1) in left, keys[0] in left) == (RUNS_PER_TOPOLOGY + 1, True, False)


def test_chunks_are_no_larger_than_they_may_be_and_whole_together() -> None:
    value = bytes(range(256)) * 5
    assert [len(chunk) for chunk in split_chunks(value, 500)] == [500, 500, 280]
    assert b"".join(split_chunks(value, 500)) == value


@on_every_version
def test_unlock_shows_the_holder_and_removes_a_lease_that_was_left(
    someone: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECONCILER_LEASE_TTL", "8")

    async def left(js: JetStream) -> None:
        await ledger.ensure_bucket(js, await observe(js))
        await js.put_entry("reconciler", lease_key("t"), HELD, expected_revision=0)

    someone.ask(left)
    other = someone.write("reconciler: 1\ntopology: other\nstreams: {A: {subjects: [a]}}\n", "other.yaml")
    assert someone("unlock", other).out == "Nobody is applying topology other: no lease of it is held.\n"
    file = someone.write("streams: {A: {subjects: [a]}}\n")
    holder = "topology t is being applied by ann on ci-7 (process 4) since 2026-01-01T00:00:00Z\n"
    shown = someone("unlock", file)
    assert (shown.code, shown.out) == (0, holder)
    assert "It was left alone. There is no terminal to ask on; add --yes to remove it." in shown.err
    ran = someone("unlock", file, "--yes")
    words = "Its lease ends in 2 seconds: by then an apply that still runs has stopped writing.\n"
    assert (ran.code, ran.out) == (0, holder + words)
    applied = someone("apply", file, "--yes")
    assert (applied.code, "topology t is being applied by ann on ci-7" in applied.err) == (0, True)
    assert someone("unlock").out == "Nobody is applying here: no lease is held.\n"


async def nothing(_js: JetStream) -> None:
    return None


def applied_after(
    someone: Someone, topology: str, text: str, meanwhile: Callable[[JetStream], Awaitable[None]] = nothing
) -> Ran:
    """An apply beside somebody who holds the lease of that topology until it waits, and does this `meanwhile`."""
    file = someone.write(text)

    async def story() -> Ran:
        nc = await someone.place.connect()
        js = await JetStream.open(nc)
        await ledger.ensure_bucket(js, await observe(js))
        held = await js.put_entry("reconciler", lease_key(topology), HELD, expected_revision=None)
        assert isinstance(held, Stored)
        running = await start(someone.shell, "apply", file, "--yes", *someone.login)
        assert running.stderr is not None
        told = await running.stderr.readline()
        await meanwhile(js)
        await js.put_entry("reconciler", lease_key(topology), b"", expected_revision=held.revision, headers=GIVEN_BACK)
        out, err = await running.communicate()
        await nc.close()
        return Ran(code=running.returncode or 0, out=out.decode(), err=(told + err).decode())

    return asyncio.run(story())


def test_a_waiting_apply_says_for_whom_and_goes_on_when_the_lease_is_free(someone: Someone) -> None:
    ran = applied_after(someone, "t", "streams: {A: {subjects: [a]}}\n")
    assert ran.code == 0
    assert "topology t is being applied by ann on ci-7 (process 4) since 2026-01-01T00:00:00Z; waiting up to" in ran.err


def test_an_apply_on_another_topologys_stream_waits_for_that_topology_too(someone: Someone) -> None:
    someone.applied("reconciler: 1\ntopology: theirs\nstreams: {A: {subjects: [a]}}\n")
    ran = applied_after(someone, "theirs", "streams: {A: {external: true, consumers: {c: {ack_policy: explicit}}}}\n")
    assert ran.code == 0
    assert ran.err.startswith("topology theirs is being applied by ann on ci-7")


def test_whoever_waited_leaves_alone_what_was_changed_meanwhile(someone: Someone) -> None:
    """The other one holds the lease, changes A, and is gone; the rest of what was planned still stands."""
    someone.applied("streams: {A: {subjects: [a], max_age: 7d}, B: {subjects: [b], max_age: 7d}}\n")

    async def they_change(js: JetStream) -> None:
        config = dict(done(await js.read("STREAM.INFO.A"))["config"])
        done(await js.write("STREAM.UPDATE.A", {**config, "max_age": 5 * 86_400_000_000_000}))

    both = "streams: {A: {subjects: [a], max_age: 3d}, B: {subjects: [b], max_age: 3d}}\n"
    ran = applied_after(someone, "t", both, they_change)
    assert "is being applied by ann" in ran.err
    assert (ran.code, "AP103" in ran.out, "1 of 2 steps done" in ran.out) == (1, True, True), ran.out


REPUBLISHED = "reconciler: 1\ntopology: theirs\nstreams: {A: {subjects: [a.>]}}\n"


@pytest.mark.parametrize(
    "ours",
    [
        "streams: {B: {subjects: [b.>], republish: {src: b.>, dest: a.>}, allow: [{code: XX244, to: a.>, reason: r}]}}\n",
        "streams: {B: {mirror: {name: A}}}\n",
        "streams: {B: {sources: [{name: A}]}}\n",
    ],
    ids=["republishing into it", "a mirror of it", "a source of it"],
)
def test_whoever_reaches_into_anothers_subjects_takes_its_lease_too(someone: Someone, ours: str) -> None:
    someone.applied(REPUBLISHED)

    async def touched(js: JetStream) -> list[str]:
        made = await plan(from_files(someone.shell.folder / someone.write(ours)), js)
        return other_topologies(made.plan, made.snapshot)

    assert someone.ask(touched) == ["theirs"]


def test_without_the_bucket_it_is_applied_all_the_same_and_said_once(tmp_path: Path) -> None:
    config = """accounts {A: {jetstream: enabled, users: [{user: ci, password: ci, permissions: {
      publish: {deny: ["$KV.reconciler.>", "$JS.API.STREAM.CREATE.KV_reconciler"]}}}]}}"""
    with NatsServer(config=config) as server:
        shell = Shell(tmp_path)
        file = shell.write("reconciler: 1\ntopology: t\nstreams: {A: {subjects: [a]}}\n")
        ran = shell("apply", file, "--yes", "--server", server.url, "--user", "ci", "--password", "ci")
    assert ran.code == 0, ran
    assert ran.out.count("LE1") + ran.out.count("LE2") == 1, ran.out


ODD: dict[str, object] = {
    "journal.99999999999999999999999.begun": {},
    "journal.7.begun": "rubbish",
    "journal.8.begun": {"format": 9, "topology": ["x"], "counts": "many", "steps": "no", "changes": "x", "user": 3},
    "journal.8.ended": {"format": 9, "counts": [1, 2], "chunks": -5, "stopped": {"a": 1}},
    "journal.9.begun": {"format": 1, "topology": "t", "changes": 100_000_000, "counts": {"create": "x"}},
    "journal.9.ended": {"format": 1, "counts": {"done": "x"}, "chunks": 1},
    "journal.9.steps.0": {"done": {"stream.create": [1, None]}, "failed": [3], "skipped": [], "warnings": {"a": 1}},
    "journal.x.begun": {}, "journal": 7, "lease.t": [1], "owned.stream.=FF": {},
}  # fmt: skip


def test_a_journal_of_later_formats_or_written_by_hand_is_told_as_far_as_it_goes(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")

    async def scribble(js: JetStream) -> None:
        for key, value in ODD.items():
            put = await js.put_entry("reconciler", key, json.dumps(value).encode(), expected_revision=None)
            assert isinstance(put, Stored)

    someone.ask(scribble)
    runs = [("history", number) for number in "789"]
    for command, part in ((("history",), "runs"), *((run, "run") for run in runs), (("history", "diff", "9"), "diff")):
        assert someone(*command).code == 0
        followed("history", someone(*command, "--format", "json").out, part)
    assert "written in format 9; this version reads 1" in someone("history", "8").out
    assert someone.plan("streams: {A: {subjects: [a]}}\n").code == 0


def test_a_run_whose_end_somebody_deleted_is_not_called_applied(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")
    someone.applied("streams: {A: {subjects: [b]}}\n")
    newest = json.loads(someone("history", "--format", "json").out)["runs"][0]["run"]

    async def end_deleted(js: JetStream) -> None:
        done(await js.request("STREAM.PURGE.KV_reconciler", {"filter": f"$KV.reconciler.journal.{newest}.ended"}))
        await js.pipeline.nc.publish(f"$KV.reconciler.journal.{newest}.ended", b"", headers={"KV-Operation": "DEL"})
        await js.pipeline.nc.flush()

    someone.ask(end_deleted)
    assert json.loads(someone("history", "--format", "json").out)["runs"][0]["outcome"] == "unknown"
    assert "the entry that told how was deleted" in " ".join(someone("history", str(newest)).out.split())
    assert "no end of it is known" in " ".join(someone("history", "diff").out.split())


def test_a_server_that_takes_little_at_once_gets_the_journal_in_smaller_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = "max_payload: 65536\naccounts { A: {jetstream: enabled, users: [{user: a, password: a}]} }"

    def wordy(letter: str) -> str:
        each = (f"  S{number}: {{subjects: [s.{number}], description: {letter * 3500}}}\n" for number in range(12))
        return "streams:\n" + "".join(each)

    with NatsServer(config=config) as server:
        someone = somebody(tmp_path, Account(server=server, user="a", password="a"), monkeypatch)
        someone.applied(wordy("x"))
        assert "LE203" not in someone.applied(wordy("y")).out
        newest = json.loads(someone("history", "--format", "json").out)["runs"][0]
        assert newest["outcome"] == "applied"
        assert someone("history", "diff").out.count("description") == 12


def test_a_run_whose_journal_has_no_room_is_not_told_as_cut_off(someone: Someone) -> None:
    someone.applied("streams: {A: {subjects: [a]}}\n")

    async def narrow(js: JetStream) -> None:
        """Long entries are refused, short ones are not."""
        config = done(await js.request("STREAM.INFO.KV_reconciler"))["config"]
        done(await js.request("STREAM.UPDATE.KV_reconciler", {**config, "max_msg_size": 900}))

    someone.ask(narrow)
    ran = someone.apply(f"streams: {{A: {{subjects: [a], description: {'long' * 300}}}}}\n")
    assert (ran.code, "LE203" in ran.out + ran.err) == (0, True), ran
    assert [run["outcome"] for run in json.loads(someone("history", "--format", "json").out)["runs"]] == ["applied"] * 2
