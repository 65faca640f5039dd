"""A saved plan whose apply was killed is applied again: what stands is ours, so it goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell
from tests.e2e.someone import Someone, login
from tests.replacement.killing import killed, unlock
from tests.support.accounts import Account
from tests.support.jetstream import done

FIRST = "streams: {S: {subjects: [s], consumers: {c: {ack_policy: explicit}}}}\n"
ALLOW = "allow: [{code: CO105, to: original, reason: slower}]"
THEN_SAYS = f"explicit, max_deliver: 5, replay_policy: original, {ALLOW}}}"
THEN = FIRST.replace("explicit}", THEN_SAYS)
WRITES = {"the deletion": b"$JS.API.CONSUMER.DELETE.S.c ", "the creation": b"$JS.API.CONSUMER.CREATE.S.c "}


@pytest.fixture
def someone(tmp_path: Path, account: Account) -> Someone:
    return Someone(Shell(tmp_path), account, login(account))


def killed_at(someone: Someone, account: Account, marker: bytes, *, sent: bool) -> None:
    """An apply of plan.json, gone at its first request with this in it."""
    asyncio.run(killed(someone.shell.folder, account, "plan.json", (marker, 1), sent=sent))
    someone.ask(unlock)


@pytest.mark.parametrize("sent", [True, False], ids=["on the wire", "unsent"])
@pytest.mark.parametrize("write", WRITES)
def test_a_replacement_that_was_killed_is_finished_by_the_same_plan(
    someone: Someone, account: Account, write: str, sent: bool
) -> None:
    someone.applied(FIRST)
    assert someone.plan(THEN, "--out", "plan.json").code == 0
    killed_at(someone, account, WRITES[write], sent=sent)
    ran = someone("apply", "plan.json", "--yes", "--format", "json")
    assert (ran.code, json.loads(ran.out)["failed"]) == (0, []), ran
    live = done(someone.ask(lambda js: js.read("CONSUMER.INFO.S.c")))["config"]
    assert (live["max_deliver"], live["replay_policy"]) == (5, "original")
    assert someone("plan", "topology.yaml", "--exit-code").code == 0


NOTED = b"$KV.reconciler.intent.consumer.S.c "
RESUMED_AT_ONCE = "streams: {S: {subjects: [s], retention: workqueue, consumers: {c: {ack_policy: explicit}}}}\n"


@pytest.mark.parametrize("first", [FIRST, RESUMED_AT_ONCE], ids=["limits", "workqueue"])
def test_what_somebody_edits_after_the_cut_is_not_replaced_unseen(
    someone: Someone, account: Account, first: str
) -> None:
    someone.applied(first)
    assert someone.plan(first.replace("explicit}", THEN_SAYS), "--out", "plan.json").code == 0
    killed_at(someone, account, NOTED, sent=True)
    someone.ask(lambda js: edited(js, max_ack_pending=7))
    ran = someone("apply", "plan.json", "--yes", "--format", "json")
    (failed,) = json.loads(ran.out)["failed"]
    assert (ran.code, failed["reason"]["code"]) == (1, "AP103"), ran
    assert {"path": "max_ack_pending", "planned": 1000, "now": 7} in failed["changed_since"]
    assert done(someone.ask(lambda js: js.read("CONSUMER.INFO.S.c")))["config"]["max_ack_pending"] == 7


async def edited(js: JetStream, **fields: object) -> None:
    config = done(await js.read("CONSUMER.INFO.S.c"))["config"]
    body = {"stream_name": "S", "action": "update", "config": {**config, **fields}}
    done(await js.write("CONSUMER.CREATE.S.c", body))


def test_what_another_plan_is_replacing_is_left_alone(someone: Someone, account: Account) -> None:
    someone.applied(FIRST)
    assert someone.plan(THEN, "--out", "mine.json").code == 0
    assert someone.plan(THEN.replace("max_deliver: 5", "max_deliver: 7"), "--out", "plan.json").code == 0
    killed_at(someone, account, WRITES["the creation"], sent=False)
    ran = someone("apply", "mine.json", "--yes", "--format", "json")
    (failed,) = json.loads(ran.out)["failed"]
    assert (ran.code, failed["reason"]["code"]) == (1, "AP103"), ran


GROUP = """
streams:
  E: {subjects: ["e.*"], groups: {g: {type: elastic, max_members: %d, members: [a],
      partitioning_filters: [{filter: "e.*", partitioning_wildcards: [1]}]%s}}}
"""
AGREED = ", allow: [{code: EG101, to: 6, reason: more members}]"
RECORD = b"$KV.elastic-consumer-groups.E.g "


def test_a_group_whose_new_queue_stores_its_first_message_meanwhile_is_finished(
    someone: Someone, account: Account
) -> None:
    """Nobody has changed anything: it depends on the moment whether the queue still needs its start sequence."""
    someone.applied(GROUP % (4, ""))
    assert someone.plan(GROUP % (6, AGREED), "--out", "plan.json").code == 0
    asyncio.run(killed(someone.shell.folder, account, "plan.json", (RECORD, 2), sent=True))
    someone.ask(unlock)
    assert "EG321" in someone.plan(GROUP % (6, AGREED), "--out", "plan.json").out

    async def publish(js: JetStream) -> None:
        await js.pipeline.request("e.1", b"", within=20)
        while not done(await js.read("STREAM.INFO.E-g"))["state"]["last_seq"]:
            pass

    someone.ask(publish)
    ran = someone("apply", "plan.json", "--yes", "--format", "json")
    assert (ran.code, json.loads(ran.out)["failed"]) == (0, []), ran
    assert someone("plan", "topology.yaml", "--exit-code").code == 0


def test_a_queue_that_somebody_edits_when_the_members_have_ended_is_not_made_anew_unseen(
    someone: Someone, account: Account
) -> None:
    someone.applied(GROUP % (4, ""))
    assert someone.plan(GROUP % (6, AGREED), "--out", "plan.json").code == 0
    killed_at(someone, account, RECORD, sent=True)

    async def edit(js: JetStream) -> None:
        config = done(await js.read("STREAM.INFO.E-g"))["config"]
        done(await js.write("STREAM.UPDATE.E-g", {**config, "max_age": 10**12}))

    someone.ask(edit)
    ran = someone("apply", "plan.json", "--yes", "--format", "json")
    (failed,) = json.loads(ran.out)["failed"]
    assert (failed["reason"]["code"], failed["changed_since"]) == (
        "AP103",
        [{"path": "max_age", "planned": 0, "now": 10**12}],
    )
    assert done(someone.ask(lambda js: js.read("STREAM.INFO.E-g")))["config"]["max_age"] == 10**12
