"""What spark-submit runs every night: one look at all targets, and the report.

    spark-submit --master yarn --archives reconciler.tar.gz#env --files ... nightly.py s3a://lake/fleet fleet.yaml

Whatever spark-submit started is used as it is. Drift is the answer of this job and not its failure, so it ends with 0
where `fleet drift` ends with 3.
"""

from __future__ import annotations

import sys

from reconciler.cli.run import run

DRIFT = 3


def main(store: str, fleet: str) -> int:
    """The worst of what went wrong."""
    looked = run(["fleet", "drift", fleet, "--store", store, "--format", "json"])
    told = run(["fleet", "report", fleet, "--store", store, "--report", "html=fleet.html"])
    return max(0 if code == DRIFT else code for code in (looked, told))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
