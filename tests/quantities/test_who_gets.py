"""Who gets messages of a subject that moves to another stream, or that a stream takes besides: as the plan said."""

from __future__ import annotations

import asyncio
from pathlib import Path

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import publish, state
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

READERS = "consumers: {all: {}, part: {filter_subject: org.new}, other: {filter_subject: signup.>}}"
COPIES = """
  WHOLE: {sources: [{name: SIGNUPS}, {name: EVENTS}]}
  PART: {sources: [{name: SIGNUPS}, {name: EVENTS, subject_transforms: [{src: org.new, dest: org.new}, {src: user.>, dest: user.>}]}]}
  NONE: {sources: [{name: SIGNUPS}, {name: EVENTS, filter_subject: user.>}]}
  BEHIND: {sources: [{name: WHOLE}]}
"""
BEFORE = f"""
streams:
  SIGNUPS: {{subjects: [signup.>, org.>], {READERS}}}
  EVENTS: {{subjects: [user.>], consumers: {{all: {{}}, user: {{filter_subject: user.>}}, late: {{filter_subject: org.old}}}}}}
{COPIES}"""
AFTER = BEFORE.replace("[signup.>, org.>]", "[signup.>]").replace("[user.>]", "[user.>, org.>]")


@on_every_version
def test_who_gets_messages_of_a_subject_that_moves_is_said(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, str, dict[str, int]]:
        await done_as(js, tmp_path, BEFORE)
        before = await counted(js)
        found = await plan(read(tmp_path, AFTER), js, RunOptions())
        assert isinstance([event async for event in apply(found, js)][-1], Finished)
        await publish(js, "org.new", "org.old", "user.last")
        for copy in ("WHOLE", "PART", "NONE", "BEHIND"):  # what follows the others in EVENTS has come
            await stored(js, copy, "user.last")
        after = await counted(js)
        said = {change.address: change for change in found.plan.changes}
        moved = next(one.message for one in said["stream/SIGNUPS"].verdicts if one.code == "ST303")
        besides = [one.message for one in said["stream/EVENTS"].consequences if one.code == "ST303"]
        return moved, "; ".join(besides), {name: after[name] - before[name] for name in after}

    moved, besides, came = talk(account, work)
    assert "stored in stream/EVENTS instead; all, part, NONE, which read SIGNUPS, get none of them; " in moved
    assert "; PART, which reads SIGNUPS, gets only org.new of them. Between" in moved
    assert besides == (
        "what is published on org.> goes to all and WHOLE as well (ST303); what is published on org.old goes to late as well (ST303); "
        "what is published on org.new goes to PART as well (ST303)"
    )
    assert came == {
        "SIGNUPS.all": 0, "SIGNUPS.part": 0, "SIGNUPS.other": 0, "EVENTS.all": 3, "EVENTS.user": 1, "EVENTS.late": 1,
        "WHOLE": 3, "PART": 2, "NONE": 1, "BEHIND": 3,
    }  # fmt: skip


def test_a_consumer_that_is_renamed_gets_messages_under_its_new_name(account: Account, tmp_path: Path) -> None:
    first = BEFORE.replace("{all: {}, user:", "{all: {ack_policy: explicit}, user:")
    renamed = first.replace("{all: {ack", "{every: {ack").replace("[user.>]", "[user.>, org.new]")
    renamed = renamed.replace("SIGNUPS: {subjects: [signup.>, org.>]", "SIGNUPS: {subjects: [signup.>]")
    moved = "moved: [{from: consumer/EVENTS/all, to: consumer/EVENTS/every, reason: better}]\n"

    async def work(js: JetStream) -> list[str]:
        await done_as(js, tmp_path, first)
        found = await plan(read(tmp_path, renamed + moved), js, RunOptions())
        (change,) = (change for change in found.plan.changes if change.address == "stream/EVENTS")
        assert isinstance([event async for event in apply(found, js)][-1], Finished)
        await publish(js, "org.new")
        assert done(await js.request("CONSUMER.INFO.EVENTS.every"))["num_pending"] == 1
        return [note.message for note in change.consequences if note.code == "ST303"]

    assert talk(account, work)[0] == "what is published on org.new goes to every, PART and WHOLE as well (ST303)"


async def done_as(js: JetStream, folder: Path, text: str) -> None:
    events = [event async for event in apply(await plan(read(folder, text), js, RunOptions()), js)]
    assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]


async def stored(js: JetStream, stream: str, subject: str) -> None:
    """Until it is there; the server announces nothing."""
    async with asyncio.timeout(60):
        while isinstance(await js.read(f"STREAM.MSG.GET.{stream}", {"last_by_subj": subject}), Refusal):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def counted(js: JetStream) -> dict[str, int]:
    """What waits for each consumer, and what each copy stores."""
    found = {}
    for one in ("SIGNUPS.all", "SIGNUPS.part", "SIGNUPS.other", "EVENTS.all", "EVENTS.user", "EVENTS.late"):
        found[one] = int(done(await js.request(f"CONSUMER.INFO.{one}"))["num_pending"])
    for copy in ("WHOLE", "PART", "NONE", "BEHIND"):
        found[copy] = int((await state(js, copy))["messages"])
    return found
