"""Real nats-servers for tests, by minor version: ready when they are handed out, gone with pytest.

A shared server holds hundreds of accounts and each test gets a fresh one: isolation without a start per test.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from reconciler.testbed.node import START_TIMEOUT, Config, Node, Settings
from tests.support.binaries import NEWEST, VERSIONS, binary

__all__ = ["START_TIMEOUT", "NatsServer", "running"]

ROOM = 4 << 30
"""Bytes that all servers of a test run together stay far below."""


class NatsServer(Node):
    """A node of a tested version."""

    def __init__(
        self,
        minor: str = NEWEST,
        config: Config = "",
        *,
        jetstream: bool | Settings = True,
        name: str | None = None,
        home: Path | None = None,
    ) -> None:
        super().__init__(binary(minor), config, jetstream=jetstream, name=name, home=home, below=memory())
        self._minor = minor

    @property
    def minor(self) -> str:
        return self._minor

    @minor.setter
    def minor(self, minor: str) -> None:
        """Takes effect at the next start."""
        self._minor, self.program = minor, binary(minor)

    @property
    def version(self) -> str:
        return VERSIONS[self.minor]

    def restart(self, minor: str | None = None) -> Self:  # type: ignore[override]  # tests speak of versions
        """On the same store and port, with another version if one is named."""
        self.minor = minor or self.minor
        return super().restart(binary(self.minor))


@functools.cache
def memory() -> Path | None:
    """A folder in memory: for their disk servers wait longer than for anything else. None: there is none with room."""
    folder = Path("/dev/shm")
    has_room = os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= ROOM
    return folder if has_room else None


@contextlib.contextmanager
def running(minor: str = NEWEST, config: Config = "", **options: Any) -> Iterator[NatsServer]:
    """One server for one test."""
    with NatsServer(minor, config, **options) as server:
        yield server
