"""The bucket `reconciler` as somebody made or edited it by hand: creates and updates go on, nothing is deleted without a lease."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done, make_bucket

AB = "streams: {A: {subjects: [a]}, B: {subjects: [b]}}\n"
REMOVED = "streams: {B: {subjects: [b, c]}}\nremoved: [{address: stream/A, reason: done with it}]\n"
WIDER = AB.replace("[b]", "[b, c]")


async def without_ttl(js: JetStream) -> None:
    await make_bucket(js, "reconciler")


async def nothing(_js: JetStream) -> None:
    return None


async def sealed(js: JetStream) -> None:
    config = done(await js.request("STREAM.INFO.KV_reconciler"))["config"]
    done(await js.request("STREAM.UPDATE.KV_reconciler", {**config, "sealed": True}))


@pytest.fixture(params=[(without_ttl, nothing), (nothing, sealed)], ids=["made without TTL", "sealed"])
def someone(
    request: pytest.FixtureRequest, tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> Someone:
    """Whoever owns two streams, in an account whose bucket gives no leases."""
    before, after = request.param
    found = somebody(tmp_path, account, monkeypatch)
    found.ask(before)
    found.applied(AB)
    found.ask(after)
    return found


async def names(js: JetStream) -> list[str]:
    return sorted(done(await js.request("STREAM.NAMES"))["streams"] or [])


def test_nothing_is_deleted_where_no_lease_can_be_had(someone: Someone) -> None:
    ran = someone.apply(REMOVED)
    assert (ran.code, "none can be had" in " ".join(ran.err.split()), someone.ask(names)) == (
        1,
        True,
        ["A", "B", "KV_reconciler"],
    ), ran


def test_what_destroys_nothing_goes_on_without_and_says_so(someone: Someone) -> None:
    ran = someone.apply(WIDER)
    assert (ran.code, "LE201" in ran.out + ran.err) == (0, True), ran


def test_what_was_consented_to_lose_is_kept_where_no_lease_can_be_had(someone: Someone) -> None:
    async def filled(js: JetStream) -> None:
        for _ in range(5):
            await js.pipeline.nc.request("b", b"x", timeout=20)

    async def messages(js: JetStream) -> int:
        return int(done(await js.request("STREAM.INFO.B"))["state"]["messages"])

    someone.ask(filled)
    fewer = AB.replace("{subjects: [b]}", "{subjects: [b], max_msgs: 1}")
    ran = someone.apply(fewer, "--allow", "ST301=stream/B")
    assert (ran.code, "none can be had" in " ".join(ran.err.split()), someone.ask(messages)) == (1, True, 5), ran
