"""Cut anywhere: Ctrl-C, a killed server, two appliers at once, somebody else in between. The next apply finishes."""

from __future__ import annotations

import asyncio
import os
import pty
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from nats.aio.client import Client

from reconciler.server.wire.api import JetStream
from tests.cli.running import PATIENCE, Ran, Shell, command, environment
from tests.e2e.someone import LASTS, Someone, readable, start
from tests.support.accounts import connect
from tests.support.jetstream import done
from tests.support.servers import NatsServer

MANY = 500


def large(streams: int) -> str:
    return "streams:\n" + "".join(f"  S{n:04}: {{subjects: [s.{n}]}}\n" for n in range(streams))


LARGE = large(MANY)


async def told_of(nc: Client) -> Callable[[], Awaitable[None]]:
    """Returns what waits for the first streams of an apply. Told of, as who asks is kept waiting until all of them are made."""
    made = await nc.subscribe("$JS.EVENT.ADVISORY.STREAM.CREATED.*")

    async def some() -> None:
        for _ in range(20):
            await made.next_msg(timeout=PATIENCE)

    return some


async def total(js: JetStream) -> int:
    names = done(await js.request("STREAM.NAMES", {"subject": "s.*"}))
    return int(names["total"])


def test_ctrl_c_says_what_was_done_and_the_next_apply_finishes(someone: Someone) -> None:
    file = someone.write(LARGE)
    ran = someone.interrupted("$JS.API.STREAM.CREATE.S0020", "apply", file, "--yes")
    assert ran.code == 130
    said = re.search(r"Interrupted after ([\d_]+) of 500 steps", ran.out)
    assert said, ran.out[-500:]
    made, there = int(said[1]), someone.ask(total)
    assert 0 < made <= there < MANY
    assert made == there or "In doubt" in ran.out
    assert f"Next: reconciler apply {file}" in ran.out
    assert someone("apply", file, "--yes").code == 0
    assert (someone.ask(total), someone.has_nothing_to_do(file)) == (MANY, True)


@dataclass(frozen=True)
class Alone:
    """The global account of a server of one's own."""

    server: NatsServer

    async def connect(self) -> Client:
        return await connect(self.server.url, "", "")


@pytest.fixture
def mortal() -> Iterator[NatsServer]:
    with NatsServer() as server:
        yield server


def test_a_server_killed_in_the_middle_is_reported_and_the_next_apply_finishes(
    shell: Shell, mortal: NatsServer
) -> None:
    someone = Someone(shell, Alone(mortal), ("--server", mortal.url, "--timeout", "2s"))
    file = someone.write(large(2 * MANY))

    async def killed() -> Ran:
        nc = await someone.place.connect()
        some_are_made = await told_of(nc)
        running = await start(shell, "apply", file, "--yes", *someone.login)
        output = asyncio.ensure_future(running.communicate())  # a full pipe would hold it up
        await some_are_made()
        mortal.kill()
        out, err = await asyncio.wait_for(output, PATIENCE)
        await nc.close()
        return readable(Ran(code=running.returncode or 0, out=out.decode(), err=err.decode()))

    ran = asyncio.run(killed())
    # When the kill strikes is the machine's choice; whenever it does, the last lines say what was and was not done.
    assert (ran.code == 0) == ("Applied 1_000 steps" in ran.out), ran.out[-2000:]
    stopped = "Not everything could be applied" in ran.out or "Stopped (the lease" in ran.out
    assert (ran.code == 1) == stopped, ran.out[-2000:]
    mortal.start()
    assert ran.code != 0 or someone.ask(total) == 2 * MANY, ran.out[-2000:]
    again = someone("apply", file, "--yes")
    assert again.code == 0, again
    assert (someone.ask(total), someone.has_nothing_to_do(file)) == (2 * MANY, True)


def test_a_server_that_restarts_in_the_middle_is_waited_for(shell: Shell, mortal: NatsServer) -> None:
    someone = Someone(shell, Alone(mortal), ("--server", mortal.url))
    file = someone.write(large(2 * MANY))

    async def restarted() -> Ran:
        nc = await someone.place.connect()
        some_are_made = await told_of(nc)
        running = await start(shell, "apply", file, "--yes", *someone.login, **LASTS)
        output = asyncio.ensure_future(running.communicate())
        await some_are_made()
        mortal.kill()
        mortal.start()
        out, err = await asyncio.wait_for(output, PATIENCE)
        await nc.close()
        return readable(Ran(code=running.returncode or 0, out=out.decode(), err=err.decode()))

    ran = asyncio.run(restarted())
    assert (ran.code, "Applied 1_000 steps" in ran.out) == (0, True), ran.out[-2000:]
    assert (someone.ask(total), someone.has_nothing_to_do(file)) == (2 * MANY, True)


def test_two_appliers_at_once_both_end_in_order(someone: Someone) -> None:
    file = someone.write(LARGE.replace("S04", "T04") + "kv_buckets: {CONFIG: {}}\n")

    async def both() -> list[Ran]:
        processes = [await start(someone.shell, "apply", file, "--yes", *someone.login, **LASTS) for _ in range(2)]
        outputs = await asyncio.gather(*(process.communicate() for process in processes))
        return [
            readable(Ran(code=process.returncode or 0, out=out.decode(), err=err.decode()))
            for process, (out, err) in zip(processes, outputs, strict=True)
        ]

    first, second = asyncio.run(both())
    assert (first.code, second.code) == (0, 0), (first.out[-1500:], second.out[-1500:])
    assert someone.has_nothing_to_do(file)


def test_a_stream_changed_between_plan_and_apply_is_left_alone(someone: Someone) -> None:
    """The question on the terminal is when others have time."""
    someone.applied("streams: {A: {subjects: [a]}, B: {subjects: [b]}}\n")
    file = someone.write("streams: {A: {subjects: [a], max_age: 2d}, B: {subjects: [b], max_age: 2d}}\n")

    async def meanwhile() -> Ran:
        ours, theirs = pty.openpty()
        running = await asyncio.create_subprocess_exec(
            *command("apply", file, *someone.login), cwd=someone.shell.folder, env=environment(someone.shell.folder, NO_COLOR="1"),
            stdin=theirs, stderr=theirs, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        while b"Apply this" not in shown:
            shown += await asyncio.to_thread(os.read, ours, 65536)
        nc = await someone.place.connect()
        js = await JetStream.open(nc)
        done(await js.request("STREAM.UPDATE.A", {"name": "A", "subjects": ["a"], "max_age": 10**12}))
        await nc.close()
        os.write(ours, b"y\n")
        out, _ = await running.communicate()
        os.close(ours)
        return Ran(code=running.returncode or 0, out=out.decode(), err="")

    ran = asyncio.run(meanwhile())
    assert (ran.code, "AP103 Did not update stream A" in ran.out) == (1, True), ran.out
    live = someone.ask(lambda js: js.request("STREAM.INFO.A"))
    assert done(live)["config"]["max_age"] == 10**12
    assert done(someone.ask(lambda js: js.request("STREAM.INFO.B")))["config"]["max_age"] == 2 * 86400 * 10**9


def test_the_embedded_server_serves_plan_apply_export_until_it_is_stopped(shell: Shell, tmp_path: Path) -> None:
    someone = Someone(shell, Alone(NatsServer()), ("--dev",))
    file = someone.write("streams: {A: {subjects: [a]}}\n")
    try:
        assert someone("apply", file, "--yes").code == 0
        assert someone.has_nothing_to_do(file)
        assert shell("dev", "status").code == 0
        assert someone("export").out.count("A:") == 1
        assert shell("dev", "stop").code == 0
        assert shell("dev", "status").code == 1
        assert shell("dev", "stop").out == "It was not running.\n"
    finally:
        shell("dev", "wipe", "--yes")
