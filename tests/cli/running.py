"""Runs `reconciler …` as a process of its own, in an environment that says nothing about this machine."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import typer

from reconciler.cli.app import COMMANDS, app
from reconciler.cli.shared import exits
from tests.support.forked import forked

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TOPOLOGIES = sorted(path.name for path in EXAMPLES.iterdir() if path.name not in ("ci", "company", "fleet", "policies"))
"""Everything there but the pipelines, and what has values that a fleet gives it."""


PATIENCE = 300
"""Seconds after which a command hangs; on a machine with much to do, some take one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    code: int
    out: str
    err: str


def environment(home: Path, **more: str) -> dict[str, str]:
    """No contexts, no NATS_ variables, no colours of this terminal; and who comes after a killed apply waits less."""
    kept = {name: os.environ[name] for name in ("PATH", "NATS_SERVER_BIN", "SPARK_SUBMIT_OPTS") if name in os.environ}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error",
            "RECONCILER_LEASE_TTL": "8", **more}  # fmt: skip


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "reconciler", *arguments]


@dataclass(frozen=True, slots=True)
class Shell:
    """A folder in which commands run."""

    folder: Path

    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> Ran:
        files = tempfile.TemporaryFile
        with files("w+") as given, files("w+") as out, files("w+") as err:
            given.write(stdin or "")
            given.seek(0)
            running = forked(
                "reconciler", *arguments, folder=self.folder, environment=environment(self.folder, **env),
                streams=(given, out, err),
            )  # fmt: skip
            try:
                code = running.wait(PATIENCE)
            except TimeoutError:
                running.kill()
                raise
            return _as_its_help_says(arguments, Ran(code=code, out=_read(out), err=_read(err)))

    def cold(self, *arguments: str, stdin: str | None = None, **env: str) -> Ran:
        """In a new interpreter."""
        done = subprocess.run(
            command(*arguments), cwd=self.folder, env=environment(self.folder, **env), input=stdin or "",
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return _as_its_help_says(arguments, Ran(code=done.returncode, out=done.stdout, err=done.stderr))

    def write(self, text: str, name: str = "topology.yaml") -> str:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        return name


def on_a_terminal(shell: Shell, answer: str, *arguments: str, **env: str) -> Ran:
    """With a terminal as stdin and stderr, on which somebody types an answer."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command(*arguments), cwd=shell.folder, env=environment(shell.folder, TERM="xterm", **env),
        stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, answer.encode())
    out, _ = running.communicate(timeout=PATIENCE)
    err = b""
    with contextlib.suppress(OSError):  # at its end, as nobody has the terminal any more
        while shown := os.read(ours, 65536):
            err += shown
    os.close(ours)
    return Ran(code=running.returncode, out=out, err=err.decode())


def _as_its_help_says(arguments: Sequence[str], ran: Ran) -> Ran:
    """A command ends with no code but those that its help names; one that is killed has none of its own."""
    if ran.code >= 0:
        assert ran.code in exit_codes(arguments), (
            f"{arguments} ended with {ran.code}, which --help does not name: {ran.err}"
        )
    return ran


def exit_codes(arguments: Sequence[str]) -> set[int]:
    """The codes that the help of the command in this line names; of a line without a command, all there are."""
    command: Any = typer.main.get_command(app)
    words = [" ".join(arguments[:2])] if " ".join(arguments[:2]) in COMMANDS else arguments
    for word in words:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
    named = re.findall(r"(\d+) ", command.epilog or "")
    return set(map(int, named)) or {*exits.MEANINGS}


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
