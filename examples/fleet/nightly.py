"""What spark-submit runs every night: one look at all targets, and the report.

    spark-submit --master yarn --archives env.tar.gz#env --conf spark.pyspark.python=./env/bin/python \\
        --conf spark.executorEnv.US_2_CREDS="$US_2_CREDS" nightly.py hdfs:///lake/fleet fleet.yaml

The tables are in a folder that all executors share, or in a catalog (`table:lake.fleet`, of Delta or Iceberg tables on S3).
env.tar.gz is a packed environment with `nats-reconciler[fleet]`, for the executors; the driver uses its own, and reads
fleet.yaml and the topologies where it runs. Credentials are looked up by the executors: files at the same path on each
node, or variables as above. Whatever spark-submit started is used as it is. Drift is the answer of this job and not its
failure, so `fleet drift` may end with 3. A target that could not be read, or not wholly, has no answer: `fleet drift` and the
job then end with 1, whatever strayed on the others, and the page names them.
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
