"""An imagined server, looked at after every step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Step
from reconciler.testbed.imagined import HeldObjects, apply_step


def after_each(snapshot: Snapshot, steps: Iterable[Step]) -> Iterator[Snapshot]:
    """Yield the snapshot after the first of these steps, after the second, …"""
    held = HeldObjects(snapshot)
    for step in steps:
        apply_step(step, held)
        yield HeldObjects(held.snapshot()).snapshot()  # which later steps leave alone
