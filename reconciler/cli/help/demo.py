"""`reconciler demo`: runs the commands themselves, one after the other, on a throw-away server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import paper, say
from reconciler.journeys.demo import STORY, DemoStep, copy_example, edit_and_diff, example, publish_orders_and_wait
from reconciler.report.words.paper import Paper, Role
from reconciler.server.connect.options import ConnectOptions
from reconciler.testbed import embedded

app = common.new_app()

PAUSE = 1.2
"""Seconds between scenes, where somebody watches."""


@app.command()
def demo(
    fleet: Annotated[
        bool,
        typer.Option("--fleet", help="Show many accounts instead: three nights of drift, on Spark, with the report."),
    ] = False,
    page: Annotated[
        Path, typer.Option("--page", metavar="FILE.html", help="With --fleet, write its report here.")
    ] = Path("fleet-report.html"),
    no_color: common.NoColor = False,
) -> int:
    """Watch the main job on a throw-away server: plan, apply, scale a group, and a refusal with the way out."""
    if no_color:
        os.environ["NO_COLOR"] = "1"  # the commands of the story look there too
    if fleet:
        from reconciler.cli.fleet.demo import play  # noqa: PLC0415 - who watches the other story needs none of it

        return play(page)
    with _temporary_folder() as folder:
        running = embedded.attach(folder)
        say(f"A nats-server of its own runs at {running.url}; the files are examples/orders.\n")
        failed = [
            scene for number, scene in enumerate(STORY, 1) if not _play_scene(number, scene, folder, running, paper())
        ]
    next_command = shlex.join((*_program_words(), "plan", _relative_path(example("orders")), "--dev"))
    say(f"\nThe server and its data are deleted. Your turn: {next_command}\n")
    return exits.FAILED if failed else exits.FINE


def _program_words() -> tuple[str, ...]:
    """Return the command as this program can be run here: without an activated environment it is not on the PATH."""
    if shutil.which("reconciler"):
        return ("reconciler",)
    python = Path(sys.executable)
    program = python.with_name("reconciler")
    return (_relative_path(program),) if program.is_file() else (_relative_path(python), "-m", "reconciler")


def _relative_path(path: Path) -> str:
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    """Work in a temporary folder, and leave neither its server nor its data behind."""
    home = Path.cwd()
    os.environ["RECONCILER_PAGER"] = ""  # the story goes on by itself
    with tempfile.TemporaryDirectory(prefix="reconciler-demo-") as name:
        folder = Path(name)
        copy_example(folder)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(home)
            embedded.stop(folder)


def _play_scene(number: int, scene: DemoStep, folder: Path, running: embedded.Dev, paper: Paper) -> bool:
    if sys.stdout.isatty() and number > 1:
        time.sleep(PAUSE)
    say("\n" + paper.paint(f"── {number}. {scene.heading}", "head") + "\n\n")
    if scene.orders:
        asyncio.run(publish_orders_and_wait(ConnectOptions.to(running.url), scene.orders))
    for line in edit_and_diff(folder, scene):
        say(f"  {_painted_line(line, paper)}\n")
    say("\n" if scene.edit else "")
    say(paper.paint(f"$ reconciler {' '.join(scene.command)}", "head") + "\n")
    code = _run_command(scene)
    say(paper.paint(f"exit {code}", "quiet") + "\n")
    return code == scene.expected


def _run_command(scene: DemoStep) -> int:
    from reconciler.cli.run import run  # noqa: PLC0415 - it knows all commands, this one too

    return run(scene.command)


def _painted_line(line: str, paper: Paper) -> str:
    roles: dict[str, Role] = {"+": "create", "-": "delete"}
    return paper.paint(line, roles.get(line[:1], "quiet"))
