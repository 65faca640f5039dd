"""What `reconciler apply plan.json` costs in an empty account, from the start of its process to its end, all reading,
judging, verifying and remembering included, against a bare loop that pipelines the same create requests.

    python -m tests.bench.apply_all [streams]

Both run in turns on one server, each time in an empty account, with file storage; the fastest of each counts.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from nats.aio.client import Client

from reconciler.journeys.plan.files import load
from reconciler.journeys.plan.plan import plan
from reconciler.journeys.saved.saving import save, to_saved
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.server.wire.api import JetStream
from tests.bench.workload import requests, yaml
from tests.cli.running import command, environment
from tests.support.accounts import Account, Pool
from tests.support.binaries import NEWEST

ROUNDS, WINDOW, ALLOWED = 4, 64, 1.5


def main() -> None:
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    pool = Pool()
    try:
        pairs = [asyncio.run(_pair(pool, streams)) for _ in range(ROUNDS)]
    finally:
        pool.close()
    bare, ours = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    print(
        f"{streams} streams with consumers: bare loop {bare:.2f} s, apply plan.json {ours:.2f} s: {ours / bare:.2f} × (allowed {ALLOWED})"
    )
    if ours / bare > ALLOWED:
        raise SystemExit(1)


async def _pair(pool: Pool, streams: int) -> tuple[float, float]:
    return await _bare(pool.account(NEWEST), streams), await _ours(pool.account(NEWEST), streams)


async def _bare(account: Account, streams: int) -> float:
    nc = await account.connect()
    made, hung = requests(streams)
    start = time.perf_counter()
    for batch in (made, hung):
        await _pipelined(nc, batch)
    spent = time.perf_counter() - start
    await nc.close()
    return spent


async def _pipelined(nc: Client, batch: list[tuple[str, dict[str, object]]]) -> None:
    window = asyncio.Semaphore(WINDOW)

    async def one(endpoint: str, body: dict[str, object]) -> None:
        async with window:
            said = json.loads((await nc.request(f"$JS.API.{endpoint}", json.dumps(body).encode(), timeout=60)).data)
            if "error" in said:
                raise SystemExit(f"{endpoint}: {said['error']}")

    await asyncio.gather(*(one(endpoint, body) for endpoint, body in batch))


async def _ours(account: Account, streams: int) -> float:
    with TemporaryDirectory() as folder:
        await _saved(account, streams, Path(folder, "plan.json"))
        login = ("--server", account.url, "--user", account.user, "--password", account.password, "--timeout", "30s")
        start = time.perf_counter()
        running = await asyncio.create_subprocess_exec(
            *command("apply", "plan.json", "--yes", *login), cwd=folder, env=environment(Path(folder)),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        _, said = await running.communicate()
        spent = time.perf_counter() - start
    if running.returncode:
        raise SystemExit(f"apply failed: {said.decode()}")
    return spent


async def _saved(account: Account, streams: int, file: Path) -> None:
    topology, options = _topology(streams), RunOptions()
    nc = await account.connect()
    js = await JetStream.open(nc, within=30)
    save(to_saved(await plan(topology, js, options)), file)
    await js.close()
    await nc.close()


def _topology(streams: int) -> Topology:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bench.yaml"
        file.write_text(yaml(streams))
        topology = load([file]).topology
    if topology is None:
        raise SystemExit("the workload does not load")
    return topology


if __name__ == "__main__":
    main()
