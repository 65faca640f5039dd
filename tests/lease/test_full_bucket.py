"""A bucket `reconciler` that is full: old runs make room by themselves; where that is not enough, it is told as what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reconciler.memory.journal import begun_key, changes_key
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done
from tests.support.versions import on_every_version

AB = "streams: {A: {subjects: [a]}, B: {subjects: [b]}}\n"
REMOVED = "streams: {B: {subjects: [b]}}\nremoved: [{address: stream/A, reason: done with it}]\n"


async def bounded(js: JetStream) -> None:
    config = done(await js.request("STREAM.INFO.KV_reconciler"))["config"]
    done(await js.request("STREAM.UPDATE.KV_reconciler", {**config, "max_bytes": 200_000}))


async def full_of_runs(js: JetStream) -> None:
    """Of two topologies, until not one byte more is taken."""
    for number in range(1_000_000, 1_000_100):
        begun = json.dumps({"format": 1, "topology": f"t{number % 2}", "changes": 1}).encode()
        await js.put_entry("reconciler", begun_key(number), begun, expected_revision=0)
        await js.put_entry("reconciler", changes_key(number, 0), b"x" * 10_000, expected_revision=0)
    await filled(js)


async def filled(js: JetStream) -> None:
    for size in (10_000, 1_000, 100, 1):
        for number in range(1_000):
            said = await js.put_entry("reconciler", f"more.{size}.{number}", b"x" * size, expected_revision=0)
            if isinstance(said, Refusal):
                break


async def names(js: JetStream) -> list[str]:
    return sorted(done(await js.request("STREAM.NAMES"))["streams"] or [])


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    found = somebody(tmp_path, account, monkeypatch)
    found.applied(AB)
    found.ask(bounded)
    return found


@on_every_version
def test_old_runs_go_where_a_lease_would_be_refused(someone: Someone) -> None:
    someone.ask(full_of_runs)
    someone.applied(REMOVED)
    assert someone.ask(names) == ["B", "KV_reconciler"]
    runs = json.loads(someone("history", "--format", "json").out)["runs"]
    assert {run["topology"] for run in runs} == {"t", "t0", "t1"}


def test_what_no_old_run_can_make_room_for_is_told_as_a_full_bucket(someone: Someone) -> None:
    someone.ask(filled)
    ran = someone.apply(REMOVED)
    said = " ".join(ran.err.split())
    assert (ran.code, "A" in someone.ask(names)) == (1, True)
    assert "give bucket reconciler room: raise max_bytes of stream KV_reconciler" in said
    assert "allow publishing" not in said
