"""`reconciler drift watch`: keeps running, reports every change as soon as it happens, and keeps metrics up to
date."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.account.planning import Selection
from reconciler.cli.drift.drift import Metrics, selection
from reconciler.cli.drift.metrics_page import parse_address, serve_metrics, write_metrics_file
from reconciler.cli.shared import common, exits
from reconciler.cli.shared.common import ChosenPlainFormat, PlainFormat, takes
from reconciler.cli.shared.connecting import Connection, connection
from reconciler.cli.shared.screen import paper, say, tell
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.drift.metrics import Gauges, metrics_text
from reconciler.journeys.drift.watch import AccountUnreachable, FilesUnusable, FullLook, Happening, Watch
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
from reconciler.model.diagnostic import CannotContinue, Diagnostic
from reconciler.model.units import show_duration
from reconciler.report.words.diagnostics import report
from reconciler.server.connect.options import seconds as seconds_of

EVERY = "15m"

app = common.new_app()


@app.command(name="drift watch")
@takes(connection)
@takes(selection)
def watch_(
    paths: common.Paths,
    selection: Selection,
    connection: Connection,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="Take a full look at everything this often.")
    ] = EVERY,
    metrics: Metrics = None,
    listen: Annotated[
        str | None, typer.Option("--listen", metavar="HOST:PORT", help="Serve the metrics under /metrics.")
    ] = None,
    format_: ChosenPlainFormat = PlainFormat.TEXT,
) -> int:
    """Stay, and tell of each change of one topology when it happens, and who made it. Ctrl-C ends it."""
    connection = connection.for_environment(selection.values, paths)
    outlets = Outlets(file=metrics, listen=parse_address(listen) if listen else None)
    teller = WatchReporter(as_json=format_ is PlainFormat.JSON, outlets=outlets)
    watch = Watch(
        paths=paths, connecting=connection.options(), options=selection.options(), every=_interval(every), tell=teller,
        tree=selection.values.tree(),
    )  # fmt: skip
    return run_watch(watch, teller)


def _interval(text: str) -> float:
    try:
        return seconds_of(text)
    except CannotContinue:
        raise common.Misused(f"--every {text}: write for example 15m, 1h or 30s.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """The places for metrics."""

    file: Path | None = None
    listen: tuple[str, int] | None = None


@dataclass(slots=True)
class WatchReporter:
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
        if isinstance(happening, FullLook):
            self.drift, self.lost, self.looks = happening.drift, "", self.looks + 1
        elif isinstance(happening, AccountUnreachable):
            self.lost = happening.code
        self._update_gauges(happening)
        for line in lines:
            say((line_json if self.as_json else line_text)(line, time.time()))

    def _tell_problems(self, happening: Happening) -> None:
        """Print on stderr what is wrong now and was not before."""
        if isinstance(happening, FilesUnusable):
            tell(report(happening.diagnostics, paper()))
        elif isinstance(happening, FullLook) and (
            self.drift is None or self.drift.diagnostics != happening.drift.diagnostics
        ):
            tell(report(happening.drift.diagnostics, paper()))

    def _lines(self, happening: Happening) -> Iterator[WatchLine]:
        if isinstance(happening, FilesUnusable):
            yield from self._error_lines(happening.diagnostics)
        elif isinstance(happening, FullLook):
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
        full_look = happening if isinstance(happening, FullLook) else None
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


def run_watch(watch: Watch, teller: WatchReporter) -> int:
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
