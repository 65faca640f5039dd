"""Throw-away servers leave nothing behind, whatever ends whoever started them; and say so when they cannot start."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.model.diagnostic import CannotContinue
from reconciler.model.wire.snapshot import Snapshot, Target
from reconciler.model.wire.version import Version
from reconciler.server.connect.connection import session
from reconciler.server.read.observe import observe
from reconciler.testbed.programs import installed_version, program
from reconciler.testbed.stage import Cast, Stage, stage
from tests.support.binaries import binary

CAST = Cast(Target(version=Version.parse("2.15.1")))
PLAYING = """
import sys, time
from pathlib import Path
from tests.review.test_stage import CAST, stage
with stage(CAST, Path(sys.argv[1])) as built:
    print(built.nodes[0].pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_stays_of_a_rehearsal_that_was_killed(tmp_path: Path, how: signal.Signals) -> None:
    started = [sys.executable, "-c", PLAYING, str(binary("2.15"))]
    with subprocess.Popen(
        started, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as run:
        assert run.stdout is not None
        server = Path("/proc") / run.stdout.readline().strip()
        assert [one.name[:17] for one in tmp_path.iterdir()] == ["reconciler-stage-"]
        run.send_signal(how)
    deadline = time.monotonic() + 60
    while server.exists() or any(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.02)  # neither the kernel nor a process of nobody's tells when it is done


def test_a_program_that_does_not_start_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotContinue, match="did not start") as raised, stage(CAST, Path("/bin/false")):
        raise AssertionError
    assert [one.code for one in raised.value.diagnostics] == ["NA125"]


@pytest.mark.parametrize("name", ["/bin/true", "/bin/false", "/no/such/program"])
def test_a_program_that_was_named_is_never_passed_over(name: str) -> None:
    with pytest.raises(CannotContinue, match="NATS_SERVER_BIN names"):
        installed_version({"NATS_SERVER_BIN": name})


@pytest.mark.parametrize(("cluster", "account"), [("a-(b)", "ORDERS"), ("prod", "$G")])
def test_a_stage_is_called_what_the_account_is(cluster: str, account: str) -> None:
    """Also the account of servers that have none, which no configuration may declare."""
    cast = Cast(replace(CAST.target, cluster=cluster, account=account), size=3)
    with stage(cast, binary("2.15")) as built:
        target = asyncio.run(_seen(built)).target
    assert (target.cluster, target.account) == (cluster, account)


async def _seen(built: Stage) -> Snapshot:
    async with session(built.options()) as js:
        return await observe(js)


def test_a_cache_that_cannot_be_written_is_named_with_the_way_out() -> None:
    with pytest.raises(CannotContinue) as refused:
        program("2.15.1", Path("/proc/nowhere"))
    (told,) = refused.value.diagnostics
    assert told.code == "NA121"
    assert "The cache /proc/nowhere cannot be written" in told.message
    assert "let RECONCILER_NATS_SERVERS name a folder that can be written" in str(told.fix)
