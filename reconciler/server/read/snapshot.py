"""Takes a stream's backup from the server: its configuration and state, then its files as one archive in chunks.

The server sends a window of chunks and waits for acknowledgements, each to a subject that contains the chunk's size and
number. An empty message marks the end, and says so if something went wrong. A lost chunk shows in the numbers, and a
torn archive in its frames.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import BinaryIO

from nats.aio.msg import Msg

from reconciler.model.dataclass import dataclass
from reconciler.model.resource import Json
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer

CHUNK = 128 << 10
QUIET = 10.0
"""Seconds without a chunk after which the backup is given up; the server gives up on us after five."""
BEGINS = b"\xff\x06\x00\x00S2sTwO"
"""The first frame of every archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupSummary:
    """What the server said of the stream, and the size of the archive."""

    head: Mapping[str, Json]
    size: int
    digest: str


async def take_backup(
    js: JetStream, stream: str, into: BinaryIO, *, seen: Callable[[int], None] = lambda _: None
) -> BackupSummary | str:
    """Write the archive, or return why there is none: an account that only imports the API gets none. `seen` hears how
    many bytes have come."""
    if not js.prefix.startswith("$JS."):
        return (
            "the server sends a backup within the account that holds the stream; back it up as a user of that account"
        )
    nc = js.pipeline.nc
    chunks = _Chunks(into, seen)
    inbox = nc.new_inbox()
    subscription = await nc.subscribe(inbox, cb=chunks.take_message, pending_msgs_limit=0, pending_bytes_limit=0)
    try:
        await nc.flush()
        body = {"deliver_subject": inbox, "chunk_size": CHUNK}
        head = await js.request(f"STREAM.SNAPSHOT.{stream}", body, within=max(js.timeout, QUIET))
        if isinstance(head, Refusal | NoAnswer):
            return f"the server gave no snapshot: {head}"
        return await chunks.all(head)
    finally:
        if not nc.is_closed:
            await subscription.unsubscribe()


@dataclass(slots=True)
class _Chunks:
    into: BinaryIO
    seen: Callable[[int], None]
    size: int = 0
    number: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    wrong: str | None = None
    failed: OSError | None = None

    async def take_message(self, message: Msg) -> None:
        if self.over.is_set():
            return
        if message.data:
            self.wrong = self.wrong or await self._store_message(message)
            if message.reply and self.wrong is None:
                await message.respond(b"")
        status = (message.headers or {}).get("Status", "204")
        if not message.data and not status.startswith("2"):
            description = (message.headers or {}).get("Description", "")
            self.wrong = self.wrong or f"the server broke off: {status} {description}".rstrip()
        if not message.data or self.wrong is not None:
            self.over.set()
        self.moved.set()

    async def _store_message(self, message: Msg) -> str | None:
        self.number += 1
        if message.reply and not message.reply.endswith(f".{len(message.data)}.{self.number}"):
            return f"a part of it was lost on the way, before number {message.reply.rpartition('.')[2]}"
        try:
            await asyncio.to_thread(self._write_data, message.data)
        except OSError as error:
            self.failed = error
            return "the archive could not be written"
        except ValueError:
            return "this side has stopped receiving it"
        self.size += len(message.data)
        self.seen(self.size)
        return None

    def _write_data(self, data: bytes) -> None:
        """Write in a thread: a disk may take its time, and the lease is renewed meanwhile."""
        self.into.write(data)
        self.digest.update(data)

    async def all(self, head: Mapping[str, Json]) -> BackupSummary | str:
        while not self.over.is_set():
            self.moved.clear()
            try:
                async with asyncio.timeout(QUIET):
                    await self.moved.wait()
            except TimeoutError:
                return f"nothing came for {QUIET:g} s after {self.size:_} bytes"
        if self.failed is not None:
            raise self.failed
        return self.wrong or BackupSummary(head=head, size=self.size, digest=self.digest.hexdigest())


def archive_fault(archive: BinaryIO) -> str | None:
    """Return what is wrong with an archive: it must begin like one, and its frames must fit to the very end."""
    if archive.read(len(BEGINS)) != BEGINS:
        return "it does not begin as a snapshot does"
    position = len(BEGINS)
    end = archive.seek(0, 2)
    while position < end:
        archive.seek(position)
        frame = archive.read(4)
        position += 4 + int.from_bytes(frame[1:4], "little")
        if len(frame) < 4 or position > end:
            return "it ends in the middle of a frame"
    return None
