"""`reconciler dev`: this folder's own nats-server, which `--dev` attaches to."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from reconciler.cli.shared import common, exits
from reconciler.cli.shared.screen import confirm, say
from reconciler.testbed import embedded

app = common.new_app(invoke_without_command=True)


@app.callback()
def dev(ctx: typer.Context) -> int:
    """Start this folder's own embedded server, unless it runs already. It stays, with its data.

    The server listens on a free port of 127.0.0.1, and keeps its data under .reconciler/ in this folder.
    """
    if ctx.invoked_subcommand is None:
        running = embedded.attach(Path.cwd())
        say(f"{_description_text(running, 'started' if running.started else 'running')}Stop it: reconciler dev stop\n")
    return exits.FINE


@app.command()
def start() -> int:
    """Start the server, unless it runs already."""
    running = embedded.attach(Path.cwd())
    say(_description_text(running, "started" if running.started else "running"))
    return exits.FINE


@app.command(epilog=exits.epilog(instead={exits.FAILED: "the server does not run"}))
def status() -> int:
    """Show whether the server runs; end with 1 if it does not."""
    running = embedded.status(Path.cwd())
    if running is None:
        say("No embedded server runs for this folder. Start it: reconciler dev\n")
        return exits.FAILED
    say(_description_text(running, "running"))
    return exits.FINE


@app.command()
def stop() -> int:
    """Stop the server. Its data stays."""
    say("Stopped; its data stays.\n" if embedded.stop(Path.cwd()) else "It was not running.\n")
    return exits.FINE


@app.command()
def wipe(yes: common.Yes = False) -> int:
    """Stop the server, and remove everything it stored."""
    if not yes and not sys.stdin.isatty():
        raise common.Misused("There is no terminal to ask on; add --yes to remove the data without being asked.")
    if not yes and not confirm(f"Remove all data of the embedded server of {Path.cwd()}?"):
        return exits.FAILED
    say("Removed.\n" if embedded.wipe(Path.cwd()) else "There was nothing to remove.\n")
    return exits.FINE


def _description_text(running: embedded.Dev, state: str) -> str:
    return f"{state}: {running.url} (pid {running.pid}, log {running.log})\nWith the nats CLI: nats -s {running.url} stream ls\n"
