"""Case after case on one server version, several side by side: set up, planned, applied, counted."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from nats.errors import TimeoutError as NatsTimeout

from reconciler.changes.amount import exactly
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account, Pool
from tests.support.jetstream import done
from tests.truth.account import Live, Miscounted
from tests.truth.case import Case, Row, Scene, said

LANES = 6


def run(pool: Pool, minor: str, cases: Iterable[Case]) -> list[tuple[Case, list[Row]]]:
    """What each said and what was so; a lane has an account of its own, and empties it after each case."""
    waiting = list(cases)
    accounts = [pool.account(minor) for _ in range(min(LANES, len(waiting)))]
    return asyncio.run(_lanes(accounts, waiting))


async def _lanes(accounts: Sequence[Account], waiting: list[Case]) -> list[tuple[Case, list[Row]]]:
    lanes = await asyncio.gather(*(_lane(account, waiting) for account in accounts))
    return [found for lane in lanes for found in lane]


async def _lane(account: Account, waiting: list[Case]) -> list[tuple[Case, list[Row]]]:
    nc = await account.connect()
    js = await JetStream.open(nc)
    found = []
    try:
        while waiting:
            case = waiting.pop(0)
            with tempfile.TemporaryDirectory() as folder:
                live = Live(js, Path(folder), stream=case.stream)
                try:
                    found.append((case, await _played(live, case)))
                except Miscounted:
                    found.append((case, []))
                except (AssertionError, TimeoutError, NatsTimeout) as error:
                    found.append((case, [Row(f"{type(error).__name__} {error}", exactly(0), 1)]))
                if live.members:
                    live.members.cancel()
            for name in done(await js.request("STREAM.NAMES"))["streams"] or ():
                done(await js.request(f"STREAM.DELETE.{name}"))
    finally:
        await js.close()
        await nc.close()
    return found


async def _played(live: Live, case: Case) -> list[Row]:
    await live.apply(case.before)
    await live.publish(case.messages)
    if case.later:
        await asyncio.sleep(case.pause)  # ages are what this is about
    young = asyncio.get_running_loop().time()
    if case.later:
        await live.publish(case.later)
    for sequence in case.deleted:
        await live.delete(sequence)
    for name, work in case.work.items():
        consumers = case.before["streams"][live.stream]["consumers"]
        await live.work(name, consumers[name], work)
    for name in case.gone:
        done(await live.js.request(f"CONSUMER.DELETE.{live.stream}.{name}"))
    if case.ready:
        await case.ready(live)
    stored = await live.rests()
    size = (await live.info())["state"]["bytes"]
    plan = await live.apply(case.after, *case.replacing)
    measured = await case.measure(live, Scene(stored, size, plan))
    if asyncio.get_running_loop().time() - young > case.young:
        raise Miscounted  # a busy machine: what was young has aged meanwhile
    claims = dict(said(case, plan))
    return [Row(of, claims.get(of, exactly(0)), number) for of, number in measured.items()] + [
        Row(of, claim, -1) for of, claim in claims.items() if of not in measured
    ]
