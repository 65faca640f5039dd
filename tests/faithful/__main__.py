"""`make faithful N=20000`: so many objects copied and so many changed by hand, on all versions together."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

from tests.faithful.running import Tally, every_object
from tests.support.binaries import MINORS


def main() -> int:
    said = argparse.ArgumentParser(description=__doc__)
    said.add_argument("number", type=int, nargs="?", default=20_000)
    said.add_argument("--only", default=",".join(MINORS), help="minors, with commas")
    options = said.parse_args()
    minors = options.only.split(",")
    total = Tally()
    with ProcessPoolExecutor(max_workers=2) as pool:
        each = pool.map(every_object, minors, [options.number // len(minors)] * len(minors))
        for minor, tally in zip(minors, each, strict=True):
            print(f"nats-server {minor}: {tally}", flush=True)
            total += tally
    print(f"together: {total}")
    for reason, number in total.unsayable.most_common(20):
        print(f"  not to be accepted, {number}: {reason}")
    for one in (*total.lost[:20], *total.unseen[:20], *total.unkept[:20], *total.offences[:20]):
        print(f"  {one}")
    return int(not total.is_faithful)


if __name__ == "__main__":
    sys.exit(main())
