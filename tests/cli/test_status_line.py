"""What a terminal shows while a command waits: for what, for whom, how long already, and how long at most."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Iterator

import nats
import pytest

from reconciler.changes.events import Waiting
from reconciler.cli.shared.status_line import OFTEN
from reconciler.model import waits
from reconciler.model.waits import Wait, waiting
from reconciler.model.wire.steps import Call, Step
from reconciler.report.outcome import progress_line, start_line, steps_so_far_text
from reconciler.report.words.status import duration_text, status_text
from reconciler.report.words.visible import columns
from reconciler.server.remember.lease import LeaseTerms, leased
from reconciler.server.run.execute import execute
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.cli.running import Shell, command, environment
from tests.lease.test_lease import bucket, holder
from tests.server.test_execute import FORMS
from tests.support.accounts import Account
from tests.support.jetstream import make_consumer, make_stream, talk
from tests.support.lossy import losing
from tests.support.terminal import Terminal


def target(account: Account) -> list[str]:
    return ["--server", account.url, "--user", account.user, "--password", account.password]


async def beginning(words: str) -> Wait:
    """What would be shown, once it is that."""
    while True:  # nothing announces that a wait has begun
        if (found := now()) and words in found.what:
            return found
        await asyncio.sleep(0)


def now() -> Wait | None:
    """What would be shown, once it had lasted."""
    return waits.longest_wait(time.monotonic() + 60)


# -- the words


def test_a_wait_says_for_what_how_long_already_and_how_long_at_most() -> None:
    wait = Wait("for the replicas of ORDERS: n2 not current", since=100, until=700)
    said = status_text("3 of 10 steps  create stream X", wait, 134, 200)
    assert said == (
        "3 of 10 steps  create stream X; waiting for the replicas of ORDERS: n2 not current (34 s of at most 10 min)"
    )


def test_a_wait_without_an_end_says_how_long_it_has_been() -> None:
    assert status_text("", Wait("for another command", since=0), 65, 200) == "waiting for another command (1 min 5 s)"


def test_nothing_is_said_of_waiting_where_nothing_is_waited_for() -> None:
    assert status_text("reading files and account …", None, 0, 200) == "reading files and account …"


def test_the_time_is_said_on_the_narrowest_terminal_and_nothing_is_wider_than_it() -> None:
    for width in (40, 60, 100):
        line = status_text("reading …", Wait(f"for {'宽' * 100}", since=0, until=20), 3, width)
        assert columns(line) < width
        assert line.endswith("… (3 s of at most 20 s)")


def test_whatever_a_server_calls_itself_commands_no_terminal() -> None:
    assert "\x1b" not in status_text("", Wait("for nats-server \x1b[2J to answer", since=0), 3, 100)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (34.4, "34 s"), (60, "1 min"), (125, "2 min 5 s"), (600, "10 min")]
)
def test_times_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration_text(seconds) == said


def test_what_a_gate_waits_for_is_said_once() -> None:
    step = Step(id="g", call=Call.GATE_REPLICAS_CURRENT, on=("S",), address="stream/S", body={})
    assert progress_line(3, 10, step, 100) == steps_so_far_text(3, 10) == "3 of 10 steps"
    assert (start_line(2), start_line(0)) == ("0 of 2 steps", "recording what this topology owns …")


# -- which wait


def test_of_several_waits_the_longest_is_shown_and_none_before_it_is_worth_a_word() -> None:
    moment = time.monotonic()
    with waiting("for one"), waiting("for another"), waiting(""):
        assert waits.longest_wait(moment + 1) is None
        assert (waits.longest_wait(moment + 3) or Wait("", 0)).what == "for one"
        with waiting("for what is known to last", quiet=0):
            assert (waits.longest_wait(time.monotonic()) or Wait("", 0)).what == "for what is known to last"
    assert waits.longest_wait(moment + 3) is None


def test_a_gate_says_what_it_waits_for_and_until_when(account: Account) -> None:
    body = {"names": ["m1"], "timeout": 10_000_000_000}
    gate = Step(id="gate", call=Call.GATE_CONSUMERS_GONE, on=("S",), address="static_group/S/g", body=body)

    async def work(js: JetStream) -> list[Wait | None]:
        await make_stream(js, "S")
        await make_consumer(js, "S", "m1")
        shown = []
        async for event in execute(js, [gate], forms=FORMS):
            if isinstance(event, Waiting):
                shown.append(waits.longest_wait(time.monotonic()))
                await js.request("CONSUMER.DELETE.S.m1")
        return shown

    (shown,) = talk(account, work)
    assert shown is not None
    assert status_text("", shown, shown.since + 4, 200) == "waiting for m1 to leave (4 s of at most 10 s)"
    assert now() is None


def test_whoever_waits_for_a_lease_says_for_whom_and_until_when(account: Account) -> None:
    terms = LeaseTerms(ttl=5, every=1, grace=2)

    async def work(js: JetStream) -> Wait | None:
        await bucket(js)
        async with leased(js, [holder("first")], terms=terms):
            told = asyncio.Event()
            second = leased(js, [holder("second")], terms=terms, tell=lambda _: told.set())
            waiting_for_it = asyncio.create_task(second.__aenter__())
            await told.wait()
            shown = waits.longest_wait(time.monotonic())
        await waiting_for_it
        await second.__aexit__(None, None, None)
        return shown

    shown = talk(account, work)
    assert shown is not None
    assert shown.what.startswith("for topology t, which is being applied by ")
    assert status_text("", shown, shown.since + 2, 200).endswith("(2 s of at most 7 s)")


def test_whoever_asks_again_says_what_was_answered(account: Account) -> None:
    async def work(js: JetStream) -> Wait | None:
        asking = asyncio.create_task(js.repeating_stale_refusals(lambda *_: True).read("STREAM.INFO.NONE"))
        shown = await beginning("asking again")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        return shown

    shown = talk(account, work, within=1)
    assert shown is not None
    assert shown.what == "until STREAM.INFO.NONE is answered, and asking again: stream not found (10059)"
    assert now() is None


def test_an_answer_that_does_not_come_is_waited_for_by_the_name_of_its_server(account: Account) -> None:
    async def work() -> tuple[object, Wait | None]:
        async with losing(account.server.port, b'"streams"') as port:
            nc = await nats.connect(f"nats://127.0.0.1:{port}", user=account.user, password=account.password)
            js = await JetStream.open(nc, within=1)
            asking = asyncio.create_task(js.request("INFO"))
            shown = await beginning("to answer")
            said = await asking
            await js.close()
            await nc.close()
        return said, shown

    said, shown = asyncio.run(work())
    assert not isinstance(said, Refusal)
    assert shown is not None
    assert shown.what == f"for nats-server {account.server.name} to answer $JS.API.INFO"
    assert status_text("", shown, shown.since + 0.6, 100).endswith("(1 s of at most 1 s)")


# -- in front of a terminal


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def test_a_server_that_says_nothing_is_named_while_it_is_waited_for(shell: Shell, silent: int) -> None:
    shell.write("reconciler: 1\ntopology: t\nstreams: {S: {}}\n")
    url = f"nats://127.0.0.1:{silent}"
    words = command("plan", "topology.yaml", "--server", url, "--timeout", "4s")
    with Terminal(words, folder=shell.folder, environ=environment(shell.folder)) as shown:
        line = shown.until(r"of at most 4 s\)")
        assert f"reading files and account; waiting for {url} to let us in (" in line
        code, text = shown.rest()
    assert code == 1
    assert "no greeting came" in text
    assert text.rstrip().endswith("otherwise check the port.")


def test_commands_without_a_line_of_their_own_say_it_too(shell: Shell, silent: int) -> None:
    words = command("export", "--server", f"nats://127.0.0.1:{silent}", "--timeout", "4s")
    with Terminal(words, folder=shell.folder, environ=environment(shell.folder)) as shown:
        assert "waiting for nats://127.0.0.1" in shown.until(r"of at most 4 s\)")


def test_where_nobody_watches_nothing_is_said(shell: Shell, silent: int) -> None:
    ran = shell("export", "--server", f"nats://127.0.0.1:{silent}", "--timeout", "3s", TERM="xterm")
    assert (ran.code, "reading" in ran.err, "waiting" in ran.err, "\r" in ran.err) == (1, False, False, False)


def test_an_apply_that_waits_for_somebody_else_counts_the_seconds(shell: Shell, account: Account) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s]}}\n")
    assert shell("apply", file, "--yes", *target(account)).code == 0
    shell.write("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s], description: new}}\n")
    gone = threading.Event()

    async def hold(js: JetStream) -> None:
        async with leased(js, [holder("first")], terms=LeaseTerms(ttl=20, every=5)):
            held.set()
            await asyncio.to_thread(gone.wait, 60)

    held = threading.Event()
    holding = threading.Thread(target=lambda: talk(account, hold))
    holding.start()
    try:
        held.wait(60)
        words = command("apply", file, "--yes", "--no-color", *target(account))
        with Terminal(words, folder=shell.folder, environ=environment(shell.folder), columns=200) as shown:
            line = shown.until(r"\(2 s of at most 1\d s\)")
            assert "0 of 1 steps; waiting for topology t, which is being applied by " in line.splitlines()[-1]
            gone.set()
            code, text = shown.rest()
    finally:
        gone.set()
        holding.join()
    assert (code, "Applied 1 step" in text, "waiting" in text.splitlines()[-1]) == (0, True, False)


def test_a_question_stands_below_everything_else(shell: Shell, account: Account) -> None:
    file = shell.write("reconciler: 1\ntopology: t\nstreams: {S: {subjects: [s]}}\n")
    words = command("apply", file, "--no-color", *target(account))
    with Terminal(words, folder=shell.folder, environ=environment(shell.folder)) as shown:
        shown.until(r"\[y/N\]: ")
        time.sleep(3 * OFTEN)  # the line is looked at meanwhile, and must not touch the question
        shown.type("n\n")
        assert shown.rest() == (1, "n\nNothing was changed.\n")


ASKING = """
from reconciler.cli.shared.screen import confirm
from reconciler.cli.shared.status_line import LINE
from reconciler.model.waits import waiting
with LINE.refreshed(), waiting("for nothing", quiet=0):
    confirm("Go on?")
"""


def test_a_question_is_not_written_over_by_what_is_waited_for(shell: Shell) -> None:
    words = [sys.executable, "-c", ASKING]
    with Terminal(words, folder=shell.folder, environ=environment(shell.folder)) as shown:
        shown.until(r"\[y/N\]: ")
        time.sleep(3 * OFTEN)
        shown.type("y\n")
        assert shown.rest()[1].startswith("y\n")
