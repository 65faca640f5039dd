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
    with ProcessPoolExecutor(max_workers=2) as pool:
        results = dict(zip(minors, pool.map(run, minors, [every()] * len(minors)), strict=True))
    for minor, outcomes in results.items():
        bad = [outcome for outcome in outcomes if not outcome.is_good]
        lost = sum(len(outcome.lost) for outcome in outcomes)
        again = sum(outcome.again for outcome in outcomes)
        print(
            f"nats-server {VERSIONS[minor]}: {len(outcomes)} cases, {lost} lost, {again} delivered again, {len(bad)} wrong"
        )
        for outcome in bad:
            print(f"  {outcome}")
    return any(not outcome.is_good for outcomes in results.values() for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
