"""How long a large topology takes to load, beside what the bare parser needs for the same text in the same run.

Run it as a script: `python -m tests.bench.load`.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]  # it does not say what it exports
from ruamel.yaml.events import StreamEndEvent

from reconciler.documents.read.load import Loaded, load
from reconciler.kinds import REGISTRY

LINES = 39_000
MOST_TIMES_THE_PARSER = 12
"""Loading is judged against bare parsing, since machines differ."""

STREAM = """\
  S{n}:
    subjects: [s{n}.orders.>, s{n}.audit.*]
    max_age: 7d
    max_bytes: 20GiB
    num_replicas: 3
    storage: file
    no_ack: false
    placement:
      cluster: c{n}
      tags: [ssd, eu]
    metadata:
      team: billing
    labels: {{tier: gold, owner: "{n}"}}
    consumers:
      a{n}:
        filter_subject: s{n}.orders.a
        ack_wait: 30s
        priority_policy: overflow
        priority_groups: [jobs]
      b{n}:
        filter_subject: s{n}.orders.b
        ack_wait: 2m
        backoff: [1s, 5s, 30s]
    groups:
      g{n}:
        type: elastic
        partitioning_filters: [{{filter: "s{n}.orders.*", partitioning_wildcards: [1]}}]
        max_members: 12
        members: [b1, b2, b3]
"""


def large_file(lines: int) -> str:
    streams = range(lines // STREAM.count("\n"))
    return "reconciler: 1\ntopology: large\nstreams:\n" + "".join(STREAM.format(n=n) for n in streams)


def bare_parse(text: str) -> None:
    parser = CParser(text)
    while type(parser.get_event()) is not StreamEndEvent:
        pass


def best_of(times: int, work: Callable[[], Any]) -> tuple[float, Any]:
    found = []
    for _ in range(times):
        started = time.perf_counter()
        result = work()
        found.append((time.perf_counter() - started, result))
    return min(found, key=lambda pair: pair[0])


def main() -> None:
    text = large_file(LINES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large.yaml")
        path.write_text(text)
        floor, _ = best_of(5, lambda: bare_parse(text))
        seconds, loaded = best_of(5, lambda: load([path], REGISTRY))
    assert isinstance(loaded, Loaded) and loaded.topology, loaded.diagnostics[:3]
    ratio = seconds / floor
    print(f"{text.count(chr(10)):,} lines, {len(loaded.topology.resources):,} resources: "
          f"loaded in {seconds:.2f} s, {ratio:.1f} times the bare parser ({floor:.2f} s)")  # fmt: skip
    assert ratio < MOST_TIMES_THE_PARSER, f"loading takes {ratio:.1f} times the bare parser"


if __name__ == "__main__":
    main()
