"""What is said to be lost, out of reach or rewritten is what really happens when that version starts on the same store."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.upgrade.check import Checked, check_snapshot
from reconciler.journeys.upgrade.outcomes import Fate
from reconciler.model.wire.version import Version
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.groups.making import until
from tests.quantities.losing import publish
from tests.support.binaries import VERSIONS
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.topologies import account, read, target
from tests.upgrades.stores import LEFT, Place, filled, look, objects, rewritten

UP = [("2.11", "2.12"), ("2.11", "2.15"), ("2.12", "2.14"), ("2.12", "2.15"), ("2.14", "2.15")]
AGAIN = [(minor, minor) for minor in LEFT]
DOWN = [("2.14", "2.12"), ("2.12", "2.11")]


def addresses(found: Checked, *fates: Fate) -> set[str]:
    return {one.address for one in found.findings if one.fate in fates}


def below(gone: set[str], address: str) -> bool:
    """A consumer of a stream that is gone is gone with it."""
    return address.startswith("consumer/") and f"stream/{address.split('/')[1]}" in gone


@pytest.mark.parametrize(("before", "after"), [*UP, *AGAIN, *DOWN])
def test_what_is_said_of_a_store_happens_to_it(before: str, after: str) -> None:
    with running(before) as server:
        snapshot = filled(server, LEFT[before])
        found = check_snapshot(snapshot, Version.parse(VERSIONS[after]))
        there = objects(snapshot)
        left = objects(look(server.restart(after)))
    gone = set(there.keys() - left.keys())
    assert addresses(found, Fate.LOST, Fate.OFFLINE) == {one for one in gone if not below(gone, one)}
    said = {(one.address, one.path) for one in found.findings if one.fate is Fate.REWRITTEN}
    assert {one for one in said if one[0] not in gone} == rewritten(there, left)


@pytest.mark.parametrize(("before", "after"), [("2.12", "2.12"), ("2.11", "2.12"), ("2.12", "2.15")])
def test_what_is_not_said_to_be_refused_can_be_updated_there(before: str, after: str) -> None:
    with running(before) as server:
        found = check_snapshot(filled(server, LEFT[before]), Version.parse(VERSIONS[after]))
        left = look(server.restart(after)).streams

        async def refused(js: JetStream) -> set[str]:
            asked = {name: await js.request(f"STREAM.UPDATE.{name}", left[name]["config"]) for name in left}
            assert [answer for answer in asked.values() if isinstance(answer, NoAnswer)] == []
            return {f"stream/{name}" for name, answer in asked.items() if isinstance(answer, Refusal)}

        unchangeable = talk(Place(server), refused)
    assert unchangeable == {one for one in addresses(found, Fate.REFUSED) if one.startswith("stream/")}


@pytest.mark.parametrize(("before", "after"), [("2.12", "2.14"), ("2.12", "2.15"), ("2.15", "2.15"), ("2.11", "2.12")])
def test_what_each_restart_deletes_from_then_on_is_said(before: str, after: str) -> None:
    async def fill(js: JetStream) -> None:
        await make_stream(js, "B", subjects=["b"], retention="interest")
        await make_consumer(js, "B", "mail")
        await make_stream(js, "COPY", mirror={"name": "B"})
        await publish(js, *["b"] * 5)
        await until(js, lambda info: info["state"]["messages"] == 5, "STREAM.INFO.COPY")

    async def fed(js: JetStream) -> None:
        """Until the server has heard by a consumer of its own, if it has one, that the copy has all of it."""
        if after != "2.12":
            await until(js, lambda found: found["total"] == 2, "CONSUMER.NAMES.B")
            (own,) = {*done(await js.read("CONSUMER.NAMES.B"))["consumers"]} - {"mail"}
            await until(js, lambda info: info["ack_floor"]["stream_seq"] == 5, f"CONSUMER.INFO.B.{own}")

    with running(before) as server:
        talk(Place(server), fill)
        found = check_snapshot(look(server), Version.parse(VERSIONS[after]))
        talk(Place(server.restart(after)), fed)
        left = look(server.restart()).streams["B"]["state"]["messages"]
    assert addresses(found, Fate.EMPTIED) == ({"stream/B"} if left < 5 else set())
    assert left == (5 if after == "2.12" else 0)
    assert [one.already for one in found.findings] == [before == "2.15"] * (left < 5)


COPIED = """streams:
  B: {subjects: [b], retention: interest, num_replicas: %s, consumers: {mail: {ack_policy: explicit}}}
  COPY: {mirror: {name: B}}
"""


@pytest.mark.parametrize(
    ("before", "after", "is_said", "already"),
    [
        ("2.11", "2.12", True, False), ("2.12", "2.12", True, True), ("2.12", "2.14", True, True), ("2.12", "2.11", True, True),
        ("2.11", "2.14", False, False), ("2.14", "2.15", False, False), ("2.15", "2.12", True, False),
    ],
)  # fmt: skip
def test_a_cluster_that_comes_to_2_12_or_leaves_it_is_said_to_delete_from_copied_interest_streams(
    tmp_path: Path, before: str, after: str, is_said: bool, already: bool
) -> None:
    """Its servers restart one after another, and those of 2.12 stop feeding the copies of theirs."""
    for replicas, is_hit in ((3, is_said), (1, False)):
        snapshot = account(read(tmp_path, COPIED % replicas), target(before, cluster="C1"))
        found = check_snapshot(snapshot, Version.parse(VERSIONS[after]))
        assert addresses(found, Fate.EMPTIED) == ({"stream/B"} if is_hit else set())
        assert [one.already for one in found.findings] == [already] * is_hit
        assert all("cluster of nats-server 2.12 stops feeding COPY" in one.message for one in found.findings)
