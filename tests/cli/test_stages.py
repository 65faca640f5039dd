"""`apply --stages canary:5m,10%,rest`: a stage begins when the one before was applied, plans empty, and stayed without
drift for its time."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.cli.running import PATIENCE, Ran, Shell, command, environment, on_a_terminal
from tests.e2e.someone import LASTS, ctrl_c, start
from tests.faults.wire import Point, Request, Side
from tests.support.accounts import Account

TEXT = """\
reconciler: 1
topology: orders
environments: {canary: {context: canary}, eu: {context: eu}, us: {context: us}}
streams:
  ORDERS: {subjects: [orders.>], max_age: 7d}
"""
STAGES = ("apply", "topology.yaml", "--yes", "--stages")


class Places(dict[str, Account]):
    """An account and a context for each environment, and a shell whose contexts they are."""

    def __init__(self, shell: Shell, new_account: Callable[..., Account]) -> None:
        super().__init__({name: new_account() for name in ("canary", "eu", "us")})
        self.shell = shell
        shell.write(TEXT)
        self.home = {"XDG_CONFIG_HOME": str(shell.folder / "config")}
        folder = shell.folder / "config" / "nats" / "context"
        folder.mkdir(parents=True)
        for name, account in self.items():
            self.tell(name, account.url)

    def tell(self, name: str, url: str) -> None:
        """Where an environment is."""
        said = {"url": url, "user": self[name].user, "password": self[name].password}
        path = self.shell.folder / "config" / "nats" / "context" / f"{name}.json"
        path.write_text(json.dumps(said), encoding="utf-8")

    def __call__(self, *arguments: str) -> Ran:
        return self.shell(*arguments, **self.home)

    def publish(self, name: str, number: int) -> None:
        """Somebody publishes to ORDERS there."""

        async def published() -> None:
            client = await self[name].connect()
            try:
                for _ in range(number):
                    await client.publish("orders.new", b"x")
                await client.flush()
            finally:
                await client.close()

        asyncio.run(published())

    @property
    def totals(self) -> list[int]:
        """How many streams each holds, but for our own."""
        listed = [account.ask("STREAM.LIST") for account in self.values()]
        return [one["total"] - bool(one["total"]) for one in listed]

    @property
    def with_orders(self) -> list[str]:
        return [name for name in self if "config" in self[name].ask("STREAM.INFO.ORDERS")]


@pytest.fixture
def places(shell: Shell, new_account: Callable[..., Account]) -> Places:
    return Places(shell, new_account)


@contextmanager
def running(places: Places, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], IO[str], Path]]:
    """A command whose output is read line by line, while it runs."""
    errors = places.shell.folder / "errors"
    with errors.open("w") as err, subprocess.Popen(
        command(*arguments), cwd=places.shell.folder, env=environment(places.shell.folder, **places.home),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True,
    ) as begun:  # fmt: skip
        assert begun.stdout is not None
        try:
            yield begun, begun.stdout, errors
        finally:
            begun.kill()


def until(lines: IO[str], word: str) -> str:
    """What it says up to a line with this word."""
    said = ""
    for line in lines:
        said += line
        if word in line:
            return said
    raise AssertionError(f"never said {word}: {said}")


def test_stage_by_stage_every_environment_is_applied_and_the_canary_first(places: Places) -> None:
    ran = places(*STAGES, "canary,50%,rest")
    assert (ran.code, ran.err) == (0, ""), ran
    told = re.findall(
        r"^(Stage \d of 3, .*|orders in \w+: Applied|Stage \d passed|3 env.*)$", ran.out.replace(" 1 step", "\n"), re.M
    )
    assert told == [
        "Stage 1 of 3, canary: canary", "orders in canary: Applied",
        "Stage 2 of 3, 50%: eu", "orders in eu: Applied",
        "Stage 3 of 3, rest: us", "orders in us: Applied", "3 environments: 3 applied",
    ]  # fmt: skip
    assert ran.out.index("orders in us →") < ran.out.index("Stage 1 of 3"), "all plans are shown before the first stage"
    assert places.with_orders == ["canary", "eu", "us"]
    again = places(*STAGES, "canary:1h,rest:1h")
    assert (again.code, again.out.splitlines()[-1]) == (0, "3 environments: 3 unchanged")


def test_one_refusal_anywhere_keeps_the_first_stage_from_being_begun(places: Places) -> None:
    places["us"].ask("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"], "storage": "memory"})
    ran = places(*STAGES, "canary,rest")
    assert ran.code == 4, ran
    assert ran.out.splitlines()[-1] == "3 environments: 2 not begun, 1 refused"
    assert "Nothing was applied, because not everything can be." in ran.err
    assert places.with_orders == ["us"]


def test_an_environment_that_does_not_answer_keeps_the_first_stage_from_being_begun(places: Places) -> None:
    places.shell.write(TEXT.replace("us: {context: us}", "us: {server: 'nats://127.0.0.1:1'}"))
    ran = places(*STAGES, "canary,rest")
    assert (ran.code, "us: Cannot reach nats://127.0.0.1:1" in " ".join(ran.err.split())) == (1, True), ran
    assert ran.out.splitlines()[-1] == "3 environments: 2 not begun, 1 failed"
    places.shell.write(TEXT)
    assert places.with_orders == []


def test_drift_within_the_time_of_a_stage_stops_before_the_next(places: Places) -> None:
    with running(places, *STAGES, "canary:30m,eu,rest") as (begun, lines, _):
        until(lines, "orders in canary: Applied")
        config = places["canary"].ask("STREAM.INFO.ORDERS")["config"]
        places["canary"].ask("STREAM.UPDATE.ORDERS", {**config, "max_age": 86_400_000_000_000})
        said = lines.read().splitlines()
        assert begun.wait(PATIENCE) == 1
    assert said[-4:] == [
        "Stage 1, canary: not passed, because canary drifted: `stream/ORDERS`",
        "Stage 2, eu: not begun (eu)",
        "Stage 3, rest: not begun (us)",
        "3 environments: 2 not begun, 1 applied",
    ]
    assert places.with_orders == ["canary"]


def test_what_drifts_is_said_as_drift(places: Places) -> None:
    """What an apply would put back does not plan empty either: what somebody did comes first."""
    with running(places, *STAGES, "canary:30m,rest") as (_, lines, _):
        until(lines, "orders in canary: Applied")
        places["canary"].ask("STREAM.DELETE.ORDERS")
        assert "not passed, because canary drifted: `stream/ORDERS`" in until(lines, "Stage 1, canary")


def test_a_stage_that_is_not_applied_stops_before_the_next(places: Places) -> None:
    """Somebody creates the stream by hand after its plan was shown: what was agreed to is not what would be done now."""
    with running(places, *STAGES, "canary:2s,eu,rest", "--report", "json=r.json") as (begun, lines, errors):
        until(lines, "Stage 1 of 3")
        places["eu"].ask("STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": ["orders.>"], "max_age": 10**12})
        said = lines.read().splitlines()
        assert begun.wait(PATIENCE) == 1
    assert said[-4:] == [
        "Stage 1, canary: done",
        "Stage 2, eu: not passed, because eu: failed",
        "Stage 3, rest: not begun (us)",
        "3 environments: 1 applied, 1 failed, 1 not begun",
    ]
    assert "eu: the plan is no longer the one that was shown before the first stage" in " ".join(
        errors.read_text().split()
    )
    assert places["eu"].ask("STREAM.INFO.ORDERS")["config"]["max_age"] == 10**12
    last = json.loads((places.shell.folder / "r.json").read_text())["reports"][-1]["diagnostics"][0]
    assert (last["code"], "stage 1 (`canary`) done; stage 2 (`eu`) not passed" in last["message"]) == ("XX928", True)


LOWERED = TEXT.replace("max_age: 7d", "max_age: 7d, max_msgs: 10, allow: [{code: ST301, to: 10, reason: small}]")
REMOVED = TEXT.partition("streams:")[0] + "streams: {OTHER: {}}\nremoved: [{address: stream/ORDERS, reason: old}]\n"


@pytest.mark.parametrize(
    ("text", "shown", "messages"), [(LOWERED, "10 of 20 messages", 10), (REMOVED, "deletes 20 messages", 20)]
)
def test_a_stage_that_would_lose_more_than_was_shown_is_not_applied(
    places: Places, text: str, shown: str, messages: int
) -> None:
    """A thousand messages come in while the canary stays."""
    assert places(*STAGES, "canary,rest").code == 0
    places.publish("eu", 20)
    places.shell.write(text)
    with running(places, *STAGES, "canary:2s,eu,rest") as (begun, lines, errors):
        assert shown in " ".join(until(lines, "Stage 1 of 3").split())
        places.publish("eu", 1_000)
        assert "Stage 2, eu: not passed, because eu: failed" in lines.read().splitlines()
        assert begun.wait(PATIENCE) == 1
    told = " ".join(errors.read_text().split())
    assert "eu: more would be lost than was shown before the first stage" in told
    assert f"stream/ORDERS, the plan said {messages} messages" in told
    assert places["eu"].ask("STREAM.INFO.ORDERS")["state"]["messages"] == 1_020


def test_ctrl_c_while_a_stage_stays_begins_no_other_and_says_so(places: Places) -> None:
    with running(places, *STAGES, "canary:30m,rest") as (begun, lines, errors):
        until(lines, "orders in canary: Applied")
        begun.send_signal(signal.SIGINT)
        said = lines.read().splitlines()
        assert begun.wait(PATIENCE) == 130
    assert said[-3:] == [
        "Stage 1, canary: not passed, because the run was interrupted", "Stage 2, rest: not begun (eu, us)",
        "3 environments: 2 not begun, 1 applied",
    ]  # fmt: skip
    assert "Traceback" not in errors.read_text()
    assert places.with_orders == ["canary"]


@pytest.mark.parametrize(("answer", "code", "applied"), [("y\n", 0, ["canary", "eu", "us"]), ("\n", 1, [])])
def test_on_a_terminal_all_plans_are_shown_and_one_question_is_asked(
    places: Places, answer: str, code: int, applied: list[str]
) -> None:
    ran = on_a_terminal(places.shell, answer, "apply", "topology.yaml", "--stages", "canary,rest", **places.home)
    assert (ran.code, places.with_orders) == (code, applied), ran
    assert ran.err.count("[y/N]") == 1
    assert ran.out.count("+ stream/ORDERS") == 3
    assert ("Nothing was changed." in ran.err) == (not applied)


MANY = 300
"""Streams, so that no environment is done while another has begun."""


@pytest.mark.parametrize("how", [("--environment", "*", "--parallel", "3"), ("--stages", "canary,rest")], ids=" ".join)
def test_ctrl_c_while_several_are_applied_says_of_each_what_was_done_and_the_next_apply_finishes(
    places: Places, how: tuple[str, ...]
) -> None:
    streams = "".join(f"  S{number:04}: {{subjects: [s.{number}]}}\n" for number in range(MANY))
    places.shell.write(TEXT + streams)
    places.home |= LASTS
    cut = "canary" if "--parallel" in how else "eu"

    def begin(port: int) -> Awaitable[Process]:
        places.tell(cut, f"nats://127.0.0.1:{port}")
        return start(places.shell, "apply", "topology.yaml", "--yes", *how, **places.home)

    at = Point(Request("$JS.API.STREAM.CREATE.S0020", 1), Side.REPLY)
    ran = asyncio.run(ctrl_c(places[cut].server.port, at, begin))
    places.tell(cut, places[cut].url)
    assert ran.code == 130, ran
    said = [int(number.replace("_", "")) for number in re.findall(r"(?:Interrupted after|Applied) ([\d_]+)", ran.out)]
    assert sorted(filter(None, said)) == sorted(filter(None, places.totals)), ran
    assert "interrupted" in ran.out.splitlines()[-1]
    again = places("apply", "topology.yaml", "--yes", *how)
    assert again.code == 0, again
    assert places.totals == [MANY + 1] * 3


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        (("canry,rest",), 1, "no environment is meant by stage `canry`; did you mean `canary`?"),
        (("canary",), 1, "no stage has `eu`, `us`"),
        (("canary,rest", "--environment", "eu"), 64, "--environment eu is one"),
        (("canary,rest", "--only", "stream/ORDERS"), 64, "--only works on one"),
        (("canary,rest", "--backup", "b"), 64, "--backup works on one"),
    ],
)
def test_wrong_stages_are_told_before_any_server_is_asked(
    shell: Shell, said: tuple[str, ...], code: int, why: str
) -> None:
    shell.write(re.sub(r"\{context: \w+\}", "{server: 'nats://127.0.0.1:1'}", TEXT))
    ran = shell(*STAGES, *said)
    text = " ".join(ran.err.split())
    assert (ran.code, why in text, "Cannot reach" in text) == (code, True, False), ran


def test_tools_get_one_document_of_all_stages(places: Places) -> None:
    ran = places(*STAGES, "canary,rest", "--format", "json")
    told = json.loads(ran.out)["reports"]
    assert [(one["environment"], one["exit_code"], len(one["done"])) for one in told] == [
        ("canary", 0, 1), ("eu", 0, 1), ("us", 0, 1),
    ], ran  # fmt: skip
