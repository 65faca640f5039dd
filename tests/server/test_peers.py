"""How many servers there are, as a plain user learns it: the plan says what a cluster refuses for want of servers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.questions import Peers, Unanswered
from reconciler.server.read import target
from reconciler.server.read.observe import ask, observe
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account, accounts_config
from tests.support.binaries import MINORS
from tests.support.clusters import SYSTEM, cluster
from tests.support.jetstream import make_stream, talk
from tests.support.servers import running
from tests.support.topologies import TODAY, read

MOVE_AND_SCALE = 10123
"""The answer to another placement and another number of replicas in one update, which a plan makes two."""
CASES: dict[str, dict[str, Any]] = {
    "R4": {"num_replicas": 4},
    "R5": {"num_replicas": 5},
    "R5 elsewhere": {"num_replicas": 5, "placement": {"cluster": "C2"}},
    "R4 tagged": {"num_replicas": 4, "placement": {"tags": ["all"]}},
    "R3": {"num_replicas": 3},
    "R3 where one server is": {"num_replicas": 3, "placement": {"tags": ["node:1"]}},
    "R3 tagged": {"num_replicas": 3, "placement": {"tags": ["all"]}},
    "R1 where one server is": {"num_replicas": 1, "placement": {"tags": ["node:1"]}},
    "R1 where none is": {"num_replicas": 1, "placement": {"tags": ["node:1", "node:2"]}},
    "R1 elsewhere": {"num_replicas": 1, "placement": {"cluster": "C2"}},
    "R1 in capitals": {"num_replicas": 1, "placement": {"tags": ["NODE:1"]}},
    "R1 with a space": {"num_replicas": 1, "placement": {"tags": [" node:1"]}},
    "R1 where one server is not": {"num_replicas": 1, "placement": {"tags": ["!Node:1"]}},
    "R3 where one server is not": {"num_replicas": 3, "placement": {"tags": ["!node:1"]}},
}


@pytest.mark.parametrize("minor", MINORS)
def test_more_replicas_than_servers_are_refused_as_the_cluster_refuses_them(minor: str, tmp_path: Path) -> None:
    async def work(js: JetStream) -> dict[str, tuple[bool, bool]]:
        await make_stream(js, "LIVE", subjects=["live"])
        found = {}
        for number, (name, config) in enumerate(CASES.items()):
            for stream in (f"S{number}", "LIVE"):
                subjects = [stream.lower()]
                text = f"streams: {json.dumps({stream: {'subjects': subjects, **config}})}"
                wanted = read(tmp_path / f"{number}{stream}", text)
                made = await plan_from_snapshot(wanted, await observe(js), js, RunOptions(today=TODAY))
                ours = any(v.blocks for change in made.plan.changes for v in change.verdicts if v.code == "XX227")
                verb = "UPDATE" if stream == "LIVE" else "CREATE"
                said = await js.write(f"STREAM.{verb}.{stream}", {"name": stream, "subjects": subjects, **config})
                if not (isinstance(said, Refusal) and said.err_code == MOVE_AND_SCALE):
                    found[f"{verb} {name}"] = (ours, isinstance(said, Refusal))
        return found

    with cluster(minor, config=accounts_config(1), system=SYSTEM, user=("a0", "a0")) as nodes:
        said = talk(Account(server=nodes.nodes[0], user="a0", password="a0"), work)
    assert {name: pair for name, pair in said.items() if pair[0] != pair[1]} == {}
    assert sum(ours for ours, _ in said.values()) == (13 if minor == "2.11" else 12)  # 2.11 knows no `!`


def test_a_server_that_has_reloaded_hides_the_others_and_nothing_is_refused_for_it(tmp_path: Path) -> None:
    tagged = {"subjects": ["s"], "placement": {"tags": ["node:1"]}}

    async def work(js: JetStream) -> tuple[list[str], object]:
        wanted = read(tmp_path, f"streams: {json.dumps({'S': tagged})}")
        made = await plan_from_snapshot(wanted, await observe(js), js, RunOptions(today=TODAY))
        said = [
            v.message for change in made.plan.changes for v in change.verdicts if v.code == "XX227" and not v.blocks
        ]
        answer = await js.write("STREAM.CREATE.S", {"name": "S", **tagged})
        await js.write("STREAM.DELETE.S", {})
        return said, answer

    with cluster(config=accounts_config(1), system=SYSTEM, user=("a0", "a0")) as nodes:
        asked, said, reloads = nodes.nodes[0], list[str](), 0
        while not said and reloads < 5:  # one reload in ten hides nobody
            os.kill(asked.pid, signal.SIGHUP)
            reloads, until = reloads + 1, time.monotonic() + 20
            while asked.log.count("Reloaded server configuration") < reloads:
                assert time.monotonic() < until, asked.log
                time.sleep(0.05)  # the log announces it
            said, answer = talk(Account(server=asked, user="a0", password="a0"), work)
    assert not isinstance(answer, Refusal)
    assert [text for text in said if "one server alone answered, as after a reload of its configuration" in text]


def test_who_may_not_ask_learns_that_nobody_knows() -> None:
    user = "{user: u, password: p, permissions: {publish: {deny: '$SYS.REQ.ACCOUNT.>'}}}"
    config = f"accounts {{ A: {{jetstream: enabled, users: [{user}]}} }}"

    async def work(js: JetStream) -> object:
        return (await ask(js, [Peers(least=5)]))[Peers(least=5)]

    with running(config=config) as server:
        said = talk(Account(server=server, user="u", password="p"), work)
    assert isinstance(said, Unanswered)


def test_as_many_servers_as_a_placement_needs_are_waited_for_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "AFTER_THE_LAST", 60)
    found, missing = Peers(least=3, placement=("", ("all",))), Peers(least=4, placement=("", ("all",)))

    async def work(js: JetStream) -> bool:
        js.timeout = 60
        async with asyncio.timeout(30):
            await ask(js, [found])
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await ask(js, [missing])
        return True

    with cluster(config=accounts_config(1), system=SYSTEM, user=("a0", "a0")) as nodes:
        assert talk(Account(server=nodes.nodes[0], user="a0", password="a0"), work)
