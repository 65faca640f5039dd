"""Lets one command at a time write to a folder of tables: two at once would lose each other's rows.

A writer leaves a file there that says who it is, and removes it in the end. A killed writer is recognised by its
process, which is gone, or on another machine by the age of its file.
"""

from __future__ import annotations

import errno
import getpass
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NAME, TURN = ".lock", ".turn"
LASTS = timedelta(hours=12)
"""No command takes this long, so one that was killed last night delays nobody tonight."""
_HELD: set[str] = set()
"""Held by this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The lock of one folder, on any file system that Hadoop knows."""

    jvm: Any
    system: Any
    place: Any

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock during the `with`; the lock of a killed command is taken over. Raises CannotContinue if it is
        in use."""
        self.system.mkdirs(self.place.getParent())
        if not self._create():
            self._take_over()
        _HELD.add(str(self.place))
        try:
            yield
        finally:
            _HELD.discard(str(self.place))
            self._remove()

    def _take_over(self) -> None:
        """Take the lock over from a killed command. Several commands may see that at once, so each first takes a second
        lock, the turn. Whoever has the turn finds either the old lock, which nobody else may remove now, or the lock of
        a command that had the turn before. If a command is killed during its turn, the turn is taken over in the same
        way."""
        if self.is_held_by_another():
            raise self._in_use_error()
        with replace(self, place=self.place.suffix(TURN)).held():
            if self.is_held_by_another():
                raise self._in_use_error()
            self.system.delete(self.place, False)
            if not self._create():
                raise self._in_use_error()

    def is_held_by_another(self) -> bool:
        """Does another command hold it that may still be running?"""
        if not self.system.exists(self.place):
            return False
        return not (self._is_holder_gone(self._holder()) or self._age() > LASTS)

    def _age(self) -> timedelta:
        """The age by the clock of the folder's file system: ours may be hours ahead, and would end a command that is at
        work."""
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415

        fresh = self.place.suffix(f".{socket.gethostname()}.{os.getpid()}")
        try:
            self.system.create(fresh, True).close()
        except Py4JJavaError:  # a user who may only read does not disturb anybody
            return timedelta(0)
        try:
            return timedelta(milliseconds=self._modified_at(fresh) - self._modified_at(self.place))
        finally:
            self.system.delete(fresh, False)

    def _modified_at(self, path: Any) -> int:
        return int(self.system.getFileStatus(path).getModificationTime())

    def is_ours(self) -> bool:
        """Does this process hold it?"""
        return str(self.place) in _HELD

    def _is_holder_gone(self, holder: dict[str, Any]) -> bool:
        """Is the process gone? A restarted container has the name of the one before it, and our number may be the old
        one's."""
        if holder.get("host") != socket.gethostname():
            return False
        return not (self.is_ours() if holder.get("pid") == os.getpid() else _is_running(holder.get("pid")))

    def _create(self) -> bool:
        """Make the file; False: there is one. On this machine's disk Java looks first and makes it then."""
        holder = json.dumps(
            {"host": socket.gethostname(), "pid": os.getpid(), "user": _user_name(), "since": _now_text()}
        )
        if path := self._local_path():
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(holder)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in NO_ROOM:  # it was made by us, but does not say so yet
                    path.unlink(missing_ok=True)
                raise self._unwritable_error(error) from error
            return True
        if self.system.exists(self.place):
            return False
        stream = self.system.create(self.place, False)
        stream.write(holder.encode())
        stream.close()
        return True

    def _remove(self) -> None:
        """Remove the file by this machine's own means, where possible: Java may be gone before us."""
        if path := self._local_path():
            path.unlink(missing_ok=True)
        else:
            self.system.delete(self.place, False)

    def _local_path(self) -> Path | None:
        return Path(self.place.toUri().getPath()) if self.system.getUri().getScheme() == "file" else None

    def _holder(self) -> dict[str, Any]:
        """The holder; nothing, where the file is still being written."""
        if not self.system.exists(self.place):
            return {}
        stream = self.system.open(self.place)
        try:
            holder = json.loads(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        except ValueError:
            return {}
        finally:
            stream.close()
        return holder if isinstance(holder, dict) else {}

    def _unwritable_error(self, error: OSError) -> CannotContinue:
        message = f"Tables cannot be stored in {self.place.getParent()}: {error.strerror}."
        is_full = error.errno in NO_ROOM
        fix = "Make room there, or name" if is_full else "Name"
        fix += " with --store a folder that can be made and written to."
        return CannotContinue.because("FL115", "store-unfit", message, fix=fix)

    def _in_use_error(self) -> CannotContinue:
        holder = self._holder()
        who = f"{holder.get('user', 'somebody')} on {holder.get('host', 'some machine')}"
        since = f", process {holder['pid']}, since {holder['since']}" if {"pid", "since"} <= holder.keys() else ""
        message = f"Another command writes to the tables in {self.place.getParent()}: {who}{since}."
        fix = (
            f"Wait until it has ended. If it was killed on another machine, remove {self.place}; after "
            f"{LASTS.total_seconds() / 3600:g} hours that is no longer necessary."
        )
        return CannotContinue.because("FL116", "store-in-use", message, fix=fix)


def _is_running(pid: object) -> bool:
    if not isinstance(pid, int):
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())


def _now_text() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
