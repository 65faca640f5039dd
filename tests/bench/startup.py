"""What it costs to start: the version, and checking a small file. Whole processes, the fastest of several.

    python -m tests.bench.startup

Figures are seconds of the processor, since other load only stretches the clock; bounds are those users feel.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
SMALL = "reconciler: 1\ntopology: small\nstreams:\n  ORDERS:\n    subjects: [orders.>]\n    max_age: 7d\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.yaml"
        file.write_text(SMALL)
        figures = (
            ("--version", 0.15, _fastest("--version")),
            ("validate of a small file", 0.4, _fastest("validate", str(file))),
        )
    for what, allowed, (cpu, clock) in figures:
        print(f"{what}: {cpu:.2f} s of CPU, {clock:.2f} s by the clock (allowed {allowed})")
    if any(cpu > allowed for _, allowed, (cpu, _) in figures):
        raise SystemExit(1)


def _fastest(*arguments: str) -> tuple[float, float]:
    return min(_once(arguments) for _ in range(ROUNDS))


def _once(arguments: tuple[str, ...]) -> tuple[float, float]:
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-m", "reconciler", *arguments], check=True, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - start


if __name__ == "__main__":
    main()
