"""`make agreement N=5000`: as many random cases per version as wanted, beside every row at least twenty times a side."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from tests.agreement.case import Case
from tests.agreement.judged_run import judged_run
from tests.agreement.judging import Kind
from tests.agreement.tally import Tally, unneeded, unreached
from tests.support.binaries import MINORS

TIMES = 20


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("number", type=int, nargs="?", default=5000, help="random cases per version")
    said.add_argument("--only", default=",".join(MINORS), help="minors, with commas")
    said.add_argument("--times", type=int, default=TIMES, help="how often each side of a row is seen")
    said.add_argument("--seed", type=int, default=1)
    said.add_argument("--restarts", type=float, default=0.2, help="share of cases that also see a restart")
    options = said.parse_args()
    work = partial(
        judged_run, number=options.number, times=options.times, restarts=options.restarts, seed=options.seed,
        size=max(400, min(2000, options.number // 4)),
    )  # fmt: skip
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as processes:
        tallies = list(processes.map(work, options.only.split(",")))
    gaps = {tally.version: tally.missing(options.times) for tally in tallies}
    show(tallies, gaps)
    complete = options.only == ",".join(MINORS)
    left = (unreached(tallies), unneeded(tallies)) if complete else (set(), set())
    print(f"\nerr_codes never seen: {sorted(left[0]) or 'none'}")
    print(f"rules no case needs: {sorted(left[1]) or 'none'}")
    return int(any(t.wrong for t in tallies) or any(gaps.values()) or any(left))


def show(tallies: list[Tally], gaps: dict[str, list[tuple[str, str]]]) -> None:
    """The table, then what is wrong, the most frequent first."""
    rows = {
        "cases": [t.cases for t in tallies],
        "agreements": [t.kinds[Kind.AGREED] for t in tallies],
        "nothing to write": [t.kinds[Kind.NOTHING] for t in tallies],
        "stricter on purpose": [t.kinds[Kind.STRICTER] for t in tallies],
        **{
            f"  {code}": [t.stricter[code] for t in tallies]
            for code in sorted({c for t in tallies for c in t.stricter})
        },
        "nobody could know": [t.kinds[Kind.UNKNOWABLE] for t in tallies],
        "seen after a restart": [t.restarted for t in tallies],
        "losses foretold and seen": [sum(t.doomed.values()) for t in tallies],
        "disagreements": [t.total_wrong for t in tallies],
        "rows seen too seldom": [len(gaps[t.version]) for t in tallies],
    }
    print(f"{'':26}" + "".join(f"{t.version:>10}" for t in tallies))
    for name, numbers in rows.items():
        print(f"{name:26}" + "".join(f"{n:>10}" for n in numbers))
    for tally in tallies:
        for missing in gaps[tally.version]:
            print(f"{tally.version}: seldom {missing}")
    together: dict[str, dict[str, list[Case]]] = {}
    for tally in tallies:
        for why, cases in tally.wrong.items():
            together.setdefault(why, {})[tally.version] = cases
    for why, by in sorted(together.items(), key=lambda item: -sum(map(len, item[1].values()))):
        smallest = min((case for cases in by.values() for case in map(str, cases)), key=len)
        print(
            f"\n{', '.join(f'{v} × {len(c)}' for v, c in by.items())}: {why}\n    "
            + smallest.replace("\n", "\n    ")[:800]
        )


if __name__ == "__main__":
    sys.exit(main())
