"""Two people at one account: somebody with our commands, and somebody with the reference's.

`make test` runs each test on one server version, `make interop` on all of them. Without the reference nothing here is
collected, and a line at the end of the run says so; `make interop` fails then.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.interop.cg import Cg, Members
from tests.interop.reference import find
from tests.support.accounts import Account, Pool
from tests.support.jetstream import make_stream, talk

collect_ignore_glob = [] if find().program else ["test_*.py"]


@pytest.fixture
def account(pool: Pool, request: pytest.FixtureRequest) -> Account:
    """On a single server of the version asked for, or in a cluster."""
    minor, _, clustered = request.param.partition(" ")
    if not clustered:
        return pool.account(minor)
    found = pool.clustered(minor)
    talk(found, _until_all_servers_take_part)
    return found


async def _until_all_servers_take_part(js: JetStream) -> None:
    await make_stream(js, "READY", num_replicas=3)
    await js.write("STREAM.DELETE.READY")


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


@pytest.fixture
def cg(tmp_path: Path, account: Account) -> Cg:
    program = find().program
    assert program, "the tests are collected only where it is"
    return Cg.logged_in(program, tmp_path / "cg", account)


@pytest.fixture
def members(cg: Cg) -> Iterator[Members]:
    """Instances of members, ended with the test."""
    running = Members(cg)
    yield running
    running.end()
