"""Our commands in this process rather than in one each: here they are many, and what is tested is what they do."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconciler.cli.run import run
from tests.cli.running import Ran, Shell
from tests.e2e.someone import Someone, login
from tests.support.accounts import Account


@dataclass(frozen=True, slots=True)
class Here(Shell):
    def __call__(self, *arguments: str, stdin: str | None = None, **env: str) -> Ran:
        assert stdin is None and not env, "for these start a process"
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(arguments)
        return Ran(code=code, out=_said(out), err=_said(err))


def _said(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def somebody(folder: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    """Logged in to the account, in an environment that says nothing about this machine."""
    monkeypatch.setenv("HOME", str(folder))
    for name in [name for name in os.environ if name.startswith(("NATS_", "XDG_"))]:
        monkeypatch.delenv(name)
    return Someone(Here(folder), account, login(account))
