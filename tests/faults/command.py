"""`make faults`: every cut at every point on every server version, and in a cluster every leader killed at every point,
beside a tenth of the other cuts; exits 1 if anything did not converge or is lost.

`python -m tests.faults [--setup 2.15 …] [--scene NAME …] [--fault NAME …] [--every N]`: `--every 5` takes each fifth case.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

from tests.faults.case import Outcome
from tests.faults.kinds import Fault
from tests.faults.playing import CLUSTER, Chosen, run
from tests.faults.report import idle, summary, table, wrongs
from tests.support.binaries import MINORS, VERSIONS


def main(arguments: Sequence[str]) -> int:
    chosen = _chosen(arguments)
    setups = chosen.setups or (*MINORS, CLUSTER)
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(max_workers=cpu_count() or 1) as pool:
        for setup, found in zip(setups, pool.map(run, setups, [chosen] * len(setups)), strict=True):
            print(summary(f"nats-server {VERSIONS.get(setup, 'cluster of three')}", found), flush=True)
            for line in wrongs(found):
                print(f"  {line}", flush=True)
            outcomes += found
    print(f"\n{table(outcomes)}\n\n{summary('together', outcomes)}")
    for line in idle(outcomes):
        print(f"  PROVES NOTHING: {line}")
    return 1 if wrongs(outcomes) or idle(outcomes) else 0


def _chosen(arguments: Sequence[str]) -> Chosen:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--setup", nargs="*", default=[], choices=[*MINORS, CLUSTER])
    parser.add_argument("--scene", nargs="*", default=[])
    parser.add_argument("--fault", nargs="*", default=[], choices=[*Fault])
    parser.add_argument("--every", type=int, default=1)
    said = parser.parse_args(arguments)
    faults = tuple(Fault(name) for name in said.fault)
    return Chosen(setups=tuple(said.setup), scenes=tuple(said.scene), faults=faults, every=said.every)
