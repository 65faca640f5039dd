"""Comparing what was predicted with what a server echoed, as the engine does it."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import HealthCheck, Phase, settings

from reconciler.changes.diff import rebase
from reconciler.kinds.fields.canonical_form import Settled, update_body
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Address, Resource
from tests.primitives.bodies import Body
from tests.support.versions import EVERY

BATCH = 24
"""Bodies that travel together."""
PAIRS = (30 if EVERY == 1 else 20) * BATCH
"""Bodies a server is shown, each with one that follows it: no fewer, so that every field is accepted once."""

relaxed = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # a mismatch is printed as it was drawn; shrinking on a server takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


class Mismatches:
    """Collected rather than raised: one run shows every kind of mismatch, the shortest first."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def expect(self, live: Body, predicted: Body, why: str) -> None:
        different = sorted(key for key in live.keys() | predicted.keys() if live.get(key) != predicted.get(key))
        if different:
            shown = {key: (live.get(key), predicted.get(key)) for key in different}
            self._found.append(f"{shown} (echoed, predicted) {why}")

    def none(self) -> None:
        shortest = sorted(self._found, key=len)[:12]
        assert not shortest, f"{len(self._found)} mismatches:\n" + "\n".join(shortest)


def as_engine(settled: Settled, live: Body, infos: Mapping[str, FieldInfo]) -> Body:
    """The desired configuration beside a live one."""
    address = Address.of("any", "x")
    desired = Resource(address=address, config=settled.config, filled=settled.filled)
    foreign_metadata = {key: value for key, value in live.items() if key != "metadata"}
    return dict(rebase(desired, Resource(address=address, config=foreign_metadata), None, infos))


def patched(raw: Body, desired: Body, live: Body, settled: Settled) -> Body:
    """The body of an update that turns live into desired."""
    left = [key for key, one in settled.filled.items() if desired.get(key) == one.value != live.get(key)]
    changed = {key: value for key, value in desired.items() if live.get(key) != value and key not in left}
    gone = [key for key in live if key not in desired and key != "metadata"] + left
    keys = [f"metadata.{key}" for key in live.get("metadata", {}) if key not in desired.get("metadata", {})]
    return update_body(raw, changed, [*gone, *keys])
