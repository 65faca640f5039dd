"""Rows of a fleet for benchmarks: one account as a real server answers for it, written many times under other names.

Every target has names of its own, so that nothing is the same text twice, and in every target a few objects strayed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

import reconciler
from reconciler.fleet.accounts.rows import rows_of
from reconciler.fleet.drift.desired import rows_of_topology
from reconciler.fleet.tables.tables import DESIRED, SNAPSHOTS
from reconciler.model.topology import Topology
from reconciler.server.connect.options import ConnectOptions
from reconciler.server.read.observe import observe
from tests.support.accounts import Account, Pool
from tests.support.binaries import NEWEST
from tests.support.jetstream import talk

NAMED = "t0000"
"""Stands in every name of the pattern; each target has its own there."""
CONSUMERS = 4
RUN, DAY, AT = "2026-06-01T03", date(2026, 6, 1), datetime(2026, 6, 1, 3, tzinfo=UTC)
LABELS = {"env": "prod", "team": "platform"}
SNAPSHOT, WANTED = (to_arrow_schema(table, timezone="UTC") for table in (SNAPSHOTS, DESIRED))
STRAYED = 100
"""One in so many streams."""


def yaml(streams: int) -> str:
    return "reconciler: 1\ntopology: bench\nstreams:\n" + "".join(_stream(number) for number in range(streams))


def _stream(number: int) -> str:
    consumers = "".join(
        f"      c{consumer}: {{filter_subject: {NAMED}.orders.{number}.{consumer}.>, ack_wait: 45s, max_deliver: 5}}\n"
        for consumer in range(CONSUMERS)
    )
    return (
        f"  {NAMED}_{number:04d}:\n    subjects: [{NAMED}.orders.{number}.>, {NAMED}.audit.{number}.x]\n    max_age: 7d\n"
        f"    max_bytes: 1MiB\n    description: orders of {NAMED}\n    metadata: {{team: billing}}\n    consumers:\n{consumers}"
    )


def write(folder: Path, targets: int, objects: int) -> tuple[Path, Path]:
    """Parquet of SNAPSHOTS and of DESIRED, target by target, a row group for each."""
    live, wanted = _pattern(objects)
    snapshots, desired = folder / "snapshots.parquet", folder / "desired.parquet"
    with pq.ParquetWriter(snapshots, SNAPSHOT) as one, pq.ParquetWriter(desired, WANTED) as other:
        for number in range(targets):
            one.write_table(_renamed(_strayed(live, number), number))
            other.write_table(_renamed(wanted, number))
    return snapshots, desired


def _pattern(objects: int) -> tuple[pa.Table, pa.Table]:
    pool = Pool()
    try:
        topology, rows = _applied(pool.account(NEWEST), objects // (1 + CONSUMERS))
    finally:
        pool.close()
    around = {"target": NAMED, "labels": [*LABELS.items()], "run": RUN, "day": DAY}
    live = [{**around, "at": AT, **row} for row in rows]
    wanted = [{**around, **row} for row in rows_of_topology(topology, LABELS)]
    return pa.Table.from_pylist(live, schema=SNAPSHOT), pa.Table.from_pylist(wanted, schema=WANTED)


def _applied(account: Account, streams: int) -> tuple[Topology, list[Mapping[str, Any]]]:
    """Applied to a real server, and what that says of it afterwards, our own records among it."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.yaml"
        file.write_text(yaml(streams), encoding="utf-8")
        topology = reconciler.load([file]).topology
    assert topology is not None
    login = ConnectOptions.to(account.url, user=account.user, password=account.password)
    assert reconciler.apply(reconciler.plan(topology, login), login).is_success
    return topology, [*rows_of(talk(account, observe))]


def _strayed(live: pa.Table, number: int) -> pa.Table:
    """Somebody raised a limit on some of the streams, others in every target."""
    at = live.column_names.index("json")
    chosen = pa.array([(row + number) % (STRAYED * (1 + CONSUMERS)) == 0 for row in range(live.num_rows)])
    changed = pc.replace_substring(live.column(at), '"max_bytes":1048576', '"max_bytes":2097152')
    return live.set_column(at, live.field(at), pc.if_else(chosen, changed, live.column(at)))


def _renamed(pattern: pa.Table, number: int) -> pa.Table:
    return pa.table([_other(column, f"t{number:04d}") for column in pattern.columns], schema=pattern.schema)


def _other(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return pc.replace_substring(column, NAMED, name)
    return column


def tables(path: Path) -> Iterator[pa.RecordBatch]:
    """A batch per target, as it was written."""
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups):
        yield from file.read_row_group(group).combine_chunks().to_batches()
