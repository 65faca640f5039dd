"""Messages of a work queue that clients have processed and that it still stores: a copy of it has not acknowledged them yet.

From 2.14 on a durable consumer of the server's own feeds each copy. Measured on 2.14.6 and 2.15.1: it acknowledges after 1_000
messages, or a second after the last publish. Until then the queue keeps what its own consumers have acknowledged, and gives it to
any consumer that starts over.
"""

from __future__ import annotations

from reconciler.changes.view import View
from reconciler.kinds.fields.words import few, some, verb
from reconciler.kinds.stream_config.origins import fed_now, is_fed_durably

ACKNOWLEDGED_AFTER = 1_000
"""Messages that the server's own consumers have in flight at most, where no stream limits it."""


def copies_keeping(stream: str, view: View) -> list[str]:
    """Copies for which the stream keeps messages that all of its own consumers have processed."""
    is_durable = is_fed_durably(view.snapshot.config_of(stream), view.target.version)
    return fed_now(stream, view) if is_durable else []


def is_kept(stream: str, view: View) -> bool:
    """Is it a work queue that still stores what clients have processed?"""
    return view.snapshot.config_of(stream).get("retention") == "workqueue" and bool(copies_keeping(stream, view))


def keeping_sentence(stream: str, view: View) -> str:
    """How long the stream keeps what is processed, without the period."""
    copies = copies_keeping(stream, view)
    fed = view.snapshot.copiers.get(stream, {}).values()
    most = max((int(info["config"].get("max_ack_pending") or 0) for info in fed), default=0) or ACKNOWLEDGED_AFTER
    return (
        f"{stream} keeps what is processed until {few(copies)} {verb(len(copies), 'acknowledge')} it, after {some(most, 'message')} or a "
        "second after the last publish"
    )
