"""A person at a shell: runs commands against one account, and whatever is printed must be fit to be read."""

from __future__ import annotations

import asyncio
import signal
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from reconciler.server.wire.api import JetStream
from tests.cli.running import PATIENCE, Ran, Shell, command, environment
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.support.accounts import Account
from tests.support.jetstream import Place, talk

T = TypeVar("T")

HEADER = "reconciler: 1\ntopology: t\n"
LASTS = {"RECONCILER_LEASE_TTL": "60"}
"""A lease that is longer than a busy machine takes for an apply of many, or than its server is away."""
CONTROL = {*range(32), 127, *range(0x80, 0xA0)} - {ord("\n")}


def login(account: Account) -> tuple[str, ...]:
    return ("--server", account.url, "--user", account.user, "--password", account.password)


@dataclass(frozen=True, slots=True)
class Someone:
    """Commands run in `shell`; those that talk to a server get `login`."""

    shell: Shell
    place: Place
    login: tuple[str, ...]

    def __call__(self, *arguments: str, **env: str) -> Ran:
        """A command that talks to the server."""
        return readable(self.shell(*arguments, *self.login, **env))

    def write(self, text: str, name: str = "topology.yaml") -> str:
        return self.shell.write(text if text.startswith("reconciler") else HEADER + text, name)

    def plan(self, text: str, *options: str) -> Ran:
        return self("plan", self.write(text), *options)

    def apply(self, text: str, *options: str) -> Ran:
        return self("apply", self.write(text), "--yes", *options)

    def applied(self, text: str) -> Ran:
        ran = self.apply(text)
        assert ran.code == 0, ran
        return ran

    def has_nothing_to_do(self, path: str) -> bool:
        """An empty plan is one line and exit 0, also for who asks for 2."""
        ran = self("plan", path, "--exit-code")
        return ran.code == 0 and ran.out.count("\n") == 1 and "nothing to do" in ran.out

    def ask(self, work: Callable[[JetStream], Awaitable[T]]) -> T:
        """Behind the back of the commands."""
        return talk(self.place, work)

    def interrupted(self, at: str, *arguments: str, nth: int = 1) -> Ran:
        """A command that gets Ctrl-C when the server has answered its request of this subject."""
        return asyncio.run(self._interrupted(Point(Request(at, nth), Side.REPLY), arguments))

    async def _interrupted(self, at: Point, arguments: tuple[str, ...]) -> Ran:
        def begin(port: int) -> Awaitable[Process]:
            return start(self.shell, *arguments, "--server", f"nats://127.0.0.1:{port}", *self.login[2:])

        return await ctrl_c(int(self.login[1].rpartition(":")[2]), at, begin)


async def ctrl_c(port: int, at: Point, begin: Callable[[int], Awaitable[Process]]) -> Ran:
    """A command, begun with a port in front of the server's, that gets Ctrl-C at this point."""
    async with wire(lambda: port, at) as between:
        running = await begin(between.port)

        async def press(_moment: Moment) -> Goes:
            running.send_signal(signal.SIGINT)
            return Goes.ON

        between.act = press
        out, err = await asyncio.wait_for(running.communicate(), PATIENCE)
        assert between.was_reached
    return readable(Ran(code=running.returncode or 0, out=out.decode(), err=err.decode()))


async def start(shell: Shell, *arguments: str, **env: str) -> asyncio.subprocess.Process:
    """As a terminal starts it: what a script starts in the background ignores Ctrl-C, and so does all that it starts."""
    return await asyncio.create_subprocess_exec(
        *command(*arguments), cwd=shell.folder, env=environment(shell.folder, **env),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


def readable(ran: Ran) -> Ran:
    """Never a traceback, never `internal error`, never a character that moves a terminal's cursor."""
    said = ran.out + ran.err
    assert "Traceback" not in said, said
    assert "internal error" not in said, said
    assert not CONTROL & set(map(ord, said)), repr(said)
    return ran
