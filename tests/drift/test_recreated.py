"""What was deleted and made anew just as it was is told, on every server: by its creation, or by what a restart cannot explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.journeys.drift.drift import Standing
from reconciler.server.wire.api import JetStream
from tests.drift.account import Owner
from tests.support.accounts import Account, accounts_config
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.servers import NatsServer
from tests.support.versions import on_every_version

FILE = "streams:\n  S:\n    subjects: [s.>]\n    consumers: {c: {ack_policy: explicit}, d: {ack_policy: explicit}}\n"
EVERYTHING = {"stream/S", "consumer/S/c", "consumer/S/d"}


async def consumer_anew(js: JetStream) -> None:
    done(await js.write("CONSUMER.DELETE.S.c"))
    await make_consumer(js, "S", "c")


async def stream_anew(js: JetStream) -> None:
    done(await js.write("STREAM.DELETE.S"))
    await make_stream(js, "S", subjects=["s.>"])
    await make_consumer(js, "S", "c")
    await make_consumer(js, "S", "d")


async def published(js: JetStream) -> None:
    for number in range(3):
        await js.pipeline.nc.request(f"s.{number}", b"x", timeout=20)


def recreated(owner: Owner, file: str = FILE) -> set[str]:
    items = owner.drift(owner.topology(file)).items
    return {item.address for item in items if item.standing is Standing.RECREATED}


@on_every_version
def test_an_object_made_anew_is_told_however_far_it_had_come(account: Account, tmp_path: Path) -> None:
    """A consumer that was applied has come as far as nothing: what replaces it never stands behind that."""
    owner = Owner(account, tmp_path)
    owner.apply(FILE)
    talk(account, consumer_anew)
    assert recreated(owner) == {"consumer/S/c"}
    talk(account, stream_anew)
    assert recreated(owner) == EVERYTHING
    owner.apply(FILE)
    assert recreated(owner) == set()


@pytest.mark.parametrize("minor", ["2.11", "2.14"])
def test_a_restart_makes_nothing_anew_and_hides_no_consumer_of_a_stream_that_was(minor: str, tmp_path: Path) -> None:
    with NatsServer(minor, accounts_config(1)) as server:
        owner = Owner(Account(server=server, user="a0", password="a0"), tmp_path)
        owner.apply(FILE)
        talk(owner.account, published)
        owner.apply(FILE.replace("[s.>]", "[s.>, t]"))
        server.restart()
        assert recreated(owner, FILE.replace("[s.>]", "[s.>, t]")) == set()
        talk(owner.account, stream_anew)
        assert recreated(owner) == EVERYTHING
