"""What replicas reserve, counted as each version of a real cluster counts them; and accounts with limits by replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.model.resource import Address
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import Snapshot
from reconciler.server.read.observe import observe
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.agreement.case import Case, Live
from tests.agreement.judging import RULES
from tests.agreement.ours import compared, judged
from tests.agreement.sending import send
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.clusters import Cluster
from tests.support.jetstream import make_stream, talk
from tests.support.jwt import Operator
from tests.support.servers import NatsServer
from tests.support.topologies import read

MOST = 10_000
"""Bytes the account may store."""
NEVER: tuple[str, ...] = ()
ALWAYS, SINCE_2_14 = MINORS, ("2.14", "2.15")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    words: str
    live: Mapping[str, Any]
    """(replicas, max_bytes) of what is there."""
    change: tuple[str, int, int]
    """A stream with what it shall have; -1: no limit."""
    refused_by: tuple[str, ...]


ROWS = [
    Row(words="another replicated one", live={"A": (3, 2000)}, change=("B", 3, 2000), refused_by=SINCE_2_14),
    Row(words="replicas of others, which 2.11 forgets", live={"A": (3, 2000)}, change=("B", 1, 4001),
        refused_by=("2.12", *SINCE_2_14)),
    Row(words="all that is left, with one replica", live={"A": (3, 2000)}, change=("B", 1, 4000), refused_by=NEVER),
    Row(words="its own replicas", live={}, change=("A", 3, 4000), refused_by=SINCE_2_14),
    Row(words="no limit needs a byte per replica", live={"A": (3, 3333)}, change=("B", 3, -1), refused_by=SINCE_2_14),
    Row(words="no limit needs one byte of a single replica", live={"A": (3, 3333)}, change=("B", 1, -1), refused_by=NEVER),
    Row(words="a replicated one grows a little", live={"A": (3, 3333)}, change=("A", 3, 3334), refused_by=SINCE_2_14),
    Row(words="a replicated one grows much", live={"A": (3, 2000)}, change=("A", 3, 9000), refused_by=ALWAYS),
    Row(words="an unlimited one gets a limit", live={"A": (3, -1), "B": (1, 9999)}, change=("A", 3, 1),
        refused_by=("2.11", *SINCE_2_14)),
    Row(words="fewer replicas and more bytes", live={"A": (3, 3000), "B": (1, 1000)}, change=("A", 1, 9000),
        refused_by=("2.11", "2.12")),
    # Last, since the servers that accept it answer nobody for some seconds.
    Row(words="more replicas of one among others", live={"A": (1, 3000), "B": (1, 3000)}, change=("A", 3, 3000),
        refused_by=("2.11", *SINCE_2_14)),
]  # fmt: skip


def _config() -> str:
    """An account for each row, named by its number."""
    user = "users: [{{user: a{0}, password: a{0}}}]"
    lines = [f"a{n}: {{jetstream: {{max_file: {MOST}}}, {user.format(n)}}}" for n in range(len(ROWS))]
    return "\n".join(["accounts {", *lines, "SYS: {users: [{user: sys, password: sys}]}", "}", "system_account: SYS\n"])


def _body(replicas: int, max_bytes: int) -> dict[str, int]:
    return {"num_replicas": replicas, "max_bytes": max_bytes}


def _case(row: Row) -> Case:
    name, *wanted = row.change
    live = tuple(Live(on=(stream,), body=_body(*held)) for stream, held in row.live.items())
    return Case(at=Address.of("stream", name), body=_body(*wanted), live=live, edits=name in row.live, room="alone")


async def _seen(js: JetStream, streams: set[str]) -> Snapshot:
    """The account once its list names them all; that of a busy cluster can lack one that has only just been made."""
    while True:
        snapshot = await observe(js)
        if snapshot.streams.keys() >= streams:
            return snapshot
        await asyncio.sleep(0.1)  # nothing announces that a list is whole


async def _said(js: JetStream, case: Case, folder: Path) -> tuple[int, set[int]]:
    """(the server's err_code, those our rules foretell); 0 is ok."""
    for one in case.live:
        await make_stream(js, one.on[0], **one.body)
    snapshot = await _seen(js, {one.on[0] for one in case.live})
    ours = judged(case, snapshot, compared(case, snapshot, folder), {})
    answer = (await send(js, ours, snapshot)).answer
    assert isinstance(answer, Mapping | Refusal), answer
    foretold = {code for verdict in ours.refusing for code in RULES[verdict.code].err_codes}
    return answer.err_code if isinstance(answer, Refusal) else 0, foretold


@pytest.mark.parametrize("minor", MINORS)
def test_reservations_are_counted_as_a_cluster_counts_them(minor: str, tmp_path: Path) -> None:
    with Cluster(minor, _config(), system=("sys", "sys")) as cluster:
        found = {}
        for number, row in enumerate(ROWS):
            account = Account(server=cluster.nodes[0], user=f"a{number}", password=f"a{number}", cluster=cluster)
            found[row.words] = talk(account, partial(_said, case=_case(row), folder=tmp_path), within=60)
    expected = {row.words: 10047 if minor in row.refused_by else 0 for row in ROWS}
    assert {words: answer for words, (answer, _) in found.items()} == expected
    said = {10047: {10047, 10028}, 0: set()}  # the rule speaks of files and of memory
    assert {words: foretold for words, (_, foretold) in found.items()} == {
        words: said[code] for words, code in expected.items()
    }


@dataclass(frozen=True, slots=True)
class Tiered:
    """An account with limits by number of replicas."""

    server: NatsServer
    creds: Path

    async def connect(self) -> Client:
        return await nats.connect(self.server.url, user_credentials=str(self.creds))


ONE = (Live(on=("A",), body={"max_bytes": 1000}),)
TIERS = [
    ("no tier for one replica", {"R3": {"streams": 2}}, (), {}, 10120),
    ("the tier is large enough", {"R1": {"streams": 2, "disk_storage": 2000}}, ONE, {"max_bytes": 1000}, 0),
    ("the tier has its streams", {"R1": {"streams": 1}}, ONE, {}, 10027),
    ("the tier has its bytes", {"R1": {"disk_storage": 1500}}, ONE, {"max_bytes": 501}, 10047),
    ("the tier has its consumers", {"R1": {"consumer": 2}}, (), {"max_consumers": 3}, 10026),
]


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize(("tiers", "live", "body", "says"), [pytest.param(*row, id=words) for words, *row in TIERS])
def test_a_tiered_account_has_the_limits_of_its_tiers(
    minor: str, tiers: dict[str, Any], live: tuple[Live, ...], body: dict[str, Any], says: int, tmp_path: Path
) -> None:
    operator = Operator(tiers)
    creds = tmp_path / "user.creds"
    creds.write_text(operator.creds())
    case = Case(at=Address.of("stream", "B"), body=body, live=live, room="alone")
    with NatsServer(minor, operator.config) as server:
        answer, foretold = talk(Tiered(server, creds), partial(_said, case=case, folder=tmp_path))
    if minor == "2.11" and says == 10027:
        says = 0  # it counts no streams for a request that leaves the replicas out
    assert answer == says
    assert (says in foretold) if says else not foretold


FEW = "streams: {A: {}, B: {max_bytes: 1MiB}, D: {num_replicas: 3, max_bytes: 1MiB}}\n"
MORE = FEW.replace("A: {}, ", "A: {}, C: {}, ")
BY_TIER = {"R1": {"streams": 4}, "R3": {"streams": 5}}
FULL_TIER = MORE.replace("A: {}, ", "A: {}, F: {}, ")
"""One stream more at a time: a cluster of 2.11 also counts creations of other tiers while they are under way."""
OVERFULL = FULL_TIER.replace("num_replicas: 3, ", "")
EMPTIED = FULL_TIER.replace("C: {}, ", "G: {}, ") + "removed: [{address: stream/C, reason: done with it}]\n"
EXCHANGED = "streams: {A: {}, B: {num_replicas: 3, max_bytes: 1MiB}, F: {}, D: {num_replicas: 3, max_bytes: 1MiB}, G: {}, H: {}}\n"


async def _applied(text: str, js: JetStream, folder: Path) -> Finished:
    planned = await plan(read(folder, text, "t"), js, RunOptions())
    assert not planned.plan.blocked, [verdict.message for one in planned.plan.blocked for verdict in one.verdicts]
    return [event async for event in apply(planned, js) if isinstance(event, Finished)][-1]


class Trusting(Cluster):
    """A cluster in operator mode."""

    async def _connect(self, login: tuple[str, str]) -> Client:
        return await nats.connect(self.url, user_credentials=login[0], allow_reconnect=False, connect_timeout=2)


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_what_a_plan_counts_in_each_tier_is_what_a_cluster_counts(minor: str, tmp_path: Path) -> None:
    """Reconciler's own bucket takes no place of a stream with one replica, and a new stream waits for who leaves its tier."""
    operator, creds, system = Operator(BY_TIER), tmp_path / "user.creds", tmp_path / "system.creds"
    creds.write_text(operator.creds())
    system.write_text(operator.creds(of_system=True))

    async def work(js: JetStream) -> None:
        for text in (FEW, MORE, FULL_TIER, OVERFULL, EMPTIED, EXCHANGED):
            finished = await _applied(text, js, tmp_path / "files")
            assert finished.is_success, (text, finished.failed)

    with Trusting(minor, operator.config, system=(str(system), ""), user=(str(creds), "")) as cluster:
        talk(Tiered(cluster.nodes[0], creds), work, within=120)
