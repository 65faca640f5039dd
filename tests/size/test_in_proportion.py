"""What is done for each of many objects costs no more where there are more of them."""

from __future__ import annotations

import time

from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version
from reconciler.testbed.imagined import HeldObjects

FEW, MORE = 1_000, 16


def seconds(entries: int) -> float:
    held = HeldObjects(Snapshot(target=Target(version=Version(2, 15))))
    began = time.process_time()
    for number in range(entries):
        held.entry("reconciler", f"owned.stream.S{number}", b"{}")
    assert held.snapshot().entries["reconciler"][f"owned.stream.S{entries - 1}"].revision == entries
    return time.process_time() - began


def test_an_imagined_record_is_written_as_fast_among_many() -> None:
    """Sixteen times as many took 256 times as long."""
    assert min(seconds(FEW * MORE) for _ in range(3)) < 5 * MORE * max(min(seconds(FEW) for _ in range(3)), 1e-4)
