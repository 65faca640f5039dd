"""Message schedules that a stream holds go on firing into it when it gives up their subjects, as the plan says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, planned, publish, take
from tests.support.accounts import Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import talk

BOTH = """
streams:
  S:
    subjects: [later.>, jobs.>]
    allow_msg_schedules: true
    consumers: {c: {ack_policy: explicit, filter_subject: jobs.x}}
"""
NARROWED = BOTH.replace("later.>, jobs.>", "elsewhere")
SAID = "keep running: this stream still stores the messages they fire, on these subjects too"


async def schedule(js: JetStream) -> None:
    """A message that the stream is to publish on jobs.x soon."""
    soon = datetime.now(UTC) + timedelta(seconds=2)
    headers = {"Nats-Schedule": f"@at {soon:%Y-%m-%dT%H:%M:%SZ}", "Nats-Schedule-Target": "jobs.x"}
    stored = await js.pipeline.nc.request("later.a", b"x", timeout=20, headers=headers)
    assert b'"seq"' in stored.data, stored.data


@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.11"])
def test_a_schedule_fires_onto_a_subject_that_is_no_longer_captured(pool: Pool, tmp_path: Path, minor: str) -> None:
    async def work(js: JetStream) -> tuple[str, list[str]]:
        await applied(js, tmp_path, BOTH)
        await schedule(js)
        verdicts = await applied(js, tmp_path, NARROWED, "XX233")
        return verdicts["ST303"].message, await take(js, "S", "c", 1)

    said, delivered = talk(pool.account(minor), work)
    assert said.endswith(SAID)
    assert delivered == ["jobs.x"]


def test_nothing_is_said_of_schedules_where_none_can_be_stored(pool: Pool, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, BOTH)
        empty = (await planned(js, tmp_path, NARROWED))["ST303"].message
        plain = BOTH.replace("S:", "T:").replace("later.>, jobs.>", "t.>, u.>").replace("allow_msg_schedules: true", "")
        await applied(js, tmp_path, plain)
        await publish(js, "t.a")
        return [empty, (await planned(js, tmp_path, plain.replace("t.>, u.>", "t.>")))["ST303"].message]

    assert not any("schedules" in said for said in talk(pool.account(), work))
