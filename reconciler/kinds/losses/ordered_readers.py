"""Clients that read in order, as watchers of buckets do: what they skip when their stream is recreated.

Their client library keeps an ephemeral consumer for them. When that is gone it creates another one, which continues after the
last message that the client got, and the client sees no error. Measured with nats-py on 2.11.11 to 2.15.1, with nats.go on 2.15.1.
"""

from __future__ import annotations

from reconciler.changes.view import View
from reconciler.kinds.fields.words import some
from reconciler.kinds.losses.unprocessed import Info, is_durable


def ordered_readers_text(stream: str, view: View) -> str:
    """What the ordered clients of a deleted stream skip of the next one, as the end of a sentence."""
    infos = view.snapshot.consumers.get(stream, {}).values()
    reached = max((_delivered_sequence(info) for info in infos if _is_ordered(info)), default=0)
    if not reached:
        return ""
    return (
        f"; if {stream} is created again, clients that watch it or read it in order skip up to its first "
        f"{some(reached, 'message')}, until they restart"
    )


def _is_ordered(info: Info) -> bool:
    """Is it kept by a client library? These take no acknowledgements."""
    return not is_durable(info) and info["config"].get("ack_policy", "none") == "none"


def _delivered_sequence(info: Info) -> int:
    return int((info.get("delivered") or {}).get("stream_seq", 0))
