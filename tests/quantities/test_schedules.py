"""Message schedules that a stream holds go on firing into it when it gives up their subjects, as the plan says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from reconciler.journeys.plan.validate import offline
from reconciler.kinds import REGISTRY
from reconciler.model.wire.version import Version
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, planned, publish, take
from tests.support.accounts import Pool
from tests.support.binaries import MINORS
from tests.support.jetstream import talk
from tests.support.topologies import read

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
    async def work(js: JetStream) -> tuple[str, str, list[str]]:
        await applied(js, tmp_path, BOTH)
        await schedule(js)
        verdicts = await applied(js, tmp_path, NARROWED, "XX233")
        return verdicts["ST303"].message, verdicts["XX233"].message, await take(js, "S", "c", 1)

    said, told_of_reader, delivered = talk(pool.account(minor), work)
    assert said.endswith(SAID)
    assert told_of_reader.endswith("c. Message schedules that are stored may still fire messages on these subjects")
    assert delivered == ["jobs.x"]


def test_files_alone_do_not_tell_that_a_reader_of_schedules_gets_nothing(tmp_path: Path) -> None:
    def warnings(files: str) -> list[str]:
        found = offline(read(tmp_path, files), Version(2, 15), REGISTRY)
        return [diagnostic.message for diagnostic in found if diagnostic.code == "XX234"]

    none = "`jobs.x` matches no subject that S stores (elsewhere)"
    assert warnings(NARROWED) == [f"{none}, so it gets no new message: at most some that stored schedules fire"]
    assert warnings(NARROWED.replace("allow_msg_schedules: true", "description: plain")) == [none]


def test_nothing_is_said_of_schedules_where_none_can_be_stored(pool: Pool, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, BOTH)
        empty = (await planned(js, tmp_path, NARROWED))["ST303"].message
        plain = BOTH.replace("S:", "T:").replace("later.>, jobs.>", "t.>, u.>").replace("allow_msg_schedules: true", "")
        await applied(js, tmp_path, plain)
        await publish(js, "t.a")
        return [empty, (await planned(js, tmp_path, plain.replace("t.>, u.>", "t.>")))["ST303"].message]

    assert not any("schedules" in said for said in talk(pool.account(), work))
