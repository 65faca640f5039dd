"""What is foretold of a stream's subjects is what a real group's queue then holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.fleet.accounts.source import read_live
from reconciler.fleet.skew.candidates import declared_candidates
from reconciler.server.wire.api import JetStream
from tests.groups.making import RECORD, publish, queue, sourced
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


async def a_group_with_messages(js: JetStream) -> dict[int, int]:
    """What its queue then holds, by partition."""
    await make_stream(js, "S", subjects=["j.*"])
    await make_stream(js, "S-g", **queue())
    await publish(js, 40)
    await publish(js, 10)
    await sourced(js, 50)
    info = done(await js.request("STREAM.INFO.S-g", {"subjects_filter": ">"}))
    found: Counter[int] = Counter()
    for subject, messages in info["state"]["subjects"].items():
        found[int(subject.partition(".")[0])] += messages
    return dict(found)


def test_subjects_fall_as_the_server_lets_them_fall(
    spark: SparkSession, fleet: Callable[..., Path], account: Account
) -> None:
    from reconciler.fleet.skew.skew import falls

    queued = talk(account, a_group_with_messages)
    file = fleet(eu=account, down={"server": "nats://127.0.0.1:1"})
    fallen = falls(read_live(spark, file, "subjects", stream="S"), declared_candidates(RECORD)).collect()
    assert {row["partition"]: row["messages"] for row in fallen if row["messages"]} == queued
    assert {row["target"] for row in fallen if row["error"]} == {"down"}
