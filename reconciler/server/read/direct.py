"""Reads a batch of a stream's messages directly, and from no other stream.

A mirror with `mirror_direct`, the default where its origin has `allow_direct`, answers direct gets of its origin as well.
It may lag, hold a part, or still hold what the origin has deleted. Nobody can choose who answers; each message names
its stream.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reconciler.model.ledger.entries import compact_json
from reconciler.model.resource import Json
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Reply, Silence

TRIES = 24
"""Requests until an answer comes from the stream itself. Beside one mirror on the same server, every second one does."""


async def batch(
    js: JetStream, stream: str, wanted: Mapping[str, Json], *, within: float, holds_some: bool = False
) -> list[Reply] | NoAnswer:
    """The replies of the stream itself or of a replica, the last of them with a status. With `holds_some`, an answer without
    messages, which names nobody, is not taken for its own."""
    subject, body = f"{js.prefix}DIRECT.GET.{stream}", compact_json(wanted)
    for _ in range(TRIES):
        replies = await js.pipeline.stream(subject, body, within=within, ends=is_end_of_batch)
        if isinstance(replies, NoAnswer) or _come_from(stream, replies[:-1], holds_some=holds_some):
            return replies
    return NoAnswer(Silence.NO_RESPONDERS, f"{subject}: only mirrors of {stream} answered")


def _come_from(stream: str, messages: Sequence[Reply], *, holds_some: bool) -> bool:
    """Does each message come from this stream?"""
    return all(message.headers.get("Nats-Stream") == stream for message in messages) and (
        bool(messages) or not holds_some
    )


def is_end_of_batch(reply: Reply) -> bool:
    """Is this the reply after the last message of a direct batch? There the server speaks for itself."""
    return reply.status is not None
