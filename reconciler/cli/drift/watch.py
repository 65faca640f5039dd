"""`reconciler drift --watch`: keeps running, reports every change as soon as it happens, and keeps metrics up to
date.

Metrics for others to fetch: a file that is never half written, and a page on a port of this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import paper, say, tell
from reconciler.documents.write.atomic import write_whole
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.drift.metrics import CONTENT_TYPE, Gauges, metrics_text
from reconciler.journeys.drift.watch import Happening, LookedAtAll, Lost, Watch, Wrong
from reconciler.journeys.drift.watch_text import (
    ConnectedAgain,
    ConnectionLost,
    WatchLine,
    change_lines,
    line_json,
    line_text,
    problem_line,
)
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue, Diagnostic, Severity
from reconciler.model.units import show_duration
from reconciler.report.words.diagnostics import report


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """The places for metrics."""

    file: Path | None = None
    listen: tuple[str, int] | None = None


@dataclass(slots=True)
class Teller:
    """Reports differences, and keeps the metrics."""

    as_json: bool
    outlets: Outlets
    watch: Watch | None = None
    drift: Drift | None = None
    gauges: Gauges = field(default_factory=lambda: Gauges(drift=None, up=False, looks=0))
    looks: int = 0
    lost: str = ""
    """The code of the reason that was told last, as long as the account cannot be seen."""

    def __call__(self, happening: Happening) -> None:
        """Tell people of problems, update the metrics, and then print the lines: whoever reads them finds current
        metrics."""
        self._tell_problems(happening)
        lines = [*self._lines(happening)]
        if isinstance(happening, LookedAtAll):
            self.drift, self.lost, self.looks = happening.drift, "", self.looks + 1
        elif isinstance(happening, Lost):
            self.lost = happening.code
        self._update_gauges(happening)
        for line in lines:
            say((line_json if self.as_json else line_text)(line, time.time()))

    def _tell_problems(self, happening: Happening) -> None:
        """Print on stderr what is wrong now and was not before."""
        if isinstance(happening, Wrong):
            tell(report(happening.diagnostics, paper()))
        elif isinstance(happening, LookedAtAll) and (
            self.drift is None or self.drift.diagnostics != happening.drift.diagnostics
        ):
            tell(report(happening.drift.diagnostics, paper()))

    def _lines(self, happening: Happening) -> Iterator[WatchLine]:
        if isinstance(happening, Wrong):
            yield from self._error_lines(happening.diagnostics)
        elif isinstance(happening, LookedAtAll):
            if self.lost:
                yield WatchLine(ConnectedAgain(), "connected again")
            yield from change_lines(self.drift, happening.drift)
        elif self.lost != happening.code:
            yield WatchLine(ConnectionLost(why=happening.why), f"{happening.why.rstrip('.')}; reconnecting")

    def _error_lines(self, diagnostics: Sequence[Diagnostic]) -> Iterator[WatchLine]:
        """The line for programs; people read of errors on stderr."""
        if self.as_json:
            yield problem_line(diagnostics)

    def report_failed_start(self, problem: CannotContinue) -> None:
        """Report that not even the first look succeeded."""
        for line in self._error_lines(problem.diagnostics):
            say(line_json(line, time.time()))

    def _update_gauges(self, happening: Happening) -> None:
        full_look = happening if isinstance(happening, LookedAtAll) else None
        self.gauges = Gauges(
            drift=self.drift, up=not self.lost, looks=self.looks,
            topology=self.watch.topology.name if self.watch and self.watch.topology else "",
            at=time.time() if full_look else self.gauges.at, seconds=full_look.seconds if full_look else self.gauges.seconds,
            advisories=self.watch.advisories if self.watch else 0,
            reconnects=self.watch.reconnects if self.watch else 0,
        )  # fmt: skip
        try:
            self.write_metrics()
        except CannotContinue as problem:  # a full disk must not end a watch
            tell(report(problem.diagnostics, paper()))

    def write_metrics(self) -> None:
        """Write the metrics into their file, if there is one. Raises CannotContinue where that fails."""
        if self.outlets.file:
            write_metrics_file(self.outlets.file, self.metrics_text())

    def metrics_text(self) -> str:
        """Return the metrics as of the last event, in the text format of Prometheus."""
        return metrics_text(self.gauges)


def run_watch(watch: Watch, teller: Teller) -> int:
    """Watch until somebody ends it, and return 130 after Ctrl-C, or 0 after SIGTERM, which is how services are
    stopped."""
    teller.watch = watch
    teller.write_metrics()  # report a file that cannot be written right away
    with ExitStack() as open_:
        if teller.outlets.listen:
            url = open_.enter_context(serve_metrics(teller.outlets.listen, teller.metrics_text))
            tell(f"Metrics are at {url}.\n")
        tell(
            f"The watch looks at everything every {show_duration(round(watch.every * 1e9))}, and "
            "whenever something changes.\n"
        )
        try:
            return asyncio.run(_watch_until_signal(watch))
        except CannotContinue as problem:
            teller.report_failed_start(problem)
            raise


async def _watch_until_signal(watch: Watch) -> int:
    with _ended_by_signals(watch.stop) as signals:
        await watch.run()
    return exits.INTERRUPTED if signals == [signal.SIGINT] else exits.FINE


@contextlib.contextmanager
def _ended_by_signals(stop: asyncio.Event) -> Iterator[list[signal.Signals]]:
    """End the watch in good order at the first signal, at once at another one; yield the signal that came."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    signals: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        if signals and task:
            task.cancel()
        signals[:] = signals or [number]
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    try:
        with contextlib.suppress(asyncio.CancelledError):
            yield signals
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def write_metrics_file(path: Path, text: str) -> None:
    """Replace the file in one step, so that a reader gets the old file or the new one. A collector takes only names
    that end in `.prom`."""
    try:
        write_whole({path: text.encode()})
    except OSError as error:
        raise common.cannot_write(path, error) from None


_ADDRESS = re.compile(r"(\[(?P<six>[^\[\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]{1,5})")


def parse_address(text: str) -> tuple[str, int]:
    """Parse `127.0.0.1:9099`, `:9099` or `[::1]:9099`."""
    address = _ADDRESS.fullmatch(text)
    if not address or int(address["port"]) > 65_535:
        raise common.Misused(f"--listen {text}: write HOST:PORT, for example 127.0.0.1:9099 or [::1]:9099.")
    return address["six"] or address["host"] or "127.0.0.1", int(address["port"])


@contextmanager
def serve_metrics(address: tuple[str, int], metrics: Callable[[], str]) -> Iterator[str]:
    """Serve a page of metrics while the block lasts, and yield its URL. Port 0 takes a free one."""

    class Page(BaseHTTPRequestHandler):
        timeout = 5.0
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            is_there = self.path.partition("?")[0] in ("/metrics", "/")
            body = metrics().encode() if is_there else b"Only /metrics is here.\n"
            self.send_response(200 if is_there else 404)
            self.send_header("Content-Type", CONTENT_TYPE if is_there else "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Log nothing: a fetch of metrics is no news."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        daemon_threads = True

    try:
        server = Server(address, Page)
    except (OSError, TypeError) as error:  # the latter where no host can have the name
        raise CannotContinue(_cannot_listen(address, error)) from None
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield f"http://{_host_and_port(address[0], server.server_port)}/metrics"
    finally:
        server.shutdown()
        server.server_close()


def _host_and_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _cannot_listen(address: tuple[str, int], error: OSError | TypeError) -> Diagnostic:
    return Diagnostic(
        severity=Severity.ERROR, code="DR112", name="cannot-listen",
        message=f"Cannot listen on {_host_and_port(*address)}: {(getattr(error, 'strerror', None) or str(error)).lower()}.",
        fix="Choose another port, or end the process that uses it.",
    )  # fmt: skip
