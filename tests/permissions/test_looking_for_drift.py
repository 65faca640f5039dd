"""Who looks for drift needs less than who plans: no messages are counted. Users with exactly the printed permissions see it all."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reconciler.journeys.drift.attribute import attribute_drift
from reconciler.journeys.drift.drift import Drift
from reconciler.journeys.drift.look import look
from reconciler.journeys.permissions.permissions import permissions
from reconciler.model.topology import Topology
from reconciler.model.wire.permissions import Needs, Purpose, covers
from reconciler.server.read.observe import observe
from reconciler.server.read.permission_subjects import Api
from reconciler.server.wire.api import JetStream
from tests.drift.account import item, updating
from tests.permissions.scenes import FIRST, denied, published, users
from tests.permissions.test_printed_permissions import applied, shape, without
from tests.support.accounts import User
from tests.support.jetstream import talk
from tests.support.servers import NatsServer
from tests.support.topologies import read

AUDITED = f"{FIRST}".replace("streams:", "streams:\n  TRAIL: {subjects: [$JS.EVENT.ADVISORY.API], allow_direct: true}")
HOUR = 3_600_000_000_000
ONLY_WHERE_A_LIST_IS_LATE = "$JS.API.CONSUMER.INFO"


def seen_by(user: User, wanted: Topology) -> Drift:
    async def drifted(js: JetStream) -> Drift:
        return (await attribute_drift(look(wanted, await observe(js)), js)).drift

    return talk(user, drifted)


def strayed(server: NatsServer, wanted: Topology) -> None:
    """Applied, and then somebody changed a stream, which the trail knows."""
    talk(User(server, "admin"), lambda js: applied(js, wanted))
    talk(User(server, "admin"), updating("A", max_age=HOUR))
    talk(User(server, "admin"), _trail_knows)


async def _trail_knows(js: JetStream) -> None:
    """Servers tell of a change after they have answered whoever made it. Each of these requests leaves an event as well, so
    that the change may not be the last one."""
    sequence = 1
    async with asyncio.timeout(60):
        while True:
            said = await js.read("STREAM.MSG.GET.TRAIL", {"seq": sequence})
            if isinstance(said, Mapping):
                if b"$JS.API.STREAM.UPDATE.A" in base64.b64decode(said["message"]["data"]):
                    return
                sequence += 1


def printed(wanted: Topology) -> Needs:
    return permissions(wanted, Purpose.DRIFT, Api())


def test_whoever_has_them_sees_what_an_admin_sees_and_uses_all_of_them(tmp_path: Path) -> None:
    wanted = read(tmp_path, AUDITED)
    own = printed(wanted)
    with NatsServer(config=users({"ci": own}) + "trace: true") as server:
        strayed(server, wanted)
        before = len(server.log)
        found = seen_by(User(server, "ci"), wanted)
        asked = published(server.log[before:])
        assert denied(server) == set()
        assert found.items == seen_by(User(server, "admin"), wanted).items
    assert {one.by.actor.user for one in item(found, "stream/A").fields} == {"admin"}  # type: ignore[union-attr]
    assert {shape(n.subject) for n in own.publish} - {shape(one) for one in asked} == {ONLY_WHERE_A_LIST_IS_LATE}
    assert [n.subject for n in own.publish if not any(covers(n.subject, one) for one in asked)] == [
        f"{ONLY_WHERE_A_LIST_IS_LATE}.*.*"
    ]


def test_none_of_them_can_be_missing_unnoticed(tmp_path: Path) -> None:
    wanted = read(tmp_path, AUDITED)
    own = printed(wanted)
    lacking_one = {f"u{at}": (without(own, at), own.publish[at].subject) for at in range(len(own.publish))}
    with NatsServer(config=users({name: less for name, (less, _) in lacking_one.items()})) as server:
        strayed(server, wanted)
        for name in lacking_one:
            seen_by(User(server, name), wanted)
        unnoticed = {
            subject
            for name, (_, subject) in lacking_one.items()
            if not any(covers(subject, one) for one in denied(server, name))
        }
    assert unnoticed == {f"{ONLY_WHERE_A_LIST_IS_LATE}.*.*"}


def test_messages_are_nobodys_business_who_only_looks_for_drift(tmp_path: Path) -> None:
    drift, plan = (permissions(read(tmp_path, FIRST), purpose, Api()) for purpose in (Purpose.DRIFT, Purpose.PLAN))
    more = {need.subject for need in plan.publish} - {need.subject for need in drift.publish}
    assert {"$JS.API.STREAM.MSG.GET.A", "$JS.API.DIRECT.GET.A"} <= more
    assert {need.subject for need in drift.publish} <= {need.subject for need in plan.publish}


def test_only_a_watch_hears(tmp_path: Path) -> None:
    own = permissions(read(tmp_path, FIRST), Purpose.DRIFT, Api())
    assert [need.subject for need in own.subscribe] == ["_INBOX.>"]
    watching = permissions(read(tmp_path, FIRST), Purpose.DRIFT, Api(), watch=True)
    assert replace(watching, subscribe=own.subscribe) == own
    assert "$JS.EVENT.ADVISORY.>" in {need.subject for need in watching.subscribe}
