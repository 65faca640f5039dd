"""`make probes N=20000`: so many changes on each version, and what plans did not foretell or foretold in vain, by cause."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.probes.drawing import KINDS
from tests.probes.tally import AT_A_TIME, Tally, play
from tests.support.binaries import MINORS


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("number", type=int, nargs="?", default=20_000)
    said.add_argument("--only", default=",".join(MINORS), help="minors, with commas")
    said.add_argument("--seed", type=int, default=1)
    said.add_argument("--examples", type=int, default=1, help="of each cause")
    said.add_argument("--workers", type=int, default=2)
    said.add_argument("--at-a-time", type=int, default=AT_A_TIME, help="cases on a server; they mostly wait")
    said.add_argument(
        "--kind", choices=sorted(KINDS), action="append", default=[], help="of scenes; all, if none is named"
    )
    options = said.parse_args()
    minors = options.only.split(",")
    total = Tally()
    with ProcessPoolExecutor(max_workers=min(options.workers, len(minors))) as pool:
        same = (options.number, options.seed, options.at_a_time, options.kind)
        each = pool.map(play, minors, *([one] * len(minors) for one in same))
        for minor, tally in zip(minors, each, strict=True):
            print(f"nats-server {minor}: {tally}", flush=True)
            total += tally
    print("\n".join(total.causes(options.examples)))
    print(f"{len(total.needed)} effects without which a change would be unforetold: {', '.join(sorted(total.needed))}")
    return int(not total.is_true)


if __name__ == "__main__":
    sys.exit(main())
