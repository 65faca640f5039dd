"""Files and account are read at the same time: whichever fails first, or last, one thing is said and nothing else.

A loop that counts its steps lets the files fail, or the whole be cancelled, in each one of them in turn, so that no moment of
connecting, logging in and looking is left out.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import logging
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reconciler.documents.parse.files import DISK
from reconciler.journeys.files_and_account import both
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.server.connect.options import ConnectOptions, resolve
from reconciler.server.connect.settings import Settings
from tests.support.servers import running

WRONG = "reconciler: 1\ntopology: t\nstreams:\n  A: {subjectz: [a]}\n"
MOST = 500
"""Steps after which a test has gone astray."""
FEWEST = 10
"""Steps that connecting to nobody takes at least; where fewer are counted nothing was tried."""


class Stepping(asyncio.SelectorEventLoop):
    """Does something after one of its steps, and counts them."""

    steps = 0
    at = 0
    then: Callable[[], object] = staticmethod(lambda: None)

    def _run_once(self) -> None:
        super()._run_once()  # type: ignore[misc]  # no public way to count
        self.steps += 1
        if self.steps == self.at:
            self.then()

    def waits_for_a_thread(self) -> None:
        """Until one has something to say to this loop."""
        ready: Sequence[object] = self._ready  # type: ignore[attr-defined]
        before, until = len(ready), time.monotonic() + 30
        while len(ready) == before and time.monotonic() < until:
            time.sleep(0.0002)


@dataclass(slots=True)
class Files:
    """They are read when somebody says so."""

    released: threading.Event = field(default_factory=threading.Event)
    is_waiting: bool = False

    def find(self, paths: Sequence[Path]) -> tuple[list[Path], list[Diagnostic]]:
        self.is_waiting = True
        self.released.wait(30)
        return DISK.find(paths)

    def read(self, path: Path) -> tuple[str, list[Diagnostic]]:
        return DISK.read(path)


@dataclass(slots=True, kw_only=True)
class Played:
    raised: BaseException | None = None
    steps: int = 0
    beside: list[str] = field(default_factory=list)
    """What was printed, logged, warned of or left unread."""


def play(options: ConnectOptions, file: Path, at: int, *, cancelled: bool) -> Played:
    """The files fail in step `at`, or everything is cancelled there; or nothing happens before the server was read."""
    files, loop, played = Files(), Stepping(), Played()

    def fail() -> None:
        came_too_late = files.released.is_set() or not files.is_waiting
        files.released.set()
        if not came_too_late:
            loop.waits_for_a_thread()

    async def main() -> None:
        task = asyncio.current_task()
        assert task
        loop.call_later(0.2, files.released.set)  # where the account was read, or failed, before
        loop.at, loop.then = loop.steps + at, (task.cancel if cancelled else fail)
        try:
            async with both([file], options, files):
                pass
        finally:
            played.steps = loop.steps - (loop.at - at)
            files.released.set()

    with _listened(loop, played.beside), asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            runner.run(main())
        except (CannotContinue, asyncio.CancelledError) as error:
            played.raised = error.with_traceback(None)
    return played


@contextlib.contextmanager
def _listened(loop: asyncio.AbstractEventLoop, into: list[str]) -> Iterator[None]:
    """Everything that is said and is no exception that comes out."""

    def unread(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        into.append(f"{context.get('message')}: {context.get('exception')!r}")

    said, hook = io.StringIO(), sys.unraisablehook
    logs = logging.StreamHandler(said)
    loop.set_exception_handler(unread)
    sys.unraisablehook = lambda one: into.append(f"unraisable: {one.exc_value!r}")
    logging.getLogger().addHandler(logs)
    try:
        with contextlib.redirect_stderr(said), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
            gc.collect()
    finally:
        logging.getLogger().removeHandler(logs)
        sys.unraisablehook = hook
    into += [*filter(None, [said.getvalue()]), *(str(one.message) for one in warned)]


@pytest.fixture(autouse=True)
def _what_is_old_is_not_looked_at_again() -> Iterator[None]:
    """Each play collects what it left; all that was there before would cost a tenth of a second each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "t.yaml"
    path.write_text(WRONG, encoding="utf-8")
    return path


@contextlib.contextmanager
def hanging_up() -> Iterator[str]:
    """A server that lets everybody in and hangs up at once."""
    loop = asyncio.new_event_loop()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true}\r\n')
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"PING\r\n")
            writer.write(b"PONG\r\n")
            await reader.readuntil(b"PING\r\n")  # it is in, and asks for something
        writer.close()

    server = loop.run_until_complete(asyncio.start_server(serve, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(loop.shutdown_asyncgens())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.close()


@contextlib.contextmanager
def somewhere(kind: str) -> Iterator[ConnectOptions]:
    """A place to connect to, and how it goes there."""
    said: dict[str, Any] = {}
    with contextlib.ExitStack() as open_:
        if kind == "nobody listens":
            said = {"url": "nats://127.0.0.1:1"}
        elif kind == "hangs up":
            said = {"url": open_.enter_context(hanging_up())}
        elif kind == "refuses the login":
            config = "authorization {user: u, password: p}"
            said = {"url": open_.enter_context(running(config=config)).url, "user": "x", "password": "y"}
        else:
            said = {"url": open_.enter_context(running(jetstream=kind == "answers")).url}
        yield resolve(Settings(**said), {})


KINDS = ("nobody listens", "refuses the login", "has no JetStream", "hangs up", "answers")


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_fail_in_any_moment_of_connecting_are_all_that_is_said(kind: str, file: Path) -> None:
    with somewhere(kind) as options:
        for at in range(1, MOST):
            played = play(options, file, at, cancelled=False)
            assert isinstance(played.raised, CannotContinue), at
            assert [one.code for one in played.raised.diagnostics] == ["ST501"], at
            assert played.beside == [], at
            if played.steps < at:  # the account was read, or had failed, before
                assert at > FEWEST
                return
    raise AssertionError("it never ended before its files failed")


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_cancels_it_in_any_moment_hears_nothing_else(kind: str, file: Path) -> None:
    cancelled = 0
    with somewhere(kind) as options:
        for at in range(1, MOST):
            played = play(options, file, at, cancelled=True)
            assert isinstance(played.raised, asyncio.CancelledError | CannotContinue), at
            assert played.beside == [], at
            cancelled += isinstance(played.raised, asyncio.CancelledError)
            if played.steps < at:
                assert cancelled > FEWEST
                return
    raise AssertionError("it never ended before it was cancelled")


@pytest.mark.parametrize(("kind", "code"), [*zip(KINDS, ("NA101", "NA102", "NA104"), strict=False)])
def test_files_that_are_fine_leave_it_to_the_server_to_fail(kind: str, code: str, file: Path) -> None:
    file.write_text("reconciler: 1\ntopology: t\nstreams: {}\n", encoding="utf-8")
    with somewhere(kind) as options:
        for at in (1, MOST):  # before the server failed, and after that
            played = play(options, file, at, cancelled=False)
            assert isinstance(played.raised, CannotContinue)
            assert ([one.code for one in played.raised.diagnostics], played.raised.topology) == ([code], "t")
            assert played.beside == []
