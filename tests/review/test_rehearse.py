"""Plans carried out on throw-away servers: they hold what the account held, and say what the account would."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from reconciler.changes.events import Finished
from reconciler.changes.rehearsal import Rehearsal
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import Planned, plan
from reconciler.journeys.rehearse import rehearse as rehearsing
from reconciler.journeys.rehearse.json import rehearsal_report, rehearsal_schema
from reconciler.journeys.rehearse.rehearse import rehearse
from reconciler.journeys.rehearse.text import rehearsal_findings, rehearsal_text
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Scope, Snapshot
from reconciler.report.codec.json import json_of
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import pull
from tests.cli.running import Shell
from tests.groups.making import until
from tests.support.accounts import Account
from tests.support.binaries import VERSIONS, binary
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.repository import Repository
from tests.support.topologies import read
from tests.support.versions import on_every_version

MINOR = {version: minor for minor, version in VERSIONS.items()}
HELD = """
streams:
  ORIGIN: {subjects: [o.>], max_age: 7d, consumers: {c: {ack_policy: explicit, filter_subject: o.a}}}
  COPY: {mirror: {name: ORIGIN}}
  COLLECTS: {sources: [{name: COPY, filter_subject: o.b}, {name: ELSEWHERE}]}
  DONE: {subjects: [d], sealed: true}
  SHARED:
    subjects: [s.*]
    groups: {g: {type: elastic, max_members: 4, partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}], members: [a, b]}}
kv_buckets: {CONFIG: {history: 3}}
"""


def program(version: str) -> Path:
    return binary(MINOR[version])


def rehearsed(topology: Topology, live: Snapshot, then: str | None = None) -> Rehearsal:
    return rehearse(topology, live, RunOptions(), program, then)


def filled(account: Account, folder: Path, text: str) -> Snapshot:
    """The account after applying this."""
    wanted = read(folder / "held", text)

    async def work(js: JetStream) -> Snapshot:
        await make_stream(js, "ELSEWHERE", subjects=["e"])
        await make_stream(js, "DONE", subjects=["d"])
        done(await js.request("STREAM.UPDATE.DONE", {"name": "DONE", "subjects": ["d"], "sealed": True}))
        made = await plan(wanted, js)
        assert not made.plan.blocked
        (finished,) = [event async for event in apply(made, js) if isinstance(event, Finished)]
        assert finished.is_success
        return await observe(js)

    return talk(account, work)


@on_every_version
def test_an_account_is_made_again_as_it_was(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found = rehearsed(read(tmp_path / "same", HELD), live)
    assert (found.missing, found.plan.changes, found.size) == ((), (), 1)
    assert found.is_fine


@on_every_version
def test_a_change_is_carried_out_and_nothing_is_left(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    wanted = HELD.replace("7d", "3d").replace("[a, b]", "[a, b, c]").replace("history: 3", "history: 5")
    found = rehearsed(read(tmp_path / "wanted", wanted), live)
    assert [str(change.action) for change in found.plan.changes] == ["update"] * 3
    assert (found.is_fine, found.refused_addresses, found.unrehearsed_addresses) == (True, [], [])
    assert "holds what was predicted" in rehearsal_text(found)


def test_the_account_itself_is_left_alone(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    rehearsed(read(tmp_path / "wanted", HELD.replace("7d", "3d")), live)
    after = talk(account, observe)
    assert {name: info["config"] for name, info in after.streams.items()} == {
        name: info["config"] for name, info in live.streams.items()
    }


def test_a_consumer_that_goes_on_from_a_sequence_is_not_called_ahead_of_streams_that_hold_nothing_here(
    account: Account, tmp_path: Path
) -> None:
    held = "streams: {ONE: {subjects: [one], consumers: {c: {ack_policy: explicit, deliver_policy: by_start_sequence, opt_start_seq: 7}}}}"
    found = rehearsed(read(tmp_path / "same", held), filled(account, tmp_path, held))
    assert found.plan.diagnostics == ()


@pytest.mark.parametrize("given", ["in the file", "for this run"])
def test_consent_to_a_loss_is_not_called_needless_where_nothing_is_stored(
    account: Account, tmp_path: Path, given: str
) -> None:
    async def hold(js: JetStream) -> Snapshot:
        await make_stream(js, "S", subjects=["s"])
        for _ in range(3):
            await js.pipeline.nc.request("s", b"", timeout=20)
        return await observe(js)

    live = talk(account, hold)
    allow = ", allow: [{code: ST301, to: 1, reason: r}]" if given == "in the file" else ""
    wanted = read(tmp_path, f"streams: {{S: {{subjects: [s], max_msgs: 1{allow}}}}}")
    options = RunOptions(allow=() if allow else (("ST301", "stream/S"),))
    found = rehearse(wanted, live, options, program, None)
    assert [one.code for one in found.plan.diagnostics] == []
    assert found.is_fine


@on_every_version
def test_what_passes_in_the_account_is_not_stopped_for_want_of_messages_and_clients(
    account: Account, tmp_path: Path
) -> None:
    """One consumer has delivered something there, so its start is only recorded; a client waits on the other."""
    held = """streams:
  S:
    subjects: [s, u]
    consumers:
      gone_on: {deliver_policy: last, ack_policy: none}
      used: {ack_policy: explicit, filter_subject: u}
"""
    text = held.replace("deliver_policy: last, ", "").replace("explicit", "explicit, inactive_threshold: 1h")
    wanted = read(tmp_path / "wanted", text)

    async def plan_with_clients(js: JetStream) -> Planned:
        await js.pipeline.nc.request("s", b"", timeout=20)
        assert await pull(js.pipeline.nc, "S", "gone_on")
        waiting = asyncio.create_task(pull(js.pipeline.nc, "S", "used", within=30))
        await until(js, lambda info: info["num_waiting"] == 1, "CONSUMER.INFO.S.used")
        made = await plan(wanted, js)
        waiting.cancel()
        return made

    filled(account, tmp_path, held)
    there = talk(account, plan_with_clients)
    alone = rehearsed(wanted, there.snapshot)
    found = rehearse(wanted, there.snapshot, RunOptions(), program, None, there=there.plan)
    assert alone.refused_addresses == ["consumer/S/gone_on", "consumer/S/used"]
    assert (found.refused_addresses, found.is_fine, found.plan.exit_code) == ([], True, 0)
    assert found.plan.changes == there.plan.changes
    assert [step.step.on for step in found.finished.done] == [("S", "used")]


def test_limits_of_the_account_hold_on_the_stage(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    few = replace(live, target=replace(live.target, limits={**live.target.limits, "max_streams": 4}))
    wanted = "streams: {ONE: {subjects: [one]}, TWO: {subjects: [two]}}"
    found = rehearsed(read(tmp_path / "wanted", wanted), few)
    assert found.refused_addresses == ["stream/TWO"]


def test_limits_by_replicas_cannot_be_copied_so_nothing_new_counts_as_rehearsed(
    account: Account, tmp_path: Path
) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    tiered = replace(live, target=replace(live.target, usage={**live.target.usage, "tiers": {"R1": {"streams": 1}}}))
    wanted = "streams: {ONE: {subjects: [one], max_age: 1h}, TWO: {subjects: [two]}}"
    found = rehearsed(read(tmp_path / "wanted", wanted), tiered)
    assert found.unrehearsed_addresses == ["stream/TWO"]
    assert "limits by replicas" in rehearsal_text(found)


def test_what_cannot_be_made_again_says_so(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    broken = {**live.streams["ONE"], "config": {**live.streams["ONE"]["config"], "of_the_future": 1, "storage": "tape"}}
    strange = replace(live, streams={**live.streams, "ONE": broken})
    found = rehearsed(read(tmp_path / "wanted", "streams: {ONE: {subjects: [one], max_age: 1h}}"), strange)
    assert [one.what for one in found.missing] == ["stream/ONE"]
    assert found.unrehearsed_addresses == [one.address for one in rehearsal_findings(found)] == ["stream/ONE"]
    assert "Not rehearsed: the objects that the plan needs could not be recreated" in rehearsal_text(found)


@pytest.mark.parametrize("account", ["2.12"], indirect=True)
def test_what_a_newer_version_makes_of_the_same_stores(account: Account, tmp_path: Path) -> None:
    """2.14 does not open a stream that counts and schedules at once."""

    async def work(js: JetStream) -> Snapshot:
        await make_stream(js, "BOTH", subjects=["b"], allow_msg_counter=True, allow_msg_schedules=True)
        await make_stream(js, "FINE", subjects=["f"])
        await make_consumer(js, "FINE", "c")
        return await observe(js)

    live = talk(account, work)
    found = rehearsed(
        read(tmp_path, "streams: {FINE: {subjects: [f], consumers: {c: {ack_policy: explicit}}}}"), live, "2.15.1"
    )
    assert found.restarted is not None
    assert found.restarted.gone == ("stream/BOTH",)
    assert not found.is_fine
    assert "  stream/BOTH is gone\n" in rehearsal_text(found)
    assert [(one.code, one.address) for one in rehearsal_findings(found)] == [("RV103", "stream/BOTH")]


def test_replicas_are_rehearsed_in_a_cluster(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    wanted = "streams: {ONE: {subjects: [one]}, THREE: {subjects: [three], num_replicas: 3, placement: {tags: [ssd]}}}"
    found = rehearsed(read(tmp_path / "wanted", wanted), live)
    assert (found.size, found.is_fine, len(found.finished.done)) == (3, True, 1)


def test_what_nobody_answers_for_yet_after_a_restart_is_not_gone(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    asked: list[JetStream] = []

    async def without_a_leader(js: JetStream) -> Snapshot:
        """At the first look over each connection."""
        found = await observe(js)
        silent = {"ONE": "the server that holds it did not answer"} if js not in asked else {}
        asked.append(js)
        there = {name: info for name, info in found.streams.items() if name not in silent}
        return replace(found, streams=there, unknown={Scope.stream(name): why for name, why in silent.items()})

    monkeypatch.setattr(rehearsing, "observe", without_a_leader)
    found = rehearsed(read(tmp_path / "wanted", "streams: {ONE: {subjects: [one], max_age: 1h}}"), live, "2.15.1")
    assert (found.restarted and found.restarted.gone, found.is_fine) == ((), True)


def test_as_a_command_from_an_earlier_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = Repository.at(tmp_path / "repository")
    head = 'reconciler: 1\ntopology: orders\nexpect: {account: ORDERS, cluster: prod, min_server: "2.12"}\n'
    repository.commit({"o.yaml": head + HELD})
    repository.write({"o.yaml": head + HELD.replace("7d", "3d")})
    ran = Shell(repository.folder)("rehearse", "o.yaml", "--base", "HEAD", "--on", "2.12.8",
                                   RECONCILER_NATS_SERVERS=str(binary("2.12").parents[2]))  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("orders on throw-away servers (nats-server 2.12.8, 3 nodes) without messages")
    assert "The server did 1 step, and holds what was predicted.\n" in ran.out


def test_nobody_is_said_to_be_silent_whom_throw_away_servers_cannot_reach(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    text = "streams: {ONE: {subjects: [one]}, COPY: {sources: [{name: O, external: {api: $JS.hub.API}}]}}"
    found = rehearsed(read(tmp_path / "wanted", text), live)
    assert "It copies from O behind $JS.hub.API, which this plan does not see" in {
        note.message for change in found.plan.changes for note in change.consequences
    }


@pytest.mark.parametrize(("then", "says"), [("old/t.yaml", "max_age  7d → 3d"), ("old/other.yaml", "+ stream/ORDERS")])
def test_files_that_moved_are_found_where_they_were_and_new_ones_start_from_nothing(
    tmp_path: Path, then: str, says: str
) -> None:
    repository = Repository.at(tmp_path / "repository")
    name = "t" if says.startswith("max_age") else "other"
    text = "reconciler: 1\ntopology: %s\nstreams: {ORDERS: {max_age: %s}}\n"
    repository.commit({then: text % (name, "7d")})
    (repository.folder / then).unlink()
    repository.write({"new/t.yaml": text % ("t", "3d")})
    ran = Shell(repository.folder)("rehearse", "new", "--base", "HEAD", "--on", "2.15.1",
                                   RECONCILER_NATS_SERVERS=str(binary("2.15").parents[2]))  # fmt: skip
    assert (ran.code, ran.err, says in ran.out) == (0, "", True)


def test_as_a_command_with_a_stream_of_another_topology(tmp_path: Path) -> None:
    repository = Repository.at(tmp_path / "repository")
    reader = "reconciler: 1\ntopology: payments\nstreams: {ORDERS: {external: {from: topology/orders}, consumers: {c: {ack_wait: %s}}}}\n"
    repository.commit({"p.yaml": reader % "30s"})
    repository.write({"p.yaml": reader % "60s"})
    ran = Shell(repository.folder)("rehearse", "p.yaml", "--base", "HEAD", "--on", "2.15.1",
                                   RECONCILER_NATS_SERVERS=str(binary("2.15").parents[2]))  # fmt: skip
    assert (ran.code, ran.err, "holds what was predicted.\n" in ran.out) == (0, "", True)


@pytest.mark.parametrize("then", [None, "2.15.1"])
def test_tools_are_told_as_the_schema_says(account: Account, tmp_path: Path, then: str | None) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    found = rehearsed(read(tmp_path / "wanted", "streams: {ONE: {subjects: [one], max_age: 1h}}"), live, then)
    said = json.loads(json_of(rehearsal_report(found, 0)))
    jsonschema.validate(said, json.loads(rehearsal_schema()))
    assert "restarted" in said if then else "restarted" not in said


def test_a_version_that_does_not_exist(tmp_path: Path) -> None:
    run = Shell(tmp_path)
    run.write(f"reconciler: 1\ntopology: t\n{HELD}")
    Repository(tmp_path).git("init", "--quiet", "--initial-branch=main")
    Repository(tmp_path).commit({})
    ran = run(
        "rehearse",
        "topology.yaml",
        "--base",
        "HEAD",
        "--on",
        "2.12.999",
        RECONCILER_NATS_SERVERS=str(tmp_path / "none"),
    )
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("nats-server 2.12.999 could not be installed: ")


HEAD = 'reconciler: 1\ntopology: t\nexpect: {min_server: "2.12"}\n'


def test_an_earlier_revision_and_its_values_are_what_is_rehearsed(tmp_path: Path) -> None:
    repository = Repository.at(tmp_path / "repository")
    then = HEAD + "parameters: {region: {}}\nstreams:\n  S_${region}: {subjects: [s], max_age: 7d}\n"
    repository.commit({"t.yaml": then})
    repository.commit({"t.yaml": then.replace("7d", "3d")})
    repository.write({"t.yaml": "nothing"})
    ran = Shell(repository.folder)(
        "rehearse", "t.yaml", "--revision", "HEAD~1", "--base", "HEAD", "--value", "region=eu", "--on", "2.12.8",
        RECONCILER_NATS_SERVERS=str(binary("2.12").parents[2]),
    )  # fmt: skip
    assert (ran.code, ran.err) == (0, "")
    assert "max_age  3d → 7d" in ran.out
    assert "GB103" in ran.out
