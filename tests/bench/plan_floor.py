"""What a plan with nothing to do costs: the whole command, against composing the same YAML and listing the same state.

    python -m tests.bench.plan_floor [streams …]

Both sides are whole processes on one server, in turns; the fastest of each counts, since other load only ever adds. With
several sizes the curve is printed: cost per object must stay flat.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.workload import CONSUMERS, yaml
from tests.support.accounts import Account, Pool
from tests.support.binaries import NEWEST

ROUNDS, ALLOWED, MEMORY = 5, 2.0, 400

FLOOR = """
import asyncio, json, sys
import nats
from ruamel.yaml import SafeLoader, YAML
from ruamel.yaml.cyaml import CParser
from ruamel.yaml.composer import Composer
from ruamel.yaml.resolver import Resolver

class Loader(CParser, Composer, Resolver):
    def __init__(self, text):
        CParser.__init__(self, text)
        Resolver.__init__(self, loadumper=self)
        Composer.__init__(self, loader=self)

async def pages(nc, endpoint, key):
    first = json.loads((await nc.request(f"$JS.API.{endpoint}", b"{}", timeout=30)).data)
    offsets = range(len(first[key] or []), first["total"], max(1, first["limit"]))
    rest = await asyncio.gather(*(
        nc.request(f"$JS.API.{endpoint}", json.dumps({"offset": offset}).encode(), timeout=30) for offset in offsets
    ))
    return [*(first[key] or []), *(item for page in rest for item in json.loads(page.data)[key])]

async def main(file, url, user, password):
    Loader(open(file).read()).get_single_node()
    nc = await nats.connect(url, user=user, password=password)
    streams = await pages(nc, "STREAM.LIST", "streams")
    names = [item["config"]["name"] for item in streams]
    found = await asyncio.gather(*(pages(nc, f"CONSUMER.LIST.{name}", "consumers") for name in names))
    print(len(streams), sum(map(len, found)))
    await nc.close()

asyncio.run(main(*sys.argv[1:]))
"""


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [1_000]
    pool = Pool()
    try:
        allowed = [measure(pool.account(NEWEST), size) for size in sizes]
    finally:
        pool.close()
    if len(sizes) == 1 and not all(allowed):
        raise SystemExit(1)


def measure(account: Account, streams: int) -> bool:
    """Whether a plan of so many streams takes no more time and memory than allowed."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.yaml"
        file.write_text(yaml(streams))
        login = ["-s", account.url, "--user", account.user, "--password", account.password]
        command = [sys.executable, "-m", "reconciler"]
        run([*command, "apply", str(file), "--yes", *login])
        plan = [*command, "plan", str(file), "--exit-code", *login]
        floor = [sys.executable, "-c", FLOOR, str(file), account.url, account.user, account.password]
        pairs = [(run(floor), run(plan)) for _ in range(ROUNDS)]
    bare, ours = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    objects = streams * (1 + CONSUMERS)
    print(
        f"{streams} streams, {streams * CONSUMERS} consumers: floor {bare:.2f} s, plan {ours:.2f} s: "
        f"{ours / bare:.2f} × the floor (allowed {ALLOWED}); {ours / objects * 1e6:.0f} µs an object, "
        f"peak {memory:.0f} MB (allowed {MEMORY})"
    )
    return ours / bare <= ALLOWED and memory <= MEMORY


def run(command: list[str]) -> float:
    """Seconds of CPU and waiting of one whole process."""
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    if done.returncode != 0:
        raise SystemExit(f"{command[:4]} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
