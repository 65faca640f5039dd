"""Our commands in this process rather than in one each: here they are many, and what is tested is what they do."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

from reconciler.cli.run import run
from tests.cli.running import Ran, Shell


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
