"""Drift of a fleet on Spark, against one plain Python process that runs the same engine over the same rows.

    python -m tests.bench.fleet_drift [targets …]

Each target holds 1,000 objects and our record of each. Both sides read the same Parquet and write the same result; from
the first task to the last, and Spark's own start apart. With several sizes the cost per object must stay flat.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from reconciler.fleet.drift.drift import (
    ARROW,
    ROWS,
    drift,
    drift_batch,
    drift_rows,
    parts_for,
    without_garbage_collection,
)
from reconciler.fleet.session import session
from tests.bench import fleet_accounts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OBJECTS = 1_000
SIDES = ("snapshots", "desired")
LIVE = ("row", "scope", "json", "value", "revision", "deleted", "error", "at")
WANTED = ("run", "target", "topology", "address", "json", "file", "line", "error", "day", "labels", "repository")
AT_LEAST, FLAT = 1.6, 1.25
CORES = 2
HEAPS = {"java": 2_048, "python": 600}
"""MB that no process of its kind may ever hold: the JVM's heap and what it needs beside it; a few targets at a time in
each worker, never all of them."""


def main() -> None:
    """On two cores, whatever the machine has; what is started from here inherits them."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    sizes = [int(size) for size in sys.argv[1:]] or [10, 100, 1_000]
    with tempfile.TemporaryDirectory() as scratch:
        folders = {size: Path(scratch) / str(size) for size in sizes}
        for size, folder in folders.items():
            folder.mkdir()
            fleet_accounts.write(folder, size, OBJECTS)
        began = time.perf_counter()
        spark = session()
        print(f"Spark started in {time.perf_counter() - began:.1f} s", flush=True)
        on_spark(spark, folders[min(sizes)], min(sizes))  # its compilers know the plan from now on
        costs = {size: measure(spark, folder, size) for size, folder in folders.items()}
    small, large = costs[min(costs)], costs[max(costs)]
    print(f"cost per object at {max(costs):_} targets: {large / small:.2f} × that at {min(costs):_} (allowed {FLAT})")
    if large > FLAT * small:
        raise SystemExit(1)


def measure(spark: SparkSession, folder: Path, size: int) -> float:
    """Seconds per object on Spark."""
    plain, memory = map(float, subprocess.run(
        [sys.executable, "-m", "tests.bench.fleet_drift", "--plain", str(folder)],
        capture_output=True, text=True, check=True,
    ).stdout.split())  # fmt: skip
    ours = on_spark(spark, folder, size)
    same(folder)
    objects, peaks = size * OBJECTS, _memory()
    held = ", ".join(f"{name} {megabytes:.0f} MB" for name, megabytes in peaks)
    print(
        f"{objects:_} objects: plain {plain:.1f} s ({plain / objects * 1e6:.0f} µs each, {memory:.0f} MB), "
        f"Spark {ours:.1f} s ({ours / objects * 1e6:.0f} µs each, {held}): {plain / ours:.2f} × the throughput "
        f"(wanted {AT_LEAST})",
        flush=True,
    )
    too_large = [name for name, megabytes in peaks if megabytes > HEAPS.get(name, HEAPS["python"])]
    if too_large or (size >= 1_000 and plain / ours < AT_LEAST):
        raise SystemExit(1)
    return ours / objects


def on_spark(spark: SparkSession, folder: Path, targets: int) -> float:
    began = time.perf_counter()
    snapshots, desired = (spark.read.parquet(str(folder / f"{name}.parquet")) for name in SIDES)
    drift(snapshots, desired, parts=parts_for(targets)).write.mode("overwrite").parquet(str(folder / "spark"))
    return time.perf_counter() - began


def plain(folder: Path) -> None:
    """The same engine in this one process, target by target."""
    import resource

    began = time.perf_counter()
    gc.freeze()
    with pq.ParquetWriter(folder / "plain.parquet", ARROW) as into:
        drifted: list[Any] = []
        for live, wanted in zip(*(fleet_accounts.tables(folder / f"{name}.parquet") for name in SIDES), strict=True):
            with without_garbage_collection():
                drifted += drift_rows(_rows(live, LIVE), _rows(wanted, WANTED))
            if len(drifted) >= ROWS:
                into.write_batch(drift_batch(drifted))
                drifted = []
        into.write_batch(drift_batch(drifted))
    print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _rows(table: pa.RecordBatch, names: Sequence[str]) -> list[dict[str, Any]]:
    columns = (_values(table.column(name)) for name in names)
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _values(column: pa.Array) -> list[Any]:
    """Arrow makes texts by the thousand much quicker than one by one."""
    is_text = pa.types.is_string(column.type) or pa.types.is_binary(column.type)
    found: list[Any] = column.to_numpy(zero_copy_only=False).tolist() if is_text else column.to_pylist()
    return found


def same(folder: Path) -> None:
    """Both have written the very same rows, and found what strayed."""
    one, other = (pq.read_table(folder / name, schema=ARROW).to_pylist() for name in ("plain.parquet", "spark"))
    assert sorted(map(repr, one)) == sorted(map(repr, other)), f"{len(one)} rows, {len(other)} on Spark"
    assert any(row["drifted"] for row in one), "nothing strayed"


def _memory() -> list[tuple[str, float]]:
    """MB: the most that each process Spark has started here has held until now: the JVM, and the workers of each core."""
    processes = dict(filter(None, map(_process, Path("/proc").glob("[0-9]*/status"))))
    ours = {os.getpid()}
    for _generation in range(4):  # we, the JVM, its daemon, the workers
        ours |= {pid for pid, (_, parent, _) in processes.items() if parent in ours}
    return sorted((processes[pid][0], processes[pid][2] / 1024) for pid in ours - {os.getpid()})


def _process(status: Path) -> tuple[int, tuple[str, int, int]] | None:
    """Its number, name, parent and peak in KiB; None: it is gone, or a thread of the kernel."""
    try:
        said = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        return int(said["Pid"]), (said["Name"].strip(), int(said["PPid"]), int(said["VmHWM"].split()[0]))
    except (OSError, KeyError):
        return None


if __name__ == "__main__":
    plain(Path(sys.argv[2])) if sys.argv[1:2] == ["--plain"] else main()
