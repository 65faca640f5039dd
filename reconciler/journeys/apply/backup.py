"""Backs up the streams that a plan takes something from, before anything is done, in the form of `nats stream backup`.

Each backup is a folder `DIR/STREAM` with `backup.json` and `stream.tar.s2`, which `nats stream restore` brings back where
no stream of this name exists. The folder appears when it is complete, and an existing backup is never overwritten.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from reconciler.changes.plan import Plan, streams_at_stake
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.resource import Json
from reconciler.model.wire.snapshot import Snapshot
from reconciler.model.wire.steps import Call
from reconciler.server.read.snapshot import BackupSummary, archive_fault, take_backup
from reconciler.server.wire.api import JetStream

Seen = Callable[[str, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """One stream, backed up."""

    stream: str
    folder: Path
    messages: int
    size: int
    """The size of the archive in bytes."""


def streams_to_back_up(plan: Plan, snapshot: Snapshot) -> list[str]:
    """Return the streams to back up that exist."""
    return [stream for stream in streams_at_stake(plan) if stream in snapshot.streams]


def deleted_streams(plan: Plan) -> set[str]:
    """Return the streams of which nothing of the same name is left once this plan is applied."""
    calls = {
        call: {step.on[0] for step in plan.steps if step.call is call}
        for call in (Call.STREAM_DELETE, Call.STREAM_CREATE)
    }
    return calls[Call.STREAM_DELETE] - calls[Call.STREAM_CREATE]


async def back_up(
    js: JetStream, streams: Sequence[str], parent: Path, *, seen: Seen = lambda _stream, _size: None
) -> AsyncIterator[BackedUp]:
    """Back up one stream after the other. Raises CannotContinue where a stream cannot be read completely, and OSError
    where it cannot be written."""
    _make_ready(parent, streams)
    for stream in streams:
        yield await _back_up_stream(js, stream, parent, seen)


async def _back_up_stream(js: JetStream, stream: str, parent: Path, seen: Seen) -> BackedUp:
    unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=parent))
    try:
        taken = await _write_backup(js, stream, unfinished, seen)
        _make_ready(parent, [stream])
        _rename_complete_folder(unfinished, parent / stream)
    finally:
        await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)
    messages = int((taken.head.get("state") or {}).get("messages", 0))
    return BackedUp(stream=stream, folder=parent / stream, messages=messages, size=taken.size)


def _make_ready(parent: Path, streams: Sequence[str]) -> None:
    if existing := [name for name in streams if (parent / name).exists() or (parent / name).is_symlink()]:
        raise _exists_error(parent, existing)
    parent.mkdir(parents=True, exist_ok=True)


def _rename_complete_folder(unfinished: Path, folder: Path) -> None:
    """Give the folder its name, which it has only when it is complete."""
    unfinished.rename(folder)


async def _write_backup(js: JetStream, stream: str, folder: Path, seen: Seen) -> BackupSummary:
    archive = folder / "stream.tar.s2"
    with archive.open("xb") as file:
        taken = await take_backup(js, stream, file, seen=lambda size: seen(stream, size))
        await asyncio.to_thread(_sync_to_disk, file)
    if isinstance(taken, str):
        raise _failed_error(stream, taken)
    if why := await asyncio.to_thread(_why_broken, archive, taken):
        raise _failed_error(stream, why)
    await asyncio.to_thread(_write_description, folder / "backup.json", _head_for_restore(taken.head))
    return taken


def _sync_to_disk(file: IO[Any]) -> None:
    """Force the files to disk. A slow disk takes longer than a lease lasts, and the lease must be renewed in the
    meantime, so this runs in a thread."""
    file.flush()
    os.fsync(file.fileno())


def _write_description(path: Path, head: Mapping[str, Json]) -> None:
    with path.open("x", encoding="utf-8") as file:
        json.dump(head, file, ensure_ascii=False)
        _sync_to_disk(file)


def _head_for_restore(answer: Mapping[str, Json]) -> Mapping[str, Json]:
    """The part of the server's answer that a restore needs, which is all of it."""
    return {name: value for name, value in answer.items() if name != "error"}


def _why_broken(archive: Path, taken: BackupSummary) -> str | None:
    """What is wrong with the files on disk."""
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        return "the file differs from what the server sent" if digest != taken.digest else archive_fault(file)


def _failed_error(stream: str, why: str) -> CannotContinue:
    message = f"Stream {stream} could not be backed up: {why}. Nothing was changed."
    fix = "repair that and apply again; or leave the stream out with --exclude, or apply without --backup"
    return CannotContinue.because("AP312", "backup-failed", message, fix=fix, address=f"stream/{stream}")


def _exists_error(parent: Path, names: Sequence[str]) -> CannotContinue:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    existing = ", ".join(str(parent / name) for name in names[:3]) + more
    message = f"A backup exists already, and backups are never overwritten: {existing}. Nothing was changed."
    return CannotContinue.because("AP311", "backup-exists", message, fix="name another folder")
