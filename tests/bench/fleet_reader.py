"""Reading 200 accounts beside reading one of them, all over wires on which every request takes 50 ms longer.

    python -m tests.bench.fleet_reader [accounts] [streams in each]

Spark's own start is printed by itself; both looks go through the data source, in one session, on two cores.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from reconciler.fleet.accounts.source import read_live
from reconciler.fleet.session import session
from reconciler.server.wire.api import JetStream
from tests.support.accounts import accounts_config, connect
from tests.support.jetstream import make_consumer, make_stream
from tests.support.servers import NatsServer, running

ACCOUNTS, STREAMS, SERVERS = 200, 10, 4
LATENCY = 0.05
ROUNDS = 3
ALLOWED = 2.0


@contextmanager
def far_away(servers: list[NatsServer]) -> Iterator[list[int]]:
    """Ports that lead to the servers over a long wire, in a process of their own."""
    command = [sys.executable, "-m", "tests.support.slow", str(LATENCY), *(str(server.port) for server in servers)]
    wire = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert wire.stdout is not None
    try:
        yield [int(port) for port in wire.stdout.readline().split()]
    finally:
        wire.communicate()


async def fill(server: NatsServer, accounts: int, streams: int) -> None:
    for number in range(accounts):
        nc = await connect(server.url, f"a{number}", f"a{number}")
        js = await JetStream.open(nc)
        for stream in range(streams):
            await make_stream(js, f"S{stream}", storage="memory")
            await make_consumer(js, f"S{stream}", "worker")
        await js.close()
        await nc.close()


def fleet_file(folder: Path, ports: list[int], accounts: int) -> Path:
    targets = {}
    for number in range(accounts):
        port, user = ports[number % len(ports)], f"a{number // len(ports)}"
        (folder / user).write_text(user, encoding="utf-8")
        targets[f"t{number}"] = {
            "server": f"nats://127.0.0.1:{port}",
            "user": user,
            "password": f"file://{folder / user}",
        }
    file = folder / "fleet.yaml"
    file.write_text(json.dumps({"reconciler": 1, "fleet": "bench", "targets": targets}), encoding="utf-8")
    return file


def looked(spark: SparkSession, file: Path, **options: str) -> tuple[float, int, float]:
    """Seconds, rows, and the seconds that the slowest target took."""
    began = time.perf_counter()
    rows = read_live(spark, file, **options).select("row", "error", "seconds").collect()
    took = time.perf_counter() - began
    errors = {row["error"] for row in rows if row["error"]}
    assert not errors, errors
    return took, len(rows), max(row["seconds"] for row in rows)


def main(accounts: int = ACCOUNTS, streams: int = STREAMS) -> int:
    with ExitStack() as stack:
        servers = [stack.enter_context(running(config=accounts_config())) for _ in range(SERVERS)]
        for server in servers:
            asyncio.run(fill(server, -(-accounts // SERVERS), streams))
        ports = stack.enter_context(far_away(servers))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = fleet_file(folder, ports, accounts)
        began = time.perf_counter()
        spark = session("local[2]")
        stack.callback(spark.stop)
        print(f"Spark's own start: {time.perf_counter() - began:.1f} s")
        looked(spark, file)  # Spark compiles, and workers import, what they use for the first time
        alone = min(looked(spark, file, targets='["t0"]') for _ in range(ROUNDS))
        together = min(looked(spark, file) for _ in range(ROUNDS))
    for what, (took, rows, slowest) in (("one account", alone), (f"{accounts} accounts", together)):
        print(f"{what:>14}: {took:5.2f} s, {rows:>7,} rows, the slowest target {slowest:.2f} s")
    ratio = together[0] / alone[0]
    print(f"{ratio:.2f} times as long as one alone (allowed {ALLOWED:g})")
    return 0 if ratio <= ALLOWED else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
