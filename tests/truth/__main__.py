"""`make truth N=2000`: so many cases on all versions together, and a table of what was said beside what was so."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.support.accounts import Pool
from tests.support.binaries import MINORS
from tests.truth.by_hand import BY_HAND
from tests.truth.drawing import cases
from tests.truth.running import run
from tests.truth.table import Tally, lines


def every_case(minor: str, number: int, every: int, offset: int) -> Tally:
    """On a server of its own."""
    pool = Pool()
    try:
        return Tally.of(minor, run(pool, minor, [*BY_HAND, *cases(number, every=every, offset=offset)]))
    finally:
        pool.close()


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("number", type=int, nargs="?", default=2_000)
    said.add_argument("--only", default=",".join(MINORS), help="minors, with commas")
    options = said.parse_args()
    minors = options.only.split(",")
    total = Tally()
    with ProcessPoolExecutor(max_workers=2) as workers:
        for tally in workers.map(
            every_case, minors, [options.number] * len(minors), [len(minors)] * len(minors), range(len(minors))
        ):
            total += tally
    print("\n".join(lines(total)))
    return int(not total.is_true)


if __name__ == "__main__":
    sys.exit(main())
