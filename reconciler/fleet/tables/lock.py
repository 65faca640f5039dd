"""One command at a time writes to a folder of tables: two at once would lose each other's rows.

Whoever writes leaves a file there that says who it is, and takes it away in the end. One that was killed is noticed: by its
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
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reconciler.model.diagnostic import CannotContinue

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
NAME, TURN = ".lock", ".turn"
LASTS = timedelta(hours=12)
"""No command takes that long, and who was killed last night keeps nobody waiting tonight."""
_HELD: set[str] = set()
"""By this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """Of one folder, on any file system that Hadoop knows."""

    jvm: Any
    system: Any
    place: Any

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock during the `with`, also one that a killed command left. Raises CannotContinue if it is in use."""
        self.system.mkdirs(self.place.getParent())
        if not self._made():
            self._taken_over()
        _HELD.add(str(self.place))
        try:
            yield
        finally:
            _HELD.discard(str(self.place))
            self._gone()

    def _taken_over(self) -> None:
        """From one that was killed. Of several who see that only one has his turn: what he finds then is still the old one,
        which nobody else may remove, or somebody's who had his turn before. The turn of one who was killed in it is taken over
        in the same way."""
        if self.another_holds():
            raise self._in_use()
        with replace(self, place=self.place.suffix(TURN)).held():
            if self.another_holds():
                raise self._in_use()
            self.system.delete(self.place, False)
            if not self._made():
                raise self._in_use()

    def another_holds(self) -> bool:
        """One that may well be running."""
        if not self.system.exists(self.place):
            return False
        return not (self._is_gone(self._holder()) or self._age() > LASTS)

    def _age(self) -> timedelta:
        """By the clock of whoever keeps the folder: ours may be hours ahead, and would end a command that is at work."""
        from py4j.protocol import Py4JJavaError  # noqa: PLC0415

        fresh = self.place.suffix(f".{socket.gethostname()}.{os.getpid()}")
        try:
            self.system.create(fresh, True).close()
        except Py4JJavaError:  # who may only read leaves everybody alone
            return timedelta(0)
        try:
            return timedelta(milliseconds=self._written(fresh) - self._written(self.place))
        finally:
            self.system.delete(fresh, False)

    def _written(self, place: Any) -> int:
        return int(self.system.getFileStatus(place).getModificationTime())

    def is_ours(self) -> bool:
        """This process holds it."""
        return str(self.place) in _HELD

    def _is_gone(self, holder: dict[str, Any]) -> bool:
        """A container that begins anew has the name of the one before it, and our number may be that one's."""
        if holder.get("host") != socket.gethostname():
            return False
        return not (self.is_ours() if holder.get("pid") == os.getpid() else _runs(holder.get("pid")))

    def _made(self) -> bool:
        """False: there is one. Java looks first and makes it then, where the disk is this machine's."""
        said = json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "user": _user(), "since": _now()})
        if path := self._local():
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(said)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno in NO_ROOM:  # it was made by us, and does not say so
                    path.unlink(missing_ok=True)
                raise self._unwritable(error) from error
            return True
        if self.system.exists(self.place):
            return False
        stream = self.system.create(self.place, False)
        stream.write(said.encode())
        stream.close()
        return True

    def _gone(self) -> None:
        """By this machine's own means, where it can: Java may be gone before us."""
        if path := self._local():
            path.unlink(missing_ok=True)
        else:
            self.system.delete(self.place, False)

    def _local(self) -> Path | None:
        return Path(self.place.toUri().getPath()) if self.system.getUri().getScheme() == "file" else None

    def _holder(self) -> dict[str, Any]:
        """Nothing, where it is still being written down."""
        if not self.system.exists(self.place):
            return {}
        stream = self.system.open(self.place)
        try:
            said = json.loads(self.jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        except ValueError:
            return {}
        finally:
            stream.close()
        return said if isinstance(said, dict) else {}

    def _unwritable(self, error: OSError) -> CannotContinue:
        message = f"Tables cannot be kept in {self.place.getParent()}: {error.strerror}."
        is_full = error.errno in NO_ROOM
        fix = "Make room there, or name" if is_full else "Name"
        fix += " with --store a folder that can be made and written to."
        return CannotContinue.because("FL115", "store-unfit", message, fix=fix)

    def _in_use(self) -> CannotContinue:
        holder = self._holder()
        who = f"{holder.get('user', 'somebody')} on {holder.get('host', 'some machine')}"
        since = f", process {holder['pid']}, since {holder['since']}" if {"pid", "since"} <= holder.keys() else ""
        message = f"Another command writes to the tables in {self.place.getParent()}: of {who}{since}."
        fix = (
            f"Wait until it has ended. Where it was killed on another machine, remove {self.place}; after "
            f"{LASTS.total_seconds() / 3600:g} hours that is no longer needed."
        )
        return CannotContinue.because("FL116", "store-in-use", message, fix=fix)


def _runs(pid: object) -> bool:
    if not isinstance(pid, int):
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return str(os.getuid())


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
