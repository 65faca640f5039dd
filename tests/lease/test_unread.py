"""What was applied before cannot be read: nothing is planned from that, unless it is simply not allowed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.memory import remembered
from reconciler.model.diagnostic import CannotContinue, Severity
from reconciler.model.wire.snapshot import Scope, Snapshot, Target
from reconciler.model.wire.version import Version
from reconciler.server.read.observe import observe
from reconciler.server.remember import ledger
from reconciler.server.wire.api import JetStream
from tests.faults.wire import Goes, Moment, Point, Request, Side, wire
from tests.support.accounts import Account, connect
from tests.support.jetstream import talk
from tests.support.topologies import read

THE_LEADER = "$JS.API.STREAM.MSG.GET.KV_reconciler"
TARGET = Target(version=Version(2, 15), peers=1)


async def remembering(js: JetStream) -> None:
    await ledger.ensure_bucket(js, await observe(js))


def test_while_its_leader_is_silent_nothing_is_planned(account: Account, tmp_path: Path) -> None:
    """A consumer that a killed run had deleted to make it anew would look like one that was never there."""
    topology = read(tmp_path, "streams: {S: {subjects: [s]}}")
    talk(account, remembering)

    async def planned() -> None:
        async with wire(lambda: account.server.port, Point(Request(THE_LEADER, 1), Side.REQUEST)) as between:

            async def silent(_moment: Moment) -> Goes:
                following = Request(THE_LEADER, between.seen[THE_LEADER] + 1)
                between.at, between.was_reached = Point(following, Side.REQUEST), False
                return Goes.NOWHERE

            between.act = silent
            nc = await connect(f"nats://127.0.0.1:{between.port}", account.user, account.password)
            js = await JetStream.open(nc, within=1)
            try:
                await plan(topology, js)
            finally:
                await js.close()
                await nc.close()

    with pytest.raises(CannotContinue, match=r"Bucket reconciler, .*\(no answer in time") as found:
        asyncio.run(planned())
    assert [one.code for one in found.value.diagnostics] == ["LE105"]


@pytest.mark.parametrize(
    ("denied", "severity"),
    [((Scope.bucket("reconciler"),), Severity.WARNING), ((), Severity.ERROR)],
    ids=["ever", "now"],
)
def test_who_may_not_read_it_is_told_and_goes_on(denied: tuple[str, ...], severity: Severity) -> None:
    snapshot = Snapshot(target=TARGET, unknown={Scope.bucket("reconciler"): "permission denied"}, denied=denied)
    found = remembered.unreadable_warning(snapshot)
    assert found is not None
    assert found.severity is severity


def test_an_account_without_the_bucket_has_nothing_unread() -> None:
    assert remembered.unreadable_warning(Snapshot(target=TARGET)) is None
