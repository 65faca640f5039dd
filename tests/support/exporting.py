"""The file that `reconciler export` writes, for tests that expect nothing to be left out of it."""

from __future__ import annotations

from typing import Any

from reconciler.journeys.export.export import exported_file
from reconciler.server.wire.api import JetStream


async def export(js: JetStream, **selection: Any) -> str:
    """Export the account, or what the selection has of it, as the text of one file."""
    return (await exported_file(js, **selection)).text
