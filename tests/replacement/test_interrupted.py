"""Killed with a request on the wire, or an answer lost: the next apply finishes, and what comes again was on its way."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.changes.change import Action, FieldClass
from reconciler.journeys.apply.apply import apply
from reconciler.server.wire.api import JetStream
from tests.replacement.consuming import CONSENT, Work, at_work, file
from tests.replacement.killing import killed, unlock
from tests.support.accounts import Account, connect
from tests.support.lossy import losing
from tests.support.versions import in_turn, on_every_version

WRITES = {
    "the note": (b"$KV.reconciler.intent.consumer.S.c ", 1),
    "the placeholder": (b"$JS.API.CONSUMER.CREATE.S.c-", 1),
    "the pause": (b"$JS.API.CONSUMER.PAUSE.S.c ", 1),
    "the noted place": (b"$KV.reconciler.intent.consumer.S.c ", 2),
    "the deletion": (b"$JS.API.CONSUMER.DELETE.S.c ", 1),
    "the creation": (b"$JS.API.CONSUMER.CREATE.S.c ", 1),
    "the placeholder's deletion": (b"$JS.API.CONSUMER.DELETE.S.c-", 1),
    "the record": (b"$KV.reconciler.owned.consumer.S.c ", 1),
    "the end": (b"$KV.reconciler.intent.consumer.S.c ", 3),
}
"""Every write of a replacement on an interest stream, by its subject and how often that was written to before."""
RETENTIONS = {name: (name,) for name in ("limits", "interest", "workqueue")}


async def finished(work: Work, folder: Path, again: int) -> None:
    wanted = file(folder / "wanted", "interest", f"max_waiting: 64{CONSENT}")
    delivered, processed = set(work.seen), set(work.acknowledged)
    assert {change.action for change in (await work.plan(wanted)).plan.changes} <= {Action.REPLACE}
    assert (await work.apply(wanted)).is_success
    assert (await work.plan(wanted)).plan.changes == ()
    assert ((await work.info())["config"]["max_waiting"], await work.consumers()) == (64, ["c"])
    came = set(await work.work_off())
    assert processed | came == set(work.published)
    assert len(came & delivered) <= again


@pytest.mark.parametrize("sent", [True, False], ids=["on the wire", "unsent"])
@pytest.mark.parametrize("write", WRITES)
def test_killed_at_any_write(account: Account, tmp_path: Path, write: str, sent: bool) -> None:
    (tmp_path / "topology.yaml").write_text(
        "reconciler: 1\ntopology: orders\n"
        f"streams: {{S: {{subjects: [s.*], retention: interest, consumers: {{c: {{ack_policy: explicit, max_waiting: 64{CONSENT}}}}}}}}}\n"
    )

    async def story() -> None:
        async with at_work(account, file(tmp_path / "first", "interest")) as work:
            await killed(tmp_path, account, "topology.yaml", WRITES[write], sent=sent)
            await unlock(work.js)
            await work.publish(2)
            await finished(work, tmp_path, again=4)

    asyncio.run(story())


@on_every_version
@pytest.mark.parametrize("last", [9, 10], ids=["the same file again", "a file edited again"])
def test_killed_again_and_again_with_an_edited_file(account: Account, tmp_path: Path, last: int) -> None:
    """What the first run made is on no record when the third begins; nobody else is blamed for it, and nothing is blocked."""
    consumer = "max_waiting: {0}, allow: [{{code: CO106, to: {0}, reason: fewer waiting pulls}}]"

    async def story() -> None:
        async with at_work(account, file(tmp_path / "first", "interest")) as work:
            for waiting, write in ((8, "the creation"), (9, "the note"), (last, "the note")):
                consumers = f"{{c: {{ack_policy: explicit, {consumer.format(waiting)}}}}}"
                streams = f"{{S: {{subjects: [s.*], retention: interest, consumers: {consumers}}}}}"
                (tmp_path / "topology.yaml").write_text(f"reconciler: 1\ntopology: orders\nstreams: {streams}\n")
                await killed(tmp_path, account, "topology.yaml", WRITES[write], sent=True)
                await unlock(work.js)
                await work.publish(2)
                await work.acknowledge(await work.receive(2))
            wanted = file(tmp_path / "wanted", "interest", consumer.format(last))
            (change,) = (await work.plan(wanted)).plan.changes
            assert (change.action, change.is_blocked) == (Action.REPLACE, False)
            assert [(one.path, one.field_class) for one in change.fields] == [("max_waiting", FieldClass.UNFINISHED)]
            processed = set(work.acknowledged)
            assert (await work.apply(wanted)).is_success
            assert (await work.plan(wanted)).plan.changes == ()
            assert ((await work.info())["config"]["max_waiting"], await work.consumers()) == (last, ["c"])
            came = set(await work.work_off())
            assert processed | came == set(work.published)
            assert came & processed == set()
            assert await work.left() == 0

    asyncio.run(story())


LOST = {
    "the deletion": b'"io.nats.jetstream.api.v1.consumer_delete_response"',
    "the creation": b'"io.nats.jetstream.api.v1.consumer_create_response"',
    "the pause": b'"io.nats.jetstream.api.v1.consumer_pause_response"',
}


@pytest.mark.parametrize("answer", LOST)
def test_a_lost_answer_costs_nothing(account: Account, tmp_path: Path, answer: str) -> None:
    wanted = file(tmp_path / "lost", "interest", f"max_waiting: 64{CONSENT}")

    async def story() -> None:
        async with at_work(account, file(tmp_path / "first", "interest")) as work:
            planned = await work.plan(wanted)
            async with losing(account.server.port, LOST[answer]) as port:
                nc = await connect(f"nats://127.0.0.1:{port}", account.user, account.password)
                js = await JetStream.open(nc, within=0.5)
                async for _ in apply(planned, js):
                    pass
                await js.close()
                await nc.close()
            await finished(work, tmp_path, again=4)

    asyncio.run(story())


@in_turn("retention", RETENTIONS)
def test_clients_that_go_on_working_meanwhile_lose_nothing(account: Account, tmp_path: Path, retention: str) -> None:
    wanted = file(tmp_path / "wanted", retention, f"max_waiting: 64{CONSENT}")

    async def story() -> None:
        async with at_work(account, file(tmp_path, retention)) as work:
            over = asyncio.Event()

            async def publishing() -> None:
                while not over.is_set():
                    await work.publish()

            async def consuming() -> None:
                while not over.is_set():
                    for message in (await work.fetch(3, within=1))[::-1]:
                        await message.ack()

            others = [asyncio.create_task(publishing()), asyncio.create_task(consuming())]
            assert (await work.apply(wanted)).is_success
            over.set()
            await asyncio.gather(*others)
            start = (await work.info())["config"].get("opt_start_seq", 1)
            await work.work_off()
            assert set(work.seen) == set(work.published)
            twice = (text for text, times in Counter(work.seen).items() if times > 1)
            assert all(int(text.removeprefix("m")) + 1 >= start for text in twice)

    asyncio.run(story())


@in_turn("retention", RETENTIONS)
def test_refused_after_the_deletion_the_old_one_is_made_again_where_it_stood(
    account: Account, tmp_path: Path, retention: str
) -> None:
    """Our rules foresee what servers refuse; where they do not, nobody is left without a consumer."""
    first, wanted = file(tmp_path, retention), file(tmp_path / "wanted", retention, f"max_waiting: 64{CONSENT}")

    async def story() -> None:
        async with at_work(account, first) as work:
            planned = await work.plan(wanted)
            steps = [
                replace(step, body={**step.body, "ack_policy": "nonsense"})
                if step.id == "create consumer/S/c"
                else step
                for step in planned.plan.steps
            ]
            finished = await work.apply_planned(replace(planned, plan=replace(planned.plan, steps=tuple(steps))))
            assert [failed.step.id for failed in finished.failed] == ["create consumer/S/c"]
            assert (await work.info())["config"]["max_waiting"] == 512
            delivered, processed = set(work.seen), set(work.acknowledged)
            (change,) = (await work.plan(wanted)).plan.changes
            assert [verdict.code for verdict in change.verdicts] == ["CO106"]
            assert (await work.apply(first)).is_success
            assert (await work.plan(first)).plan.changes == ()
            assert await work.consumers() == ["c"]
            came = set(await work.work_off())
            assert processed | came == set(work.published)
            assert len(came & delivered) <= 4

    asyncio.run(story())
