"""Copies that hear nothing from what they copy. Their settings are as declared, and they may never copy a message.

Pure. A misspelt prefix of another domain and a domain that is away look alike to a server, so this is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reconciler.changes.view import View
from reconciler.kinds.fields.words import age
from reconciler.kinds.stream_config.mirrors_and_sources import origin_label
from reconciler.model.code_pages import DRIFT
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.resource import Json
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import hears_origin


def silent_origins(view: View, options: RunOptions) -> Iterator[Diagnostic]:
    """Warn of each declared mirror and source of another account or domain that its server does not hear."""
    for address, change in sorted(view.changes.items()):
        stream = view.stream_of(address)
        if stream is None or change.desired is None or change.desired.external:
            continue
        if not options.selects(address, change.labels):
            continue
        info = view.snapshot.streams.get(stream, {})
        for origin in filter(None, (info.get("mirror"), *(info.get("sources") or ()))):
            if origin.get("external") and not hears_origin(origin):
                yield Diagnostic(
                    severity=Severity.WARNING, code="DR104", name=DRIFT["DR104"].name, address=str(address),
                    message=f"{stream} copies nothing from {origin_label(origin)}: {_silence_text(origin)}",
                    span=change.where("mirror" if origin is info.get("mirror") else "sources"), fix=DRIFT["DR104"].instead,
                )  # fmt: skip


def _silence_text(origin: Mapping[str, Json]) -> str:
    if refusal := origin.get("error"):
        return f"{refusal.get('description')} ({refusal.get('err_code')})"
    heard = origin.get("active", -1)
    return f"its server last heard it {age(heard)} ago" if heard >= 0 else "its server has not heard it yet"
