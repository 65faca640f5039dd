"""What each command costs an object in a small account and in one ten times as large: it must not grow.

    python -m tests.bench.curve [streams]      (1000 and ten times as many, with five consumers each)

Seconds are those of the command's own processor, less what it takes to start, so that other load does not count; megabytes
are the most it had at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.workload import CONSUMERS, yaml
from tests.cli.running import command, environment
from tests.support.accounts import Account, Pool

STREAMS = 1_000
TIMES = 10
ALLOWED = 1.3
"""Times as much an object in the larger account."""
LEAST = 0.5
"""Seconds below which a command at the smaller size is too short to be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One command as it ran."""

    what: str
    code: int
    seconds: float
    megabytes: int
    clock: float
    last: str
    """Of what it said."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Runs the command line in one folder, on one account."""

    folder: Path
    login: tuple[str, ...] = ()

    def __call__(self, what: str, *arguments: str) -> Cost:
        began = time.monotonic()
        with (self.folder / "out").open("w+") as out:
            process = subprocess.Popen(
                command(*arguments, *self.login), cwd=self.folder, env=environment(self.folder), stdout=out,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        said = (self.folder / "out").read_text().strip().splitlines() or [""]
        cost = Cost(
            what=what, code=process.returncode, seconds=used.ru_utime + used.ru_stime, megabytes=used.ru_maxrss >> 10,
            clock=time.monotonic() - began, last=said[-1].strip()[:90],
        )  # fmt: skip
        print(f"  {what:32} {cost.seconds:7.1f} s {cost.megabytes:6} MB {cost.clock:7.1f} s by the clock  {cost.last}")
        return cost


def of_files(streams: int, run: Commands) -> Iterator[Cost]:
    """A large file: looked at, and reviewed against a base in which every consumer is another."""
    topology = run.folder / "t.yaml"
    topology.write_text(yaml(streams))
    yield run("validate", "validate", "t.yaml")
    (run.folder / ".gitignore").write_text("out\n")
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for line in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *line], cwd=run.folder, check=True)
    topology.write_text(yaml(streams).replace("45s", "46s"))
    for form in ("text", "html", "json"):
        yield run(f"review, {form}", "review", "--base", "HEAD", "t.yaml", "--format", form)


def of_an_account(streams: int, run: Commands) -> Iterator[Cost]:
    """The same made in an account, looked at and changed."""
    topology = run.folder / "t.yaml"
    topology.write_text(yaml(streams))
    yield run("plan of creations", "plan", "t.yaml", "--out", "plan.json")
    yield run("plan of creations, html", "plan", "t.yaml", "--format", "html")
    yield run("apply of a saved plan", "apply", "plan.json", "--yes")
    yield run("plan of nothing", "plan", "t.yaml")
    yield run("drift", "drift", "t.yaml")
    yield run("export", "export", "--output", "live.yaml")
    topology.write_text(yaml(streams).replace("45s", "46s"))
    yield run("plan of updates", "plan", "t.yaml")
    yield run("apply of updates", "apply", "t.yaml", "--yes")
    yield run("history", "history", "--format", "json")


def measured(streams: int, account: Account) -> list[Cost]:
    print(f"{streams * (CONSUMERS + 1):,} objects", flush=True)
    login = ("--server", account.url, "--user", account.user, "--password", account.password, "--timeout", "60s")
    with TemporaryDirectory() as files, TemporaryDirectory() as there:
        return [*of_files(streams, Commands(Path(files))), *of_an_account(streams, Commands(Path(there), login))]


def main() -> int:
    streams = int(sys.argv[1]) if len(sys.argv) > 1 else STREAMS
    pool = Pool()
    try:
        few, many = measured(streams, pool.account()), measured(streams * TIMES, pool.account())
        with TemporaryDirectory() as folder:
            start = Commands(Path(folder))("start", "explain", "ST301").seconds
    finally:
        pool.close()
    wrong = [f"{one.what}: exit {one.code}: {one.last}" for one in (*few, *many) if one.code]
    print(f"{'':32} µs an object {'':8} growth   MB")
    for little, much in zip(few, many, strict=True):
        small, large = ((one.seconds - start) / (streams * (CONSUMERS + 1)) for one in (little, much))
        growth = large / TIMES / small
        print(
            f"{little.what:32} {small * 1e6:7.0f} → {large / TIMES * 1e6:7.0f} {growth:8.2f}  {little.megabytes} → {much.megabytes}"
        )
        if growth > ALLOWED and little.seconds > LEAST:
            wrong.append(f"{little.what}: {growth:.2f} times as much an object (allowed {ALLOWED})")
    print("\n".join(wrong) or "Flat.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
