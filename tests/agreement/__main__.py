"""`make agreement N=5000`: as many random cases per version as wanted, beside both sides of every row twenty times."""

from __future__ import annotations

import argparse
import sys

from tests.agreement.judged_run import every_version
from tests.agreement.report import problems, table
from tests.support.binaries import MINORS


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("number", type=int, nargs="?", default=5000, help="random cases per version")
    said.add_argument("--only", default=",".join(MINORS), help="minors, with commas")
    said.add_argument("--times", type=int, default=20, help="how often both sides of a row are seen at least")
    said.add_argument("--seed", type=int, default=1)
    said.add_argument("--restarts", type=float, default=0.1, help="share of cases that also see a restart")
    options = said.parse_args()
    minors = options.only.split(",")
    tallies = every_version(
        minors, number=options.number, times=options.times, restarts=options.restarts, seed=options.seed
    )
    found = problems(tallies, options.times, every_version=set(minors) == set(MINORS))
    print(table(tallies, options.times))
    print("\n" + "\n\n".join(found) if found else "\nNo disagreement, no gap.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
