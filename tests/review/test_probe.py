"""`rehearse --probe`: clients do the same with and without the changes of a plan, on servers that stand for the account."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from nats.aio.msg import Msg

from reconciler.changes.effect import Side
from reconciler.changes.rehearsal import Experience, Foresight, Probe, Rehearsal
from reconciler.journeys.rehearse import probe as probing
from reconciler.journeys.rehearse.json import rehearsal_report, rehearsal_schema
from reconciler.journeys.rehearse.probe import LATE, Played, probe
from reconciler.journeys.rehearse.probe_scenes import ELSEWHERE, GOES, MANY, MEMBERS, NEW
from reconciler.journeys.rehearse.rehearse import rehearse
from reconciler.journeys.rehearse.text import rehearsal_findings
from reconciler.kinds import predicted_effects
from reconciler.model.resource import Json
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Snapshot
from reconciler.report.codec.json import json_of
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from reconciler.testbed.probes.scene import Scene
from tests.cli.running import Shell
from tests.review.test_rehearse import filled, program
from tests.support.accounts import Account
from tests.support.binaries import binary
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.repository import Repository
from tests.support.topologies import NAME, read
from tests.support.versions import on_every_version

HELD = """
streams:
  ORDERS:
    subjects: [orders.>]
    discard: new
    consumers:
      dispatch: {ack_policy: explicit, filter_subject: orders.eu.>}
      billing: {ack_policy: explicit}
  COPY: {mirror: {name: ORDERS}, consumers: {reader: {ack_policy: explicit}}}
  FROM: {subjects: [from.a, from.b]}
  TO: {subjects: [to]}
  QUIET: {subjects: [quiet.*]}
kv_buckets: {CONFIG: {history: 3}}
object_stores: {FILES: {}}
"""
CHANGES: Mapping[str, tuple[str, str]] = {
    "dispatch: {": ("dispatch: {headers_only: true, max_batch: 10, ", "payloads and large pulls"),
    "discard: new": ("discard: new\n    max_msg_size: 1KiB", "large messages"),
    "history: 3": ("history: 1", "history"),
}


def changed(*pairs: tuple[str, str], text: str = HELD) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def played(live: Snapshot, folder: Path, wanted: str, within: float = 60) -> tuple[Probe, Rehearsal]:
    topology = read(folder / "wanted", wanted)
    rehearsal = rehearse(topology, live, RunOptions(), program, None)
    found = probe(topology, live, RunOptions(), program, rehearsal, within)
    return found, replace(rehearsal, probe=found)


def foretold(found: Probe) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(one.address, one.operation, one.codes) for one in found.differences}


@on_every_version
def test_what_clients_feel_is_shown_with_the_code_that_foretold_it(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    wanted = changed(*((old, new) for old, (new, _) in CHANGES.items()))
    found, rehearsal = played(live, tmp_path, wanted)
    assert {
        ("consumer/ORDERS/dispatch", "read one", ("CO601",)),
        ("consumer/ORDERS/dispatch", "read 100", ("CO602",)),
        ("stream/ORDERS", "publish large", ("ST601",)),
        ("kv_bucket/CONFIG", "stored at first", ("KV301",)),
    } <= foretold(found)
    assert not found.unforetold_differences
    assert rehearsal.is_foretold


@on_every_version
def test_where_nothing_differs_one_line_says_so(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found, _ = played(live, tmp_path, changed(("[quiet.*]", "[quiet.*], description: hello")))
    assert (found.felt, found.objects) == ((), ("stream/QUIET",))
    assert found.operations > 20


def test_only_what_changes_is_played_and_what_copies_it(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found, _ = played(live, tmp_path, changed(("discard: new", "discard: new\n    description: hello")))
    assert set(found.objects) == {
        "stream/ORDERS", "consumer/ORDERS/dispatch", "consumer/ORDERS/billing", "stream/COPY", "consumer/COPY/reader",
    }  # fmt: skip


def test_a_subject_that_moves_is_published_to_before_and_after(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found, _ = played(live, tmp_path, changed(("[from.a, from.b]", "[from.a]"), ("[to]", "[to, from.b]")))
    moved = {(one.operation, one.before, one.after) for one in found.differences}
    assert ("publish message 1 to from.b", "stored in FROM", "stored in TO") in moved
    assert {one.codes for one in found.differences} == {("ST303",)}


def test_what_has_no_consent_yet_is_played_as_if_it_had(account: Account, tmp_path: Path) -> None:
    """Which is what whoever is to consent wants to know."""
    live = filled(account, tmp_path, changed(("[quiet.*]", "[quiet.*], max_age: 1h, deny_delete: false")))
    wanted = changed(("[quiet.*]", "[quiet.*], max_age: 1h, deny_delete: true"))
    found, rehearsal = played(live, tmp_path, wanted)
    assert [one.address for one in rehearsal.plan.changes if one.is_blocked] == ["stream/QUIET"]
    assert found.consented == ("stream/QUIET",)
    assert ("stream/QUIET", "delete the last message", ("ST206",)) in foretold(found)


OTHERS = """  SHARED:
    subjects: [shared.*]
    groups:
      g: {type: elastic, max_members: 4, partitioning_filters: [{filter: shared.*, partitioning_wildcards: [1]}], members: [a, b]}
  OUTSIDE: {mirror: {name: X, external: {api: other}}}
"""


def test_what_was_not_played_is_named_with_the_reason(account: Account, tmp_path: Path) -> None:
    held = changed(
        ("  QUIET:", f"{OTHERS}  QUIET:"),
        ("dispatch:", "\n      ".join([*(f"c{n}: {{ack_policy: explicit}}" for n in range(5)), "dispatch:"])),
    )
    live = filled(account, tmp_path, held)
    wanted = changed(
        ("members: [a, b]", "members: [a, b, c]"), ("external: {api: other}}", "external: {api: other}}, description: x"),
        ("dispatch: {", "dispatch: {description: x, "), ("  TO: {subjects: [to]}\n", "  NEW: {subjects: [new]}\n"),
        text=held,
    )  # fmt: skip
    found, _ = played(live, tmp_path, f"{wanted}removed: [{{address: stream/TO, reason: over}}]\n")
    assert {(one.what, one.why) for one in found.unplayed} == {
        ("stream/NEW", NEW), ("stream/TO", GOES), ("stream/OUTSIDE", ELSEWHERE), ("members of elastic_group/SHARED/g", MEMBERS),
        *((f"consumer/ORDERS/c{n}", MANY) for n in (2, 3, 4)),
    }  # fmt: skip


def test_a_pause_is_foretold_by_its_note(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found, _ = played(live, tmp_path, changed(("dispatch: {", "dispatch: {pause_until: '2099-01-01T00:00:00Z', ")))
    assert ("consumer/ORDERS/dispatch", "read one", ("CO609",)) in foretold(found)
    assert not found.unforetold_differences


@pytest.mark.parametrize("field", ["max_ack_pending: 5", "pause_until: '2099-01-01T00:00:00Z'"])
def test_publishers_of_a_full_queue_are_foretold_that_its_readers_slow_down(
    account: Account, tmp_path: Path, field: str
) -> None:
    queue = """
    streams:
      Q: {subjects: ["q.>"], retention: workqueue, max_msgs: 100, discard: new, consumers: {c: {ack_policy: explicit}}}
    """
    live = filled(account, tmp_path, queue)
    found, _ = played(live, tmp_path, changed(("explicit", f"explicit, {field}"), text=queue))
    assert "stream/Q" in {one.address for one in found.differences if one.operation.startswith("publish ")}
    assert not found.unforetold_differences


def test_what_is_foretold_and_takes_more_than_a_short_play_is_named(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found, _ = played(live, tmp_path, changed(("[quiet.*]", "[quiet.*], max_msgs: 1000000")))
    assert [(one.address, one.code) for one in found.unshown] == [("stream/QUIET", "ST301")]


def test_a_difference_that_no_code_speaks_of_fails_the_rehearsal(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = filled(account, tmp_path, HELD)
    monkeypatch.setattr(predicted_effects, "effects_of_kind", lambda _kind: ())
    found, rehearsal = played(live, tmp_path, changed(("dispatch: {", "dispatch: {headers_only: true, ")))
    assert {one.address for one in found.unforetold_differences} == {"consumer/ORDERS/dispatch"}
    assert (rehearsal.is_fine, rehearsal.is_foretold) == (True, False)
    assert {(one.code, one.address) for one in rehearsal_findings(rehearsal)} == {("RV104", "consumer/ORDERS/dispatch")}


def test_a_difference_that_does_not_show_again_was_none() -> None:
    def row(operation: str) -> Experience:
        return Experience(address="stream/S", operation=operation, side=Side.READERS, before="a", after="b",
                    foresight=Foresight.UNFORETOLD)  # fmt: skip

    first, second = (
        Played(scene=Scene(streams={"S": {}}), felt=tuple(map(row, names)), operations=9, unshown=())
        for names in (("read one", "read 100"), ("read 100", "publish small"))
    )
    assert [one.operation for one in first.beside(second).felt] == ["read 100"]


def test_a_change_that_waits_for_clients_is_given_up_and_named(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in flight on a work queue goes to another consumer only once it is acknowledged, which may take hours."""
    monkeypatch.setattr(probing, "PATIENCE", 1.0)
    consumer = "{ack_policy: explicit, ack_wait: 1h, filter_subject: w.a}"
    held = f"streams: {{WQ: {{subjects: [w.>], retention: workqueue, consumers: {{c: {consumer}}}}}}}"
    wanted = held.replace(
        consumer, f"{consumer.replace('w.a', 'w.b')}, d: {{ack_policy: explicit, filter_subject: w.a}}"
    )
    found, _ = played(filled(account, tmp_path, held), tmp_path, wanted)
    assert {(one.what, one.why) for one in found.unplayed} == {
        ("consumer/WQ/c", f"it was not done: {probing.WAITS}"),
        ("consumer/WQ/d", NEW),
    }


def test_what_there_is_no_time_for_is_named(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    found, _ = played(live, tmp_path, changed(("[quiet.*]", "[quiet.*], description: hello")), within=0)
    assert (found.operations, [(one.what, one.why) for one in found.unplayed]) == (0, [("stream/QUIET", LATE)])


def test_replicated_streams_are_played_in_a_cluster(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, "streams: {ONE: {subjects: [one]}}")
    wanted = "streams: {ONE: {subjects: [one], num_replicas: 3, max_msg_size: 1KiB}}"
    found, rehearsal = played(live, tmp_path, wanted)
    assert (rehearsal.size, found.unforetold_differences) == (3, [])
    assert ("stream/ONE", "publish large", ("ST601",)) in foretold(found)


def test_tools_are_told_as_the_schema_says(account: Account, tmp_path: Path) -> None:
    live = filled(account, tmp_path, HELD)
    _, rehearsal = played(live, tmp_path, changed(("dispatch: {", "dispatch: {headers_only: true, ")))
    said = json.loads(json_of(rehearsal_report(rehearsal, 0)))
    jsonschema.validate(said, json.loads(rehearsal_schema()))
    assert said["probe"]["foretold"] is True
    assert said["probe"]["felt"][0]["address"] == "consumer/ORDERS/dispatch"


READS = re.compile(
    r"_INBOX\..*|\$SYS\.REQ\.USER\.INFO|\$JS\.API\.(INFO|(STREAM|CONSUMER)\.(LIST|NAMES|INFO)\b.*|STREAM\.MSG\.GET\..*|DIRECT\.GET\..*)"
)

ADVISORY, MIRRORING = "$JS.EVENT.ADVISORY.API", "$JS.M."


async def everything(js: JetStream) -> str:
    """Every configuration, every state and every message, without the time at which it was asked."""
    names = sorted((await observe(js)).streams)
    infos = [done(await js.request(f"STREAM.INFO.{name}", {"subjects_filter": ">"})) for name in names]
    consumers = [done(await js.request(f"CONSUMER.LIST.{name}"))["consumers"] for name in names]
    messages = [
        str(await js.request(f"STREAM.MSG.GET.{name}", {"seq": sequence}))  # of what is deleted, that it is
        for name, info in zip(names, infos, strict=True)
        for sequence in range(1, info["state"]["last_seq"] + 1)
    ]
    return json.dumps(_timeless([infos, consumers, messages]), sort_keys=True)


def _timeless(value: Json) -> Json:
    """Nor how long ago a copy heard from its origin."""
    if isinstance(value, Mapping):
        return {key: _timeless(item) for key, item in value.items() if key not in ("ts", "active")}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


async def _others(js: JetStream) -> None:
    """Made by hand, so that nothing of an apply of ours is there that expires."""
    await make_stream(js, "ORDERS", subjects=["orders.>"], discard="new")
    await make_stream(js, "COPY", mirror={"name": "ORDERS"})
    await make_consumer(js, "ORDERS", "dispatch", filter_subject="orders.eu.>")


async def _used(account: Account) -> None:
    """Clients have stored something, and some of it is in flight."""
    nc = await account.connect()
    for number in range(20):
        await nc.request(f"orders.eu.{number}", b"real")
    inbox = await nc.subscribe("replies")
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.ORDERS.dispatch", b'{"batch": 3, "no_wait": true}', reply="replies")
    for _ in range(3):
        await inbox.next_msg(timeout=5)
    copied = 0
    while copied < 20:  # a mirror tells nobody when it has everything
        copied = json.loads((await nc.request("$JS.API.STREAM.INFO.COPY")).data)["state"]["messages"]
        await asyncio.sleep(0.02)
    await nc.close()


def test_the_account_is_only_read_and_stays_as_it_was_byte_for_byte(account: Account, tmp_path: Path) -> None:
    talk(account, _others)
    asyncio.run(_used(account))
    before = talk(account, everything)
    heard: list[str] = []

    async def tapped() -> tuple[int, str]:
        """Somebody in the account who hears all that is said there meanwhile."""

        async def hear(message: Msg) -> None:
            if message.subject == ADVISORY:  # what the server itself says of each request
                heard.append(json.loads(message.data)["subject"])
            elif not message.subject.startswith(MIRRORING):
                heard.append(message.subject)

        nc = await account.connect()
        await nc.subscribe(">", cb=hear)
        await nc.flush()
        run = Shell(tmp_path)
        run.write(f"reconciler: 1\ntopology: {NAME}\n" + changed(*((old, new) for old, (new, _) in CHANGES.items())))
        ran = await asyncio.to_thread(
            run, "rehearse", "--probe", "topology.yaml", "--server", account.url, "--user", account.user,
            "--password", account.password, RECONCILER_NATS_SERVERS=str(binary(account.minor).parents[2]),
        )  # fmt: skip
        await nc.flush()
        await nc.close()
        return ran.code, ran.out

    code, out = asyncio.run(tapped())
    assert (code, "differences among" in out) == (0, True), out
    assert "$JS.API.STREAM.LIST" in heard
    assert [subject for subject in heard if not READS.fullmatch(subject)] == []
    assert talk(account, everything) == before


def test_as_a_command_from_an_earlier_revision(tmp_path: Path) -> None:
    """No account is there that could be touched."""
    repository = Repository.at(tmp_path / "repository")
    head = 'reconciler: 1\ntopology: orders\nexpect: {min_server: "2.12"}\n'
    repository.commit({"o.yaml": head + HELD})
    repository.write({"o.yaml": head + changed(("dispatch: {", "dispatch: {max_batch: 10, "))})
    servers = str(binary("2.12").parents[2])
    ran = Shell(repository.folder)(
        "rehearse", "o.yaml", "--probe", "--base", "HEAD", "--on", "2.12.8", RECONCILER_NATS_SERVERS=servers
    )
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"consumer/ORDERS/dispatch\n    read 100.*\n(      .*\n)*?      foretold by  CO602\n", ran.out)
    assert ran.out.endswith("The plan foretells every difference that takes something from a client.\n")
