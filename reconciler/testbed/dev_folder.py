"""The embedded server's files in a folder, and the two locks that keep two servers from one store.

A server holds the run lock as long as it lives: it inherits the lock's descriptor, and the kernel releases the lock
when it dies, however it dies. A pid alone would prove nothing: processes are killed, and their numbers are used again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class DevServer:
    """What the last server wrote about itself."""

    pid: int
    port: int
    name: str
    """Its server name, which tells its greeting from anybody else's on that port."""


class DevFolder:
    def __init__(self, folder: Path) -> None:
        self.owner = folder.absolute()
        self.root = self.owner / ".reconciler" / "dev"
        self.store = self.root / "store"
        self.config = self.root / "server.conf"
        self.log = self.root / "server.log"
        self.output = self.root / "server.out"
        self.record = self.root / "server.json"
        self._starting = self.root / "starting.lock"
        self._running = self.root / "running.lock"

    @property
    def was_used(self) -> bool:
        """Did `prepare` run here before? Whether a server runs is another question."""
        return self._starting.exists() and self._running.exists()

    def prepare(self) -> None:
        """Make the folder and its locks, and hide it from git. Existing files stay as they are."""
        self.root.mkdir(parents=True, exist_ok=True)
        ignore = self.root.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        for lock in (self._starting, self._running):
            lock.touch(exist_ok=True)

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Let starts, stops and looks happen one at a time; none takes longer than a start or a stop."""
        with self._starting.open() as file:
            with waiting(f"for another command that starts or stops the embedded server of {self.owner}"):
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def free(self) -> Iterator[int | None]:
        """Return the run lock's descriptor, to be inherited by a server; None while a server has it."""
        with self._running.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
            else:
                yield file.fileno()

    @property
    def is_running(self) -> bool:
        """Does a process hold the run lock? It need not answer clients yet."""
        with self.free() as lock:
            return lock is None

    def recorded_server(self) -> DevServer | None:
        """Return what the last server wrote about itself; None where there is no readable record."""
        try:
            return DevServer(**json.loads(self.record.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def is_held_by(self, pid: int) -> bool:
        """Does this very process have our run lock open, where the kernel tells? Otherwise the held lock must do."""
        open_files = Path(f"/proc/{pid}/fd")
        if not Path("/proc/self/fd").exists():
            return True
        with contextlib.suppress(OSError):  # gone, or somebody else's
            ours = self._running.stat()
            return any(_same(file, ours) for file in open_files.iterdir())
        return False

    def last_words(self) -> str:
        """Return the end of what the server logged, for messages."""
        for file in (self.log, self.output):
            with contextlib.suppress(OSError):
                lines = [line for line in file.read_text(errors="replace").splitlines() if line.strip()]
                if lines:
                    return lines[-1].strip()
        return ""

    @contextlib.contextmanager
    def explain_failures(self) -> Iterator[None]:
        """Say in one sentence why the folder cannot be used."""
        try:
            yield
        except OSError as error:
            failure = f"The embedded server cannot keep its data in {self.root}"
            message = f"{failure}: {(error.strerror or str(error)).lower()}. Nothing was changed."
            fix = "Run this in a folder you may write to, or connect to a server with --server or --context."
            raise CannotContinue.because("NA122", "dev-folder-unusable", message, fix=fix) from None


def _same(file: Path, other: os.stat_result) -> bool:
    with contextlib.suppress(OSError):  # closed meanwhile
        return os.path.samestat(file.stat(), other)
    return False
