"""`make power`: the power goes after each write of an apply, and one stream, or the bucket, comes back as it was after an
earlier one; then one node of three does. Exits 1 if anything is deleted, adopted, taken over, replaced, skipped or begun
wrongly, or if nobody says what to do.

`python -m tests.power [--minor 2.15 …] [--scene NAME …] [--every N]`: `--every 5` takes each fifth point.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

from tests.power.case import Outcome
from tests.power.cluster import played
from tests.power.playing import Chosen, run, scenes
from tests.power.report import summary, table, wrongs
from tests.support.binaries import MINORS, VERSIONS


def main(arguments: Sequence[str]) -> int:
    said = _said(arguments)
    chosen = Chosen(scenes=tuple(said.scene), every=said.every)
    outcomes: list[Outcome] = []
    with ProcessPoolExecutor(max_workers=cpu_count() or 1) as pool:
        for minor in said.minor or MINORS:
            wanted = [one for one in scenes(minor) if not chosen.scenes or one.name in chosen.scenes]
            found = [
                one for each in pool.map(run, wanted, [minor] * len(wanted), [chosen] * len(wanted)) for one in each
            ]
            print(summary(f"nats-server {VERSIONS[minor]}", found), flush=True)
            for line in wrongs(found):
                print(f"  {line}", flush=True)
            outcomes += found
    print(f"\n{table(outcomes)}\n\n{summary('together', outcomes)}", flush=True)
    points = [] if chosen.scenes or said.minor else [one for minor in (MINORS[0], MINORS[-1]) for one in played(minor)]
    unhealed = [one for one in points if one.wrong or not one.was_reached]
    print(f"one node of three came back older: {len(points)} points, {len(points) - len(unhealed)} healed")
    for one in unhealed:
        print(f"  {one}")
    return 1 if wrongs(outcomes) or unhealed or not outcomes else 0


def _said(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__)
    parser.add_argument("--minor", nargs="*", default=[], choices=[*MINORS])
    parser.add_argument("--scene", nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1)
    return parser.parse_args(arguments)
