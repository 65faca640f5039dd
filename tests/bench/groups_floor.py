"""What `groups list`, `active` and `doctor` cost with 3,000 groups, beside the bare requests for what they need.

python -m tests.bench.groups_floor [groups]
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from reconciler.journeys.groups import groups as asking
from reconciler.journeys.groups.text import active_text, groups_text
from reconciler.kinds.groups import data
from reconciler.report.codec.shape import data_of
from reconciler.report.words.paper import Paper
from reconciler.server.read.read_kv import entries
from reconciler.server.wire.api import JetStream
from tests.groups.making import RECORD, queue
from tests.support.accounts import Pool
from tests.support.jetstream import make_bucket, make_consumer, make_stream, talk

MOST_TIMES = 3.0
"""A command beside its requests alone, their answers read as JSON."""
ROUNDS = 3
PULLED = {"priority_groups": ["PCG"], "priority_policy": "pinned_client", "priority_timeout": 5_000_000_000}


async def build(js: JetStream, number: int) -> None:
    """Each group with two members' consumers and a message in its queue."""
    await make_stream(js, "S", subjects=["j.*"], storage="memory")
    await make_bucket(js, "elastic-consumer-groups")
    text = json.dumps(RECORD, separators=(",", ":")).encode()

    async def one(name: str) -> None:
        await js.put_entry("elastic-consumer-groups", f"S.{name}", text, expected_revision=0)
        await make_stream(js, f"S-{name}", **queue(storage="memory"))
        for member, own in (("a", (0, 1)), ("b", (2, 3))):
            await make_consumer(js, f"S-{name}", member, filter_subjects=[f"{n}.j.*" for n in own], **PULLED)

    for start in range(0, number, 32):
        await asyncio.gather(*(one(f"g{n}") for n in range(start, min(start + 32, number))))
    await js.pipeline.nc.request("j.k", b"x")


async def requests(js: JetStream, endpoints: Iterable[str]) -> None:
    await asyncio.gather(*(js.request(endpoint, within=30) for endpoint in endpoints))


async def lists(js: JetStream, number: int) -> None:
    """All streams, and all records."""
    said = await js.request("STREAM.LIST", within=30)
    assert isinstance(said, dict)
    offsets = range(said["limit"], said["total"], said["limit"])
    await asyncio.gather(*(js.request("STREAM.LIST", {"offset": offset}, within=30) for offset in offsets))
    bucket = await js.request("STREAM.INFO.KV_elastic-consumer-groups")
    assert isinstance(bucket, dict)
    await entries(js, "elastic-consumer-groups", bucket)


async def with_consumers(js: JetStream, number: int) -> None:
    await lists(js, number)
    await requests(js, (f"CONSUMER.LIST.S-g{n}" for n in range(number)))


async def with_subjects(js: JetStream, number: int) -> None:
    await with_consumers(js, number)
    infos = (js.request(f"STREAM.INFO.S-g{n}", {"subjects_filter": ">"}, within=30) for n in range(number))
    await asyncio.gather(*infos)


async def listed(js: JetStream, number: int) -> None:
    seen = await asking.look(js, consumers=False)
    text = groups_text([data_of(data.summary(group)) for group in seen.groups], Paper())
    assert len(text.splitlines()) == number + 1


async def active(js: JetStream, number: int) -> None:
    text = active_text([data_of(data.active(group)) for group in (await asking.look(js)).groups], Paper())
    assert len(text.splitlines()) == 2 * number + 1


async def examined(js: JetStream, number: int) -> None:
    seen, _ = await asking.examine_groups(js)
    assert len(seen.groups) == number


async def best(js: JetStream, number: int, work: Callable[[JetStream, int], Awaitable[Any]]) -> float:
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await work(js, number)
        found.append(time.perf_counter() - began)
    return min(found)


async def compare(js: JetStream, number: int) -> int:
    await build(js, number)
    worst = 0.0
    for name, work, floor in (
        ("list", listed, lists),
        ("active", active, with_consumers),
        ("doctor", examined, with_subjects),
    ):
        bare, ours = await best(js, number, floor), await best(js, number, work)
        print(
            f"  {name:8} {ours:6.2f} s for {number:,} groups, {ours / bare:.1f} times its requests alone ({bare:.2f} s)"
        )
        worst = max(worst, ours / bare)
    return 0 if worst <= MOST_TIMES else 1


def main(number: str = "3000") -> int:
    gc.disable()  # as every command does; collecting depends on what else the process holds
    pool = Pool()
    try:
        return talk(pool.account(), lambda js: compare(js, int(number)), within=30)
    finally:
        pool.close()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
