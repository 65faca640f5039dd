"""Runs the reference's `cg`: its commands, and members that consume and print what they got."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.support.accounts import Account

PATIENCE = 60.0
"""Seconds; what is waited for takes a few, this is for machines under load."""

_GOT = re.compile(r"\[(\S+)\] subject=(\S+), seq=(\d+)")


class Ran(NamedTuple):
    code: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cg:
    """The program, logged in to one account by a selected context of its own."""

    program: Path
    home: Path

    @classmethod
    def logged_in(cls, program: Path, home: Path, account: Account) -> Cg:
        contexts = home / "nats" / "context"
        contexts.mkdir(parents=True)
        context = {"url": account.url, "user": account.user, "password": account.password}
        (contexts / "test.json").write_text(json.dumps(context))
        (home / "nats" / "context.txt").write_text("test")  # it connects before it reads its own --context
        return cls(program=program, home=home)

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        done = subprocess.run(
            self.command(*arguments), env=self.environment(), input=stdin,
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout + done.stderr)

    def did(self, *arguments: str, stdin: str = "") -> str:
        """What a command that must succeed says."""
        ran = self(*arguments, stdin=stdin)
        assert ran.code == 0, ran
        return ran.said

    def command(self, *arguments: str) -> list[str]:
        return [str(self.program), *arguments]

    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home)}


class Got(NamedTuple):
    """A message that an instance began to work on."""

    member: str
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class Instance:
    process: subprocess.Popen[bytes]
    said: Path

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None


@dataclass(slots=True)
class Members:
    """Instances of members. All of them append what they got to one file, so that its order is the order of work."""

    cg: Cg
    started: list[Instance] = field(default_factory=list)

    def join(self, type_: str, stream: str, group: str, *names: str, sleep: str = "1ms") -> list[Instance]:
        return [self._join(type_, stream, group, name, sleep) for name in names]

    def _join(self, type_: str, stream: str, group: str, name: str, sleep: str) -> Instance:
        said = self.cg.home / f"{name}-{len(self.started)}.log"
        command = self.cg.command(type_, "--sleep", sleep, "consume", stream, group, name)
        with self._file.open("ab") as got, said.open("wb") as errors:
            process = subprocess.Popen(
                command, env=self.cg.environment(), stdin=subprocess.DEVNULL, stdout=got, stderr=errors
            )
        self.started.append(Instance(process, said))
        return self.started[-1]

    @property
    def _file(self) -> Path:
        return self.cg.home / "got"

    def got(self) -> list[Got]:
        """Everything any instance began to work on, in that order; subjects are `….<key>.<number>`."""
        text = self._file.read_text(errors="replace") if self._file.exists() else ""
        found = []
        for member, subject, _ in _GOT.findall(text):
            *_, key, number = subject.split(".")
            found.append(Got(member, key, int(number)))
        return found

    def wait_for(self, what: Callable[[list[Got]], bool], doing: str) -> list[Got]:
        """Polls: the instances announce nothing but what they print."""
        deadline = time.monotonic() + PATIENCE
        while not what(got := self.got()):
            assert time.monotonic() < deadline, f"{doing}: not within {PATIENCE:g} s; {len(got)} messages so far"
            time.sleep(0.05)
        return got

    def wait_for_more(self, number: int, doing: str) -> list[Got]:
        enough = len(self.got()) + number
        return self.wait_for(lambda got: len(got) >= enough, doing)

    def end(self) -> None:
        for instance in self.started:
            instance.process.kill()
        for instance in self.started:
            instance.process.wait()
