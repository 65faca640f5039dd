"""`make drill`: every case on every server version; counts what is lost, and exits 1 if anything is."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, count, product
from os import cpu_count
from pathlib import Path

from tests.drill.cases import STATES, WISHES, Case, State, Wish, every
from tests.drill.drill import Drill, Outcome
from tests.support.binaries import MINORS, VERSIONS
from tests.support.servers import running

WRITES = ("$KV.", "$JS.API.STREAM.CREATE.", "$JS.API.STREAM.UPDATE.", "$JS.API.STREAM.DELETE.")


def run(minor: str, state: State, wish: Wish) -> list[Outcome]:
    """One situation on one version: cut off after each step, then killed after each request."""
    steps = [case for case in every() if (case.state, case.wish) == (state, wish)]
    with running(minor) as server, tempfile.TemporaryDirectory() as folder:
        drill = Drill(server, Path(folder))
        return [*(asyncio.run(drill.run(case)) for case in steps), *_killed(drill, state, wish)]


def _killed(drill: Drill, state: State, wish: Wish) -> Iterator[Outcome]:
    """After each request until there is none left; where that one wrote, once more with the server restarted then."""
    for number in count(1):
        case = Case(state, wish, number, restarts=False, killed=True)
        yield (outcome := asyncio.run(drill.run(case)))
        if outcome.asked and outcome.asked[-1].startswith(WRITES):
            yield asyncio.run(drill.run(case._replace(restarts=True)))
        if outcome.ran_through or not outcome.asked:
            return


def main(arguments: list[str]) -> int:
    """`python -m tests.drill [VERSION…]`"""
    minors = arguments or list(MINORS)
    failed = False
    with ProcessPoolExecutor(max_workers=2 * (cpu_count() or 1)) as pool:  # they wait for servers more than they work
        begun = {
            minor: [pool.submit(run, minor, state, wish) for state, wish in product(STATES, WISHES)] for minor in minors
        }
        for minor, situations in begun.items():
            failed |= told(minor, list(chain.from_iterable(one.result() for one in situations)))
    return failed


def told(minor: str, outcomes: Sequence[Outcome]) -> bool:
    """Prints the counts of one version, and whatever went wrong; was anything?"""
    bad = [outcome for outcome in outcomes if not outcome.is_good]
    lost = sum(len(outcome.lost) for outcome in outcomes)
    again, announced = (sum(getattr(one, name) for one in outcomes) for name in ("again", "announced"))
    killed = sum(outcome.case.killed for outcome in outcomes)
    print(
        f"nats-server {VERSIONS[minor]}: {len(outcomes)} cases ({len(outcomes) - killed} cut after a step, {killed} killed "
        f"after a request), {lost} lost, {again} delivered again of at most {announced} announced, {len(bad)} cases wrong",
        flush=True,
    )
    for outcome in bad:
        print(f"  {outcome}", flush=True)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
