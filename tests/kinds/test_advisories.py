"""A stream that captures advisories by a name gets nothing more when that name goes, and a plan says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import applied, publish, take
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.topologies import read, scene
from tests.support.versions import on_every_version

ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES"
JOBS = "JOBS: {{subjects: [jobs.>], retention: workqueue, consumers: {{{}: {{ack_policy: explicit, ack_wait: 1s, max_deliver: 1}}}}}}"


def file(subject: str, consumer: str = "image", more: str = "") -> str:
    return f"streams: {{{JOBS.format(consumer)}, DEAD: {{subjects: ['{subject}']}}}}\n{more}"


RENAMED = "moved: [{from: consumer/JOBS/image, to: consumer/JOBS/thumbs, reason: name}]"
SAID = "Stream DEAD captures advisories about consumer image by its name"


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        (f"{ADVISORY}.JOBS.image", True), (f"{ADVISORY}.*.image", True), (f"{ADVISORY}.JOBS.*", False), (f"{ADVISORY}.>", False),
        (f"{ADVISORY}.OTHER.image", False), (f"{ADVISORY}.JOBS.thumbs", False), ("$JS.EVENT.ADVISORY.>", False),
    ],
)  # fmt: skip
def test_only_a_subject_with_the_old_name_is_told(tmp_path: Path, subject: str, told: bool) -> None:
    made = scene(tmp_path, file(subject, "thumbs", RENAMED), file(subject)).plan()
    said = [one.message for change in made.changes for one in change.consequences if "advisories" in one.message]
    assert [one.startswith(SAID) and "about thumbs" in one for one in said] == [True] * told


def test_where_the_same_plan_adds_the_new_name_nothing_is_told(tmp_path: Path) -> None:
    subject = f"{ADVISORY}.JOBS.image"
    both = file(subject, "thumbs", RENAMED).replace(f"'{subject}'", f"'{subject}', '{ADVISORY}.JOBS.thumbs'")
    made = scene(tmp_path, both, file(subject)).plan()
    assert [one.message for change in made.changes for one in change.consequences if "advisories" in one.message] == []


def test_a_stream_that_goes_is_told_as_well(tmp_path: Path) -> None:
    subject = f"{ADVISORY}.JOBS.*"
    gone = f"streams: {{DEAD: {{subjects: ['{subject}']}}}}\nremoved: [{{address: stream/JOBS, reason: done}}]"
    made = scene(tmp_path, gone, file(subject)).plan()
    said = [one.message for change in made.changes for one in change.consequences if "advisories" in one.message]
    assert said == [
        f"Stream DEAD captures advisories about stream JOBS by its name (`{subject}`), and gets no more of them"
    ]


@on_every_version
def test_after_a_rename_a_dead_letter_queue_gets_nothing_more(account: Account, tmp_path: Path) -> None:
    subject = f"{ADVISORY}.JOBS.image"

    async def fails(js: JetStream, consumer: str) -> None:
        """The message is given up at its first delivery, which the next pull finds out."""
        await publish(js, "jobs.a")
        await take(js, "JOBS", consumer, 1, acknowledge=False)
        advised = await js.pipeline.nc.subscribe(f"{ADVISORY}.JOBS.{consumer}")
        async with asyncio.timeout(20):
            await advised.next_msg(timeout=20)
        await advised.unsubscribe()

    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, file(subject))
        await fails(js, "image")
        await until(js, lambda info: info["state"]["messages"] == 1, "STREAM.INFO.DEAD")
        made = await plan(read(tmp_path, file(subject, "thumbs", RENAMED)), js, RunOptions(allow=(("CO330", "*"),)))
        await applied(js, tmp_path, file(subject, "thumbs", RENAMED), "CO330")
        await fails(js, "thumbs")
        told = [one.message for change in made.plan.changes for one in change.consequences if SAID in one.message]
        return told, (await js.request("STREAM.INFO.DEAD"))["state"]["messages"]  # type: ignore[index]

    told, stored = talk(account, work)
    assert (len(told), stored) == (1, 1)
