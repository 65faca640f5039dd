"""`reconciler unpin` as somebody runs it against a real server: who is pinned gives way, and everything else is said."""

from __future__ import annotations

import json

import pytest

from reconciler.server.wire.api import JetStream
from tests.cli.running import Ran, Shell
from tests.cli.test_with_server import target
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream, talk
from tests.support.versions import on_every_version

GROUPS = {"dispatch": ["jobs"], "two": ["east", "west"]}


async def make(js: JetStream) -> None:
    await make_stream(js, "ORDERS", subjects=["orders"])
    for name, groups in GROUPS.items():
        pinned = {"priority_policy": "pinned_client", "priority_groups": groups}
        await consumer(js, name, **pinned)
    await consumer(js, "plain")
    for _ in range(8):
        await js.pipeline.request("orders", b"", within=5)


async def consumer(js: JetStream, name: str, **config: object) -> None:
    body = {"stream_name": "ORDERS", "config": {"durable_name": name, "ack_policy": "explicit", **config}}
    done(await js.request(f"CONSUMER.CREATE.ORDERS.{name}", body))


async def pulled(js: JetStream, name: str, group: str) -> str:
    """As a client that is not pinned yet; the id under which it is now."""
    nc = js.pipeline.nc
    inbox = nc.new_inbox()
    waiting = await nc.subscribe(inbox)
    body = json.dumps({"batch": 1, "expires": 20_000_000_000, "group": group}).encode()
    await nc.publish(f"$JS.API.CONSUMER.MSG.NEXT.ORDERS.{name}", body, reply=inbox)
    message = await waiting.next_msg(timeout=20)
    assert message.headers
    return message.headers["Nats-Pin-Id"]


async def pins(js: JetStream, name: str) -> dict[str, str | None]:
    info = done(await js.read(f"CONSUMER.INFO.ORDERS.{name}"))
    return {one["group"]: one.get("pinned_client_id") or None for one in info["priority_groups"]}


def unpin(shell: Shell, account: Account, *said: str) -> Ran:
    return shell("unpin", *said, *target(account))


@on_every_version
def test_whoever_is_pinned_gives_way_to_the_next(shell: Shell, account: Account) -> None:
    talk(account, make)
    was = talk(account, lambda js: pulled(js, "dispatch", "jobs"))
    ran = unpin(shell, account, "ORDERS/dispatch")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"ORDERS/dispatch: client {was} is no longer pinned (group jobs); the next client that pulls is served.\n"
    )
    assert talk(account, lambda js: pins(js, "dispatch")) == {"jobs": None}
    assert talk(account, lambda js: pulled(js, "dispatch", "jobs")) != was


@on_every_version
def test_groups_of_one_consumer_share_a_pin_which_ends_for_all_of_them(shell: Shell, account: Account) -> None:
    """Servers take several groups, keep one pin for the whole consumer, and report it with the first."""
    talk(account, make)
    was = talk(account, lambda js: pulled(js, "two", "west"))
    assert talk(account, lambda js: pins(js, "two")) == {"east": was}
    ran = unpin(shell, account, "consumer/ORDERS/two")
    assert f"ORDERS/two: client {was} is no longer pinned (groups east, west, which share one pin)" in ran.out
    assert talk(account, lambda js: pulled(js, "two", "east")) != was


def test_where_nobody_is_pinned_nothing_is_done(shell: Shell, account: Account) -> None:
    talk(account, make)
    ran = unpin(shell, account, "ORDERS/dispatch")
    assert (ran.code, ran.out) == (0, "ORDERS/dispatch: no client is pinned (group jobs); nothing was done.\n")


@pytest.mark.parametrize(
    ("said", "helps"),
    [
        (("ORDER/dispatch",), "There is no stream ORDER; did you mean `ORDERS`?"),
        (("ORDERS/dispach",), "Stream ORDERS has no consumer dispach; did you mean `dispatch`?"),
        (("ORDERS/plain",), "ORDERS/plain never pins a client: its priority_policy is none."),
    ],
    ids=["stream", "consumer", "policy"],
)
def test_what_cannot_be_unpinned_is_said_with_what_could(
    shell: Shell, account: Account, said: tuple[str, ...], helps: str
) -> None:
    talk(account, make)
    ran = unpin(shell, account, *said)
    assert (ran.code, ran.out) == (1, "")
    assert helps in " ".join(ran.err.split())


@pytest.mark.parametrize("said", ["ORDERS", "ORDERS/", "stream/ORDERS/a", "/a"])
def test_a_consumer_is_named_with_its_stream(shell: Shell, said: str) -> None:
    ran = shell("unpin", said)
    assert (ran.code, "write STREAM/CONSUMER" in ran.err) == (64, True)
