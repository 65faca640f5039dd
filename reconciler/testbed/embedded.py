"""One lasting nats-server per folder, for `--dev`: attached to if it runs, started if not, and left running.

The embedded server's files in a folder, and the two locks that keep two servers from one store.

A server holds the run lock as long as it lives: it inherits the lock's descriptor, and the kernel releases the lock
when it dies, however it dies. A pid alone would prove nothing: processes are killed, and their numbers are used again.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting
from reconciler.testbed import detached, programs

START_TIMEOUT = 20.0
"""Seconds; it takes about 0.2, more with a large store."""
STOP_TIMEOUT = 20.0
_LOOK = 0.02
"""Seconds between looks at things that announce nothing: a port, a lock."""

_CONFIG = """# Written at each start. The store is relative to this folder, so that the folder may be moved.
listen: "127.0.0.1:{port}"
server_name: "{name}"
log_file: "server.log"
log_size_limit: 10MB
jetstream {{ store_dir: "store", max_memory_store: 64GiB, max_file_store: 1TiB }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dev:
    """The embedded server of a folder."""

    url: str
    pid: int
    started: bool
    """False: it ran already."""
    log: Path


def attach(folder: Path, environ: Mapping[str, str] = os.environ) -> Dev:
    """Attach to the folder's server, and start it if it does not run; it survives this process."""
    dev_folder = DevFolder(folder)
    with dev_folder.explain_failures():
        if not dev_folder.owner.is_dir():
            raise NotADirectoryError(0, "there is no such folder")
        dev_folder.prepare()
        with dev_folder.start_stop_lock():
            if record := _wait_for_answer(dev_folder):
                return _dev(dev_folder, record, started=False)
            return _dev(dev_folder, _start(dev_folder, programs.find(environ)), started=True)


def status(folder: Path) -> Dev | None:
    """Return the folder's server if it runs. Starts and writes nothing."""
    dev_folder = DevFolder(folder)
    if not dev_folder.was_used:
        return None
    with dev_folder.explain_failures(), dev_folder.start_stop_lock():
        record = _wait_for_answer(dev_folder)
        return _dev(dev_folder, record, started=False) if record else None


def stop(folder: Path) -> bool:
    """End the folder's server cleanly and wait until it is gone; False if it did not run. Its data stays."""
    dev_folder = DevFolder(folder)
    if not dev_folder.was_used:
        return False
    with dev_folder.explain_failures(), dev_folder.start_stop_lock():
        return _stop(dev_folder)


def wipe(folder: Path) -> bool:
    """Stop the server and remove what it stored; False if nothing was stored."""
    dev_folder = DevFolder(folder)
    if not dev_folder.was_used:
        return False
    with dev_folder.explain_failures(), dev_folder.start_stop_lock():
        _stop(dev_folder)
        # The lock files stay: everybody who waits for one of them must find the same one.
        for file in (dev_folder.record, dev_folder.log, dev_folder.output, dev_folder.config):
            file.unlink(missing_ok=True)
        existed = dev_folder.store.exists()
        if existed:
            shutil.rmtree(dev_folder.store)
        return existed


def _dev(dev_folder: DevFolder, record: DevServer, *, started: bool) -> Dev:
    return Dev(url=f"nats://127.0.0.1:{record.port}", pid=record.pid, started=started, log=dev_folder.log)


def _start(dev_folder: DevFolder, program: Path) -> DevServer:
    """Start on the port of the last time if it is free, so that noted addresses stay right."""
    last = dev_folder.recorded_server()
    for port in (_free_port(last.port if last else 0), _free_port(0)):
        _launch(dev_folder, program, port)
        if record := _wait_for_answer(dev_folder):
            return record
        if "address already in use" not in dev_folder.log_tail():
            break
    message = f"The embedded server of {dev_folder.owner} did not start: {dev_folder.log_tail()}. Its data was left as it was."
    fix = f"See {dev_folder.log}, or start over with `reconciler dev wipe`."
    raise CannotContinue.because("NA123", "dev-server-failed", message, fix=fix)


def _launch(dev_folder: DevFolder, program: Path, port: int) -> None:
    name = f"dev-{secrets.token_hex(4)}"
    dev_folder.config.write_text(_CONFIG.format(port=port, name=name))
    for old in (dev_folder.log, dev_folder.record):  # a record left here could be that of the server of a copied folder
        old.unlink(missing_ok=True)
    content = json.dumps({"port": port, "name": name})
    arguments = [str(dev_folder.record), content, str(dev_folder.output), str(program), "-c", dev_folder.config.name]
    with dev_folder.free() as lock:
        assert lock is not None, "only started while nobody holds the lock"
        subprocess.run(
            [sys.executable, "-IS", detached.__file__, *arguments],
            cwd=dev_folder.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[lock],
            check=True,
        )


def _free_port(port: int) -> int:
    """This port if it is free, otherwise one from the OS."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return _free_port(0)
        chosen: int = probe.getsockname()[1]
        return chosen


def _wait_for_answer(dev_folder: DevFolder) -> DevServer | None:
    """Wait until the running server greets, for it may just be starting; None when none runs, or when it gave up."""
    with waiting(f"for the embedded server of {dev_folder.owner} to answer", START_TIMEOUT):
        deadline = time.monotonic() + START_TIMEOUT
        while dev_folder.is_running:
            record = dev_folder.recorded_server()
            if record and _is_recorded_server(record):
                return record
            if time.monotonic() > deadline:
                message = (
                    f"The embedded server of {dev_folder.owner} runs, but does not answer: {dev_folder.log_tail()}."
                )
                fix = f"Stop it with `reconciler dev stop` and try again; its log is {dev_folder.log}."
                raise CannotContinue.because("NA123", "dev-server-failed", message, fix=fix)
            time.sleep(_LOOK)
        return None


def _is_recorded_server(record: DevServer) -> bool:
    """Is the server that answers this one, and not another one that got its port?"""
    with contextlib.suppress(OSError, ValueError):
        with socket.create_connection(("127.0.0.1", record.port), timeout=2) as connection:
            line = connection.makefile("rb").readline()
        return bool(json.loads(line.removeprefix(b"INFO "))["server_name"] == record.name)
    return False


def _stop(dev_folder: DevFolder) -> bool:
    if not dev_folder.is_running:
        return False
    record = dev_folder.recorded_server()
    if record is None or not dev_folder.is_held_by(record.pid):
        message = f"A process holds the store of {dev_folder.owner}, but it is not the server that was recorded there."
        fix = f"Find out which process has {dev_folder.root / 'running.lock'} open, and end it."
        raise CannotContinue.because("NA123", "dev-server-failed", message, fix=fix)
    os.kill(record.pid, signal.SIGTERM)
    with waiting(f"for the embedded server of {dev_folder.owner} (pid {record.pid}) to end", STOP_TIMEOUT):
        deadline = time.monotonic() + STOP_TIMEOUT
        while dev_folder.is_running:
            if time.monotonic() > deadline:
                message = f"The embedded server of {dev_folder.owner} (pid {record.pid}) did not end within {STOP_TIMEOUT:g} s."
                raise CannotContinue.because(
                    "NA123", "dev-server-failed", message, fix=f"See its log: {dev_folder.log}."
                )
            time.sleep(_LOOK)
    return True


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
    def start_stop_lock(self) -> Iterator[None]:
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
            return any(_is_same_file(file, ours) for file in open_files.iterdir())
        return False

    def log_tail(self) -> str:
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


def _is_same_file(file: Path, other: os.stat_result) -> bool:
    with contextlib.suppress(OSError):  # closed meanwhile
        return os.path.samestat(file.stat(), other)
    return False
