"""What time and size do to each command: a table of situation × command × what happens × seconds and megabytes.

    python -m tests.size [lines] [streams]      (200000 and 20000, unless other numbers are said)

Seconds are those of the command's own processor, which others on the machine do not change; a smaller run of the same in
front of each large one shows what it costs per line and object.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from reconciler.server.wire.api import JetStream
from tests.bench.workload import yaml
from tests.cli.running import command, environment
from tests.support.accounts import Account, Pool
from tests.support.jetstream import make_stream, talk

SMALLER = 10
"""How many times."""
DISPROPORTIONATE = 2.0
"""Times as much per line or object as in the smaller run: then something is not linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    situation: str
    command: str
    code: int
    wall: float
    seconds: float
    megabytes: int
    last: str

    def __str__(self) -> str:
        return (
            f"{self.situation:24} {self.command:28} exit {self.code:3} {self.wall:8.1f} s {self.seconds:8.1f} s of processor "
            f"{self.megabytes:6} MB  {self.last}"
        )


def ran(situation: str, folder: Path, *arguments: str, login: tuple[str, ...] = ()) -> Row:
    began = time.monotonic()
    with (folder / "out").open("w+") as out:
        process = subprocess.Popen(
            command(*arguments, *login), cwd=folder, env=environment(folder), stdout=out, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / "out").read_text().strip().splitlines() or [""]
    row = Row(
        situation=situation, command=" ".join(arguments), code=process.returncode, wall=time.monotonic() - began,
        seconds=used.ru_utime + used.ru_stime, megabytes=used.ru_maxrss >> 10, last=said[-1].strip()[:90],
    )  # fmt: skip
    print(row, flush=True)
    return row


def of_lines(lines: int, folder: Path) -> Iterator[Row]:
    """A large file: looked at, and reviewed against a base in which every consumer is another."""
    situation = f"{lines} lines"
    topology = folder / "t.yaml"
    topology.write_text(yaml(lines // 38))
    yield ran(situation, folder, "validate", "t.yaml")
    (folder / ".gitignore").write_text("out\n")
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for line in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *line], cwd=folder, check=True)
    topology.write_text(yaml(lines // 38).replace("45s", "46s"))
    for form in ("text", "html", "json"):
        yield ran(situation, folder, "review", "--base", "HEAD", "t.yaml", "--format", form)


def of_a_plan(lines: int, folder: Path, account: Account) -> Iterator[Row]:
    """The same in an account: a saved plan of some 50 MB for 200,000 lines, made and applied."""
    login = ("--server", account.url, "--user", account.user, "--password", account.password, "--timeout", "60s")
    (folder / "t.yaml").write_text(yaml(lines // 38))
    yield ran(f"{lines} lines", folder, "plan", "t.yaml", "--out", "plan.json", login=login)
    situation = f"plan of {(folder / 'plan.json').stat().st_size / 1e6:.1f} MB"
    for line in (
        ("apply", "plan.json", "--yes"), ("plan", "t.yaml"), ("drift", "t.yaml"), ("export", "--output", "live.yaml"),
        ("history", "--format", "json"),
    ):  # fmt: skip
        yield ran(situation, folder, *line, login=login)


def of_streams(streams: int, folder: Path, account: Account) -> Iterator[Row]:
    """An account with so many streams of somebody else, adopted and changed."""
    login = ("--server", account.url, "--user", account.user, "--password", account.password, "--timeout", "60s")

    async def made(js: JetStream) -> None:
        window = asyncio.Semaphore(64)

        async def one(number: int) -> None:
            async with window:
                await make_stream(js, f"S{number:05d}", subjects=[f"s.{number}.>"], storage="memory")

        await asyncio.gather(*map(one, range(streams)))

    talk(account, made)
    situation = f"{streams} streams"
    yield ran(situation, folder, "export", "--output", "live.yaml", "--topology", "t", login=login)
    (folder / "t.yaml").write_text((folder / "live.yaml").read_text())
    for line in (
        ("plan", "t.yaml"), ("apply", "t.yaml", "--yes"), ("plan", "t.yaml"), ("drift", "t.yaml"), ("groups", "doctor"),
    ):  # fmt: skip
        yield ran(situation, folder, *line, login=login)
    changed = (folder / "t.yaml").read_text().replace("storage: memory", "storage: memory\n    max_msgs: 5")
    (folder / "t.yaml").write_text(changed)
    yield ran(situation, folder, "plan", "t.yaml", "--out", "plan.json", login=login)
    yield ran(situation, folder, "apply", "plan.json", "--yes", login=login)


def main() -> int:
    said = [int(one) for one in sys.argv[1:]]
    lines, streams = said if len(said) == 2 else (200_000, 20_000)
    pool, wrong = Pool(), list[str]()
    try:
        for large, work in (
            (lines, of_lines),
            (lines, lambda n, folder: of_a_plan(n, folder, pool.account())),
            (streams, lambda n, folder: of_streams(n, folder, pool.account())),
        ):
            with TemporaryDirectory() as small, TemporaryDirectory() as whole:
                few, many = list(work(large // SMALLER, Path(small))), list(work(large, Path(whole)))
            wrong += [f"{one.command}: exit {one.code}: {one.last}" for one in many if one.code]
            wrong += [
                f"{much.command}: {much.seconds / little.seconds:.1f} times the time for {SMALLER} times the size"
                for little, much in zip(few, many, strict=True)
                if much.seconds > SMALLER * DISPROPORTIONATE * little.seconds
            ]
    finally:
        pool.close()
    print("\n".join(wrong) or "All of it in proportion.")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
