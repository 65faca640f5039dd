"""`make drill`: every case on every server version; counts what is lost, and exits 1 if anything is."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.drill.cases import Case, every
from tests.drill.drill import Drill, Outcome
from tests.support.binaries import MINORS, VERSIONS
from tests.support.servers import running


def run(minor: str, cases: Sequence[Case]) -> list[Outcome]:
    """One version, one case after the other."""
    with running(minor) as server, tempfile.TemporaryDirectory() as folder:
        drill = Drill(server, Path(folder))
        return [asyncio.run(drill.run(case)) for case in cases]


def main(arguments: list[str]) -> int:
    """`python -m tests.drill [VERSION…]`"""
    minors = arguments or list(MINORS)
    failed = False
    with ProcessPoolExecutor(max_workers=len(minors)) as pool:  # they wait for servers more than they work
        for minor, outcomes in zip(minors, pool.map(run, minors, [every()] * len(minors)), strict=True):
            failed |= told(minor, outcomes)
    return failed


def told(minor: str, outcomes: Sequence[Outcome]) -> bool:
    """Prints the counts of one version, and whatever went wrong; was anything?"""
    bad = [outcome for outcome in outcomes if not outcome.is_good]
    lost = sum(len(outcome.lost) for outcome in outcomes)
    again, announced = (sum(getattr(one, name) for one in outcomes) for name in ("again", "announced"))
    print(
        f"nats-server {VERSIONS[minor]}: {len(outcomes)} cases, {lost} lost, {again} delivered again "
        f"of at most {announced} announced, {len(bad)} cases wrong",
        flush=True,
    )
    for outcome in bad:
        print(f"  {outcome}", flush=True)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
