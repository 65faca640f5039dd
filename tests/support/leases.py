"""Leases that nobody waits for: whoever held them is known to be dead."""

from __future__ import annotations

from collections.abc import Mapping

from reconciler.memory.lease import PREFIX
from reconciler.model.ledger.records import BUCKET
from reconciler.server.wire.api import JetStream


async def removed(js: JetStream) -> int:
    """How many leases were held. `reconciler unlock` lets them end some seconds later."""
    answer = await js.request(f"STREAM.PURGE.KV_{BUCKET}", {"filter": f"$KV.{BUCKET}.{PREFIX}.>"})
    return int(answer["purged"]) if isinstance(answer, Mapping) else 0  # nobody has made the bucket yet
