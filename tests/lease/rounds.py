"""Takes a lease again and again, and says of each round whether it was alone: `python -m tests.lease.rounds URL USER ROUNDS`."""

from __future__ import annotations

import asyncio
import os
import sys

from reconciler.memory.lease import Holder
from reconciler.server.read.read_kv import entry
from reconciler.server.remember.lease import LeaseTerms, leased
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.support.accounts import connect


async def main(url: str, user: str, rounds: int) -> None:
    nc = await connect(url, user, user)
    js = await JetStream.open(nc)
    for number in range(rounds):
        run = f"{os.getpid()}-{number}"
        async with leased(js, [Holder(topology="t", run=run, user=run)], terms=LeaseTerms(ttl=20, every=2, grace=60)):
            ours = await js.put_entry("reconciler", "mark", run.encode(), expected_revision=None)
            await asyncio.sleep(0.01)
            there = await entry(js, "reconciler", "mark")
            alone = isinstance(ours, Stored) and getattr(there, "revision", None) == ours.revision
            print("alone" if alone else "not alone", flush=True)
        await asyncio.sleep(0.2)  # so that the other one has its turn
    await js.close()
    await nc.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
