"""One lasting nats-server per folder, for `--dev`: attached to if it runs, started if not, and left running."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.waits import waiting
from reconciler.testbed import detached, programs
from reconciler.testbed.dev_folder import DevFolder, DevServer

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
        with dev_folder.exclusive():
            if record := _wait_for_answer(dev_folder):
                return _dev(dev_folder, record, started=False)
            return _dev(dev_folder, _start(dev_folder, programs.find(environ)), started=True)


def status(folder: Path) -> Dev | None:
    """Return the folder's server if it runs. Starts and writes nothing."""
    dev_folder = DevFolder(folder)
    if not dev_folder.was_used:
        return None
    with dev_folder.explain_failures(), dev_folder.exclusive():
        record = _wait_for_answer(dev_folder)
        return _dev(dev_folder, record, started=False) if record else None


def stop(folder: Path) -> bool:
    """End the folder's server cleanly and wait until it is gone; False if it did not run. Its data stays."""
    dev_folder = DevFolder(folder)
    if not dev_folder.was_used:
        return False
    with dev_folder.explain_failures(), dev_folder.exclusive():
        return _stop(dev_folder)


def wipe(folder: Path) -> bool:
    """Stop the server and remove what it stored; False if nothing was stored."""
    dev_folder = DevFolder(folder)
    if not dev_folder.was_used:
        return False
    with dev_folder.explain_failures(), dev_folder.exclusive():
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
        if "address already in use" not in dev_folder.last_words():
            break
    message = f"The embedded server of {dev_folder.owner} did not start: {dev_folder.last_words()}. Its data was left as it was."
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
            if record and _greets(record):
                return record
            if time.monotonic() > deadline:
                message = (
                    f"The embedded server of {dev_folder.owner} runs, but does not answer: {dev_folder.last_words()}."
                )
                fix = f"Stop it with `reconciler dev stop` and try again; its log is {dev_folder.log}."
                raise CannotContinue.because("NA123", "dev-server-failed", message, fix=fix)
            time.sleep(_LOOK)
        return None


def _greets(record: DevServer) -> bool:
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
