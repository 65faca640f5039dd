"""How long 20 candidates for a partitioned group take over very many subjects, beside numpy written by hand for just them.

    python -m tests.bench.fleet_skew [subjects]

Both read the same Parquet files on as many cores and count the same. By hand: one pass, every subject known to have four
tokens, a process for each core. Starting Spark is told apart; seconds of processors are told too, since they are the same
however busy the machine is.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from reconciler.fleet.skew.candidates import Candidates, Choice, Membership, Partitioning
from tests.bench.cores import cores_used

SUBJECTS, PER_FILE, CORES, ALLOWED = 50_000_000, 1_000_000, 2, 3.0

FILTER = "orders.*.*.*"
WILDCARDS: tuple[tuple[int, ...], ...] = ((1,), (2,), (1, 2), (2, 3), ())
PARTITIONS = (6, 8, 12, 16)
CANDIDATES = Candidates(
    choices=tuple(Choice((Partitioning(filter=FILTER, wildcards=chosen),)) for chosen in WILDCARDS),
    partitions=PARTITIONS,
    memberships=(Membership.of(4), Membership.of(5)),
)
Counts = dict[tuple[tuple[int, ...], int], Any]


def write(folder: Path, number: int, rows: int) -> None:
    """One file of subjects: five regions, many customers, four events."""
    draw = np.random.default_rng(number)
    customers = pa.array(draw.zipf(1.3, rows) % 40_000_000).cast(pa.string())
    regions = pa.array(["eu-west", "us-east-1", "ap", "sa", "africa"]).take(pa.array(draw.integers(0, 5, rows)))
    events = pa.array(["created", "paid", "shipped", "cancelled"]).take(pa.array(draw.integers(0, 4, rows)))
    table = {
        "target": pa.array([f"account-{number % 5}"] * rows),
        "stream": pa.array(["ORDERS"] * rows),
        "subject": pc.binary_join_element_wise("orders", regions, customers, events, "."),
        "messages": pa.array(draw.integers(1, 20, rows)),
        "error": pa.nulls(rows, pa.string()),
        "at": pa.nulls(rows, pa.timestamp("us", tz="UTC")),
    }
    pq.write_table(pa.table(table), folder / f"{number:04}.parquet")


def floor_of(folder: Path, choices: tuple[tuple[int, ...], ...], partitions: tuple[int, ...]) -> Counts:
    """A process for each core, with its share of the files."""
    files = sorted(folder.iterdir())
    shares = [files[core::CORES] for core in range(CORES)]
    with ProcessPoolExecutor(CORES) as pool:
        parts = list(pool.map(by_hand, shares, [choices] * CORES, [partitions] * CORES))
    return {one: sum(part[one] for part in parts) for one in parts[0]}


def by_hand(files: list[Path], choices: tuple[tuple[int, ...], ...], partitions: tuple[int, ...]) -> Counts:
    """The floor: subjects and messages on every partition of every candidate, straight in numpy."""
    found: Counts = {(chosen, number): np.zeros((2, number)) for chosen in choices for number in partitions}
    for subjects, messages in read(files):
        _, offsets, text = subjects.buffers()
        data = np.frombuffer(text, np.uint8)
        bounds = np.frombuffer(offsets, np.int32)[subjects.offset : subjects.offset + len(subjects) + 1]
        dots = (np.flatnonzero(data[bounds[0] : bounds[-1]] == ord(".")) + bounds[0]).reshape(-1, 3)
        tokens = [(dots[:, 0] + 1, dots[:, 1]), (dots[:, 1] + 1, dots[:, 2]), (dots[:, 2] + 1, bounds[1:])]
        for chosen in choices:
            keys = [tokens[number - 1] for number in chosen] or [(bounds[:-1], bounds[1:])]
            hashes = hashed(data, keys)
            for number in partitions:
                at = hashes % np.uint32(number)
                found[chosen, number][0] += np.bincount(at, minlength=number)
                found[chosen, number][1] += np.bincount(at, weights=messages, minlength=number)
    return found


def read(files: list[Path]) -> Iterator[tuple[Any, Any]]:
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(1 << 15, columns=["subject", "messages"]):
            yield batch["subject"], batch["messages"].to_numpy()


def hashed(data: Any, keys: list[tuple[Any, Any]]) -> Any:
    """FNV-1a over a matrix of bytes as wide as the longest key, masked by length."""
    value = np.full(len(keys[0][0]), 2166136261, np.uint32)
    for starts, ends in keys:
        lengths = ends - starts
        places = np.arange(lengths.max())
        matrix = data[np.minimum(starts[:, None] + places, len(data) - 1)]
        for place in places:
            value = np.where(place < lengths, (value ^ matrix[:, place]) * np.uint32(16777619), value)
    return value


class Took(NamedTuple):
    wall: float
    used: float
    """Seconds of processors, of this process and all it started."""


def timed(work: Any) -> tuple[Took, Any]:
    wall, used = time.perf_counter(), cores_used()
    result = work()
    return Took(time.perf_counter() - wall, cores_used() - used), result


def on_spark(folder: Path) -> tuple[Took, Counts]:
    from reconciler.fleet.session import session
    from reconciler.fleet.skew.skew import falls, handovers_frame, loads, moves, ownership_frame, skew

    started = time.perf_counter()
    spark = session(f"local[{CORES}]")
    print(f"Spark started in {time.perf_counter() - started:.1f} s", flush=True)

    def everything() -> Any:
        fallen = falls(spark.read.parquet(str(folder)), CANDIDATES).localCheckpoint()
        members = loads(fallen, ownership_frame(spark, CANDIDATES))
        return (
            fallen.where("partition is not null").collect(),
            skew(fallen, members).collect(),
            moves(fallen, handovers_frame(spark, CANDIDATES)).collect(),
        )

    took, (rows, _, _) = timed(everything)
    spark.stop()
    names = {str(choice): choice.filters[0].wildcards for choice in CANDIDATES.choices}
    found: Counts = {(chosen, number): np.zeros((2, number)) for chosen in WILDCARDS for number in PARTITIONS}
    for row in rows:
        found[names[row.choice], row.partitions][:, row.partition] += (row.subjects, row.messages)
    return took, found


def main() -> None:
    subjects = int(sys.argv[1]) if len(sys.argv) > 1 else SUBJECTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = [min(PER_FILE, subjects - start) for start in range(0, subjects, PER_FILE)]
        with ProcessPoolExecutor(CORES) as pool:
            list(pool.map(write, [folder] * len(sizes), range(len(sizes)), sizes))
        floor, expected = timed(lambda: floor_of(folder, WILDCARDS, PARTITIONS))
        single, _ = timed(lambda: floor_of(folder, ((2,),), PARTITIONS[:1]))
        took, found = on_spark(folder)
    assert all((found[one] == expected[one]).all() for one in expected), "they disagree"
    report(subjects, floor, single, took)


def report(subjects: int, floor: Took, single: Took, took: Took) -> None:
    ratio = took.wall / floor.wall
    print(
        f"{subjects:,} subjects, {len(WILDCARDS) * len(PARTITIONS)} candidates, {CORES} cores: by hand {floor.wall:.1f} s, "
        f"Spark {took.wall:.1f} s: {ratio:.2f} × the floor (allowed {ALLOWED}); in seconds of processors {floor.used:.1f} "
        f"and {took.used:.1f}: {took.used / floor.used:.2f} ×\n"
        f"One hash of the same subjects by hand, for a single candidate, takes {single.used:.1f} s of processors: "
        f"20 candidates cost {took.used / single.used:.1f} × one; {took.used / subjects * 1e9:.0f} ns a subject"
    )
    if ratio > ALLOWED:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
