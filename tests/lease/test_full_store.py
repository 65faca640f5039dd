"""A server whose store is full: streams can be made, records cannot, and an apply says so until there is room."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import done
from tests.support.servers import NatsServer

USER = "accounts {a: {jetstream: enabled, users: [{user: a, password: a}]}}\n"
A = "streams: {A: {subjects: [a]}}\n"
B_TOO = "streams: {A: {subjects: [a], max_age: 5d}, B: {subjects: [b], consumers: {c: {ack_policy: explicit}}}}\n"
NOT_RECORDED = "The next plan may show again what is not recorded."


@pytest.fixture(params=[MINORS[0], MINORS[-1]])
def someone(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Someone]:
    with NatsServer(request.param, USER, jetstream={"max_file_store": 40_000}) as server:
        yield somebody(tmp_path, Account(server=server, user="a", password="a"), monkeypatch)


async def filled(js: JetStream) -> None:
    for size in (800, 1):
        for _ in range(1_000):
            answer = await js.pipeline.nc.request("a", b"x" * size, timeout=20)
            if json.loads(answer.data).get("error", {}).get("err_code") == 10023:
                break


async def purged(js: JetStream) -> None:
    done(await js.request("STREAM.PURGE.A"))


async def stream_a(js: JetStream) -> None:
    done(await js.request("STREAM.CREATE.A", {"name": "A", "subjects": ["a"]}))


def test_what_a_full_store_did_not_record_fails_until_there_is_room(someone: Someone) -> None:
    someone.applied(A)
    someone.ask(filled)
    for done_text in ("Applied 3 steps", "Applied nothing"):
        ran = someone.apply(B_TOO)
        said = " ".join((ran.out + ran.err).split())
        assert (ran.code, "LE103" in said, done_text in said, NOT_RECORDED in said) == (1, True, True, True), ran
        assert said.count("make room in the server's store") == 2, ran
        assert ("finds nothing" in said, "allow publishing" in said) == (False, False), ran
    someone.ask(purged)
    someone.applied(B_TOO)
    assert someone.has_nothing_to_do("topology.yaml")


def test_a_first_apply_into_a_full_store_fails_as_well(someone: Someone) -> None:
    someone.ask(stream_a)
    someone.ask(filled)
    ran = someone.apply(A)
    said = " ".join((ran.out + ran.err).split())
    assert (ran.code, NOT_RECORDED in said) == (1, True), ran
    someone.ask(purged)
    someone.applied(A)
    assert someone.has_nothing_to_do("topology.yaml")
