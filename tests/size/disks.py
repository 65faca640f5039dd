"""Disks that are full: a limit on how large a file may grow, which anybody may set, and a small file system of a server's own."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.running import PATIENCE, Ran, command, environment
from tests.support.binaries import NEWEST, binary
from tests.support.servers import NatsServer
from tests.support.suspending import suspended

NO_CACHES = {"PYTHONDONTWRITEBYTECODE": "1"}


def with_files_up_to(size: int, folder: Path, *arguments: str) -> Ran:
    """A command for which no file can be larger than so many bytes, a multiple of 512."""
    line = f"ulimit -f {size // 512}; exec {shlex.join(command(*arguments))}"
    done = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=environment(folder, **NO_CACHES), capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Ran(code=done.returncode, out=done.stdout, err=done.stderr)


@cache
def alone() -> tuple[str, ...] | None:
    """A command line that gives what follows mounts of its own; None: nobody may have that here."""
    for way in (("unshare", "-m"), ("unshare", "-rm")):
        tried = [*way, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"]
        if shutil.which("unshare") and subprocess.run(tried, capture_output=True, check=False).returncode == 0:
            return way
    return None


@dataclass(frozen=True, slots=True)
class SmallDisk:
    """What a server stores is on it, and nothing else."""

    server: NatsServer

    @property
    def place(self) -> Path:
        """As the server sees it."""
        return Path(f"/proc/{self.server.pid}/root") / self.server.store.relative_to("/")

    def fill(self, *, but: int = 0) -> None:
        """Until not a byte more is taken, but so many."""
        free = os.statvfs(self.place).f_bavail * os.statvfs(self.place).f_frsize
        with (self.place / "filler").open("wb") as filler:
            filler.write(b"x" * (free - but))

    def restart(self) -> None:
        """With what it stored: its disk is gone with it, so that is carried over."""
        with TemporaryDirectory() as folder:
            (kept := Path(folder) / "store").mkdir()
            with suspended(self.server.pid):
                shutil.copytree(self.place, kept, dirs_exist_ok=True)
            self.server.kill()
            shutil.copytree(kept, self.server.store, dirs_exist_ok=True)
        self.server.program = binary(self.server.minor)
        self.server.start()

    def make_room(self) -> None:
        (self.place / "filler").unlink()


@contextmanager
def small_disk(folder: Path, size: str = "16m", minor: str = NEWEST) -> Iterator[SmallDisk]:
    """A server on a disk of this size."""
    way = alone()
    assert way is not None, "whoever asks has looked whether that can be had"
    server = NatsServer(minor, home=folder / "small")
    server.store.mkdir(parents=True)
    program = folder / "on-a-small-disk"
    program.write_text(
        f'#!/bin/sh\nexec {shlex.join(way)} sh -c \'mount -t tmpfs -o size={size} tmpfs "$0" && exec "$@"\' '
        f'{shlex.quote(str(server.store))} {shlex.quote(str(binary(minor)))} "$@"\n'
    )
    program.chmod(0o755)
    server.program = program
    with server:
        yield SmallDisk(server)
