"""Streams that others mirror or source, on real servers: what feeds the copies is nobody's, and what it stands in the way
of is foretold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.wire.answers import Answer, Refusal
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account
from tests.support.exporting import export
from tests.support.jetstream import done, make_stream, talk
from tests.support.topologies import TODAY, read
from tests.support.versions import on_every_version

S = 1_000_000_000
COPIES: Mapping[str, dict[str, Any]] = {
    "sources": {"subjects": ["c"], "sources": [{"name": "W", "filter_subject": "w.a"}]},
    "mirror": {"mirror": {"name": "W", "filter_subject": "w.a"}},
}

LIMITS = (
    {"max_ack_pending": 999},
    {"max_ack_pending": 1000},
    {"inactive_threshold": 9 * S},
    {"inactive_threshold": 10 * S},
    {"max_ack_pending": 1, "inactive_threshold": 10 * S},
)


async def copied(js: JetStream, how: str, retention: str = "workqueue") -> None:
    await make_stream(js, "W", subjects=["w.>"], retention=retention, storage="memory")
    await make_stream(js, "C", storage="memory", **COPIES[how])
    await fed(js, how)


async def fed(js: JetStream, how: str) -> None:
    async with asyncio.timeout(30):
        while True:  # nothing announces that a copy is being fed
            info = done(await js.request("STREAM.INFO.C"))
            told = info["mirror"] if how == "mirror" else (info.get("sources") or [{}])[0]
            if told.get("active", -1) >= 0:
                return
            await asyncio.sleep(0.01)


def is_refused(answer: Answer, *codes: int) -> bool:
    """Refused for these reasons, or done; silence and any other refusal are neither."""
    if isinstance(answer, Mapping):
        return False
    assert isinstance(answer, Refusal), answer
    assert answer.err_code in codes, answer
    return True


async def codes(js: JetStream, folder: Path, text: str) -> set[str]:
    """Rules that refuse this."""
    made = await plan(read(folder / str(abs(hash(text))), text), js, RunOptions(today=TODAY))
    return {verdict.code for change in made.plan.changes for verdict in change.verdicts if verdict.blocks}


@on_every_version
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("subject", ["", "w.a", "w.b"])
def test_a_consumer_beside_a_copy_of_a_work_queue_is_refused_where_the_server_refuses_it(
    account: Account, tmp_path: Path, how: str, subject: str
) -> None:
    async def work(js: JetStream) -> tuple[bool, bool]:
        await copied(js, how)
        said = f", filter_subject: {subject}" if subject else ""
        text = f"streams: {{W: {{external: true, consumers: {{c: {{ack_policy: explicit{said}}}}}}}}}"
        foretold = await codes(js, tmp_path, text)
        config = {"durable_name": "c", "name": "c", "ack_policy": "explicit", "filter_subject": subject}
        body = {"stream_name": "W", "action": "create", "config": config}
        answer = await js.request("CONSUMER.CREATE.W.c", body)
        return "CO583" in foretold, is_refused(answer, 10099, 10100)

    foretold, refused = talk(account, work)
    assert foretold == refused == (Version.parse(account.version) < (2, 14) and subject != "w.b")


@on_every_version
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("subject", ["", "w.a", "w.b"])
def test_a_consumer_beside_a_copy_of_a_work_queue_changes_where_the_server_lets_it(
    account: Account, tmp_path: Path, how: str, subject: str
) -> None:
    """It was there before the copy."""

    async def work(js: JetStream) -> tuple[bool, bool, set[str]]:
        await make_stream(js, "W", subjects=["w.>"], retention="workqueue", storage="memory")
        config = {"durable_name": "c", "name": "c", "ack_policy": "explicit", "filter_subject": subject}
        done(await js.request("CONSUMER.CREATE.W.c", {"stream_name": "W", "action": "create", "config": config}))
        await make_stream(js, "C", storage="memory", **COPIES[how])
        await fed(js, how)
        said = f", filter_subject: {subject}" if subject else ""
        text = "streams: {{W: {{external: true, consumers: {{c: {{ack_policy: explicit{}{}}}}}}}}}"
        foretold = await codes(js, tmp_path, text.format(said, ", description: x"))
        stays = await codes(js, tmp_path, text.format(said, ""))
        body = {"stream_name": "W", "action": "update", "config": {**config, "description": "x"}}
        answer = await js.request("CONSUMER.CREATE.W.c", body)
        return "CO583" in foretold, is_refused(answer, 10099, 10100), stays

    foretold, refused, stays = talk(account, work)
    assert foretold == refused == (Version.parse(account.version) < (2, 14) and subject == "w.a")
    assert stays == set()


@on_every_version
@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_limits_below_what_feeds_a_copy_are_refused_where_the_server_refuses_them(
    account: Account, tmp_path: Path, how: str, retention: str, limits: dict[str, int]
) -> None:
    async def work(js: JetStream) -> tuple[bool, bool]:
        await copied(js, how, retention)
        text = (
            f"streams: {{W: {{subjects: [w.>], retention: {retention}, storage: memory, consumer_limits: {limits}}}}}"
        )
        foretold = await codes(js, tmp_path, text)
        config = done(await js.request("STREAM.INFO.W"))["config"]
        answer = await js.request("STREAM.UPDATE.W", {**config, "consumer_limits": limits})
        return "ST554" in foretold, is_refused(answer, 10069)

    foretold, refused = talk(account, work)
    assert foretold == refused


@on_every_version
@pytest.mark.parametrize("how", COPIES)
def test_what_feeds_a_copy_is_neither_exported_nor_anybodys(account: Account, tmp_path: Path, how: str) -> None:
    async def work(js: JetStream) -> tuple[str, int, set[str]]:
        await copied(js, how)
        text = await export(js, topology="orders")
        made = await plan(read(tmp_path, text), js, RunOptions(today=TODAY))
        assert made.plan.is_empty
        snapshot = await observe(js)
        return text, sum(map(len, snapshot.copiers.values())), {*snapshot.consumers.get("W", {})}

    text, listed, consumers = talk(account, work)
    assert "JS_SRC" not in text
    assert listed == (Version.parse(account.version) >= (2, 14))
    assert consumers == set()
