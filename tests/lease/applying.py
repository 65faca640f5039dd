"""An apply as a process of its own, with terms shorter than people get: `python -m tests.lease.applying FILE URL USER TTL`.

It says `planned` and waits for a line before it applies, then `waiting` with whom it waits for, `began` with the first
step, and in the end `done N` or why not. If that line says `stay`, it waits for another one with its first step.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from reconciler.changes.events import Finished, Started
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.diagnostic import CannotContinue
from reconciler.server.remember.lease import LeaseTerms
from reconciler.server.wire.api import JetStream
from tests.support.accounts import connect
from tests.support.topologies import from_files


def say(text: str) -> None:
    print(text, flush=True)


async def main(file: str, url: str, user: str, ttl: int) -> None:
    nc = await connect(url, user, user)
    js = await JetStream.open(nc)
    planned = await plan(from_files(Path(file)), js)
    say("planned")
    stays = (await asyncio.to_thread(sys.stdin.readline)).strip() == "stay"
    terms, began = LeaseTerms(ttl=ttl, every=ttl / 4), False
    try:
        async for event in apply(planned, js, tell=lambda whom: say(f"waiting {whom}"), terms=terms):
            if isinstance(event, Started) and not began:
                began = True
                say("began")
                if stays:
                    await asyncio.to_thread(sys.stdin.readline)
            if isinstance(event, Finished):
                say(
                    f"stopped {event.stopped}"
                    if event.stopped
                    else f"done {len(event.done)} failed {len(event.failed)}"
                )
    except CannotContinue as held:
        say(f"{held.diagnostics[0].code} {held.diagnostics[0].message}")
    await js.close()
    await nc.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
