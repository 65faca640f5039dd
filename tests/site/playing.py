"""Does what a page says, from top to bottom, in a folder of its own beside real servers.

Each page is a story: files that it shows are written, edits are made, commands are run, and what they print is compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.cli.running import ROOT, environment
from tests.site import scenes
from tests.site.masks import agrees
from tests.site.page import WIDTH, Block, Example, blocks, examples
from tests.support.binaries import NEWEST, binary
from tests.support.forked import forked
from tests.support.repository import QUIET
from tests.support.servers import NatsServer

PATIENCE = 300
"""Seconds after which a command hangs."""
CONTEXT = re.compile(r"(?:--context |context: )([\w-]+)")
SHELL_WORDS = set("|&;<>$`*")
FRAGMENT = "reconciler: 1\ntopology: page\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A place of a page that is not so."""

    line: int
    said: str
    example: Example | None = None
    printed: tuple[str, ...] = ()


@dataclass
class Stage:
    """Where a page is played: a folder as somebody's working copy, a home, and servers that start when they are wanted."""

    folder: Path
    home: Path
    _servers: dict[str, NatsServer] = field(default_factory=dict)
    _closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def server(self, context: str = "prod") -> NatsServer:
        """The one that this context of the nats CLI leads to; it starts when it is first wanted."""
        if context not in self._servers:
            started = self._servers[context] = self._closing.enter_context(NatsServer())
            contexts = self.home / ".config" / "nats" / "context"
            contexts.mkdir(parents=True, exist_ok=True)
            (contexts / f"{context}.json").write_text(json.dumps({"url": started.url}))
        return self._servers[context]

    def address(self, context: str | None) -> str:
        """Of this context's server, else of the one that commands on this page talk to: the folder's own where there is one."""
        if context:
            return self.server(context).url
        own = self.folder / ".reconciler" / "dev" / "server.json"
        return f"nats://127.0.0.1:{json.loads(own.read_text())['port']}" if own.exists() else self.server().url

    def variables(self) -> dict[str, str]:
        """Of somebody called ana, whose `reconciler` is this one."""
        said = environment(
            self.home, COLUMNS=str(WIDTH), USER="ana", LOGNAME="ana", NATS_SERVER_BIN=str(binary(NEWEST)), **QUIET
        )
        del said["PYTHONWARNINGS"]  # a reader's Python says nothing of what Spark leaves open
        return {**said, "PATH": f"{self.home}/bin:{said['PATH']}", "TZ": "UTC"}

    def run(self, command: str) -> tuple[int, tuple[str, ...]]:
        """Its exit code and everything it printed."""
        with tempfile.TemporaryFile("w+") as out, Path(os.devnull).open() as nothing:
            code = self._started(command, nothing, out)
            out.seek(0)
            return code, tuple(out.read().replace(str(self.folder), "~/work").splitlines())

    def _started(self, command: str, nothing: IO[str], out: IO[str]) -> int:
        words, variables = shlex.split(command), self.variables()
        if words[0] == "reconciler" and not SHELL_WORDS & set(command):
            streams = (nothing, out, out)
            running = forked("reconciler", *words[1:], folder=self.folder, environment=variables, streams=streams)
            return running.wait(PATIENCE)
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=variables, stdin=nothing, stdout=out, stderr=out,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
        return done.returncode

    def close(self) -> None:
        if (self.folder / ".reconciler").exists():
            self.run("reconciler dev stop")
        self._closing.close()


@contextlib.contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """An empty folder `work`, with a home beside it."""
    made = Stage(folder=folder / "work", home=folder / "home")
    made.folder.mkdir()
    (made.home / "bin").mkdir(parents=True)
    shim = made.home / "bin" / "reconciler"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    try:
        yield made
    finally:
        made.close()


def played(page: str, on: Stage) -> Iterator[Finding]:
    """Everything on the page that is not so."""
    for block in blocks(page):
        for context in CONTEXT.findall(block.text):
            on.server(context)
        match block.language:
            case "scene" if block.text.startswith("run "):
                code, printed = on.run(block.text.removeprefix("run "))
                if code:
                    yield Finding(line=block.line, said=f"the scene ended with {code}", printed=printed)
            case "scene":
                scenes.play(block.text, on.folder, on.address)
            case "yaml" | "json" | "toml" | "ini" if block.title:
                yield from _file(block, on)
            case "yaml":
                yield from _topology(block, on)
            case "diff":
                yield from _edit(block, on)
            case "json":
                json.loads(block.text)
            case "console":
                yield from _console(block, on)
            case _:
                pass


def _file(block: Block, on: Stage) -> Iterator[Finding]:
    assert block.title
    path = on.folder / block.title
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text + "\n", encoding="utf-8")
    shown = next((known for known in (ROOT / "examples/ci").rglob("*.y*ml") if block.title.endswith(known.name)), None)
    if block.title.startswith(".git") and (not shown or shown.read_text(encoding="utf-8") != block.text + "\n"):
        yield Finding(line=block.line, said=f"{block.title} is not one of examples/ci")


def _topology(block: Block, on: Stage) -> Iterator[Finding]:
    text = block.text if "\nreconciler:" in f"\n{block.text}" else FRAGMENT + block.text
    if wrong := _validated(text, on):
        yield Finding(line=block.line, said="is not valid", printed=wrong)


def _validated(text: str, on: Stage) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory(dir=on.home) as folder:
        (Path(folder) / "block.yaml").write_text(text + "\n", encoding="utf-8")
        code, printed = on.run(f"reconciler validate {folder}/block.yaml")
    return printed if code else ()


def _edit(block: Block, on: Stage) -> Iterator[Finding]:
    assert block.title, f"line {block.line}: a diff names its file"
    path = on.folder / block.title
    lines = block.text.splitlines()
    before = "\n".join(line[1:] for line in lines if line[:1] != "+")
    after = "\n".join(line[1:] for line in lines if line[:1] != "-")
    text = path.read_text(encoding="utf-8")
    if text.count(before + "\n") != 1:
        yield Finding(line=block.line, said=f"stands {text.count(before)} times in {block.title}")
    path.write_text(text.replace(before + "\n", after + "\n"), encoding="utf-8")


def _console(block: Block, on: Stage) -> Iterator[Finding]:
    for example in examples(block):
        code, printed = on.run(example.command)
        line = example.first + 1
        if code != example.code:
            yield Finding(line=line, said=f"`{example.command}` ended with {code}", example=example, printed=printed)
        elif not agrees(example.output, printed):
            yield Finding(line=line, said=f"`{example.command}` printed", example=example, printed=printed)
