"""The story of `reconciler demo --fleet`: accounts on several servers, three nights, and what people do by day."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nats

from reconciler.changes.events import Finished
from reconciler.documents.fill.values import Filled
from reconciler.fleet.accounts.targets import FleetTarget
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.files_and_account import both
from reconciler.journeys.plan.plan import plan_from_snapshot
from reconciler.model.dataclass import dataclass
from reconciler.model.diagnostic import CannotContinue
from reconciler.model.run_options import RunOptions
from reconciler.server.connect.connection import connection
from reconciler.testbed.node import Node

REGIONS = ("eu", "us", "ap")
SHOPS = 4
"""Accounts on each server."""
LOST = "lab-1"
"""The target whose server is gone in the third night."""
VARIABLE, PASSWORD = "SHOP_PASSWORD", "shop"


def accounts_config(names: Sequence[str]) -> str:
    """Return a server's own configuration: an account with JetStream for each name; one user is ours, the other is
    Anna's."""

    def account(name: str) -> dict[str, Any]:
        return {
            "jetstream": "enabled",
            "users": [{"user": user, "password": PASSWORD} for user in (name, f"anna.{name}")],
        }

    return "accounts: " + json.dumps({name: account(name) for name in names})


def servers(program: Path) -> dict[str, Node]:
    """Run servers by region; they end with the block."""
    own = {region: [f"{region}-{number}" for number in range(1, SHOPS + 1)] for region in REGIONS}
    own["lab"] = [LOST]
    return {
        region: Node(program, accounts_config(names), name=f"shops-{region}").start() for region, names in own.items()
    }


def fleet_yaml(nodes: Mapping[str, Node]) -> str:
    """Return fleet.yaml as JSON, which is YAML and needs no care about quoting."""
    targets = {name: _target(name, region, node) for region, node in nodes.items() for name in _target_names(region)}
    defaults = {
        "topology": "shop.yaml",
        "values": {"keep": "7d", "most": 20_000_000},
        "timeout": "5s",
        "deadline": "20s",
    }
    return json.dumps({"reconciler": 1, "fleet": "shops", "defaults": defaults, "targets": targets}, indent=1)


def _target_names(region: str) -> list[str]:
    return [LOST] if region == "lab" else [f"{region}-{number}" for number in range(1, SHOPS + 1)]


def _target(name: str, region: str, node: Node) -> dict[str, Any]:
    env = "stage" if name.endswith("4") or region == "lab" else "prod"
    values = {"values": {"keep": "30d"}} if region == "us" else {}
    return {
        "server": node.url,
        "user": name,
        "password": f"env://{VARIABLE}",
        "labels": {"region": region, "env": env},
        **values,
    }


async def apply_to(target: FleetTarget) -> Finished:
    """Apply to one target, as `reconciler apply` does."""
    async with both(
        target.topology,
        target.options(),
        Filled(values=target.values, origin="the fleet file", environment=target.environment),
    ) as opened:
        plan = await plan_from_snapshot(opened.topology, opened.snapshot, opened.js, RunOptions())
        return [event async for event in apply(plan, opened.js) if isinstance(event, Finished)][-1]


async def apply_to_all(targets: Sequence[FleetTarget]) -> None:
    """Apply to all targets at once. Raises CannotContinue with the first failure of each target where a step failed."""
    failed = [outcome.failed[0].reason for outcome in await asyncio.gather(*map(apply_to, targets)) if outcome.failed]
    if failed:
        raise CannotContinue(*failed)


async def sell(targets: Sequence[FleetTarget], orders: int, seed: int) -> None:
    """Publish orders and payments of forty customers each, more in some shops than in others; dispatch works on some of
    them."""
    await asyncio.gather(
        *(_sell(target, orders * (1 + number % 3), seed + number) for number, target in enumerate(targets))
    )


async def _sell(target: FleetTarget, orders: int, seed: int) -> None:
    chance = random.Random(seed)
    async with connection(target.options()) as nc:
        for number in range(orders):
            region, customer = chance.choice(("north", "east", "west")), int(chance.paretovariate(1)) % 40
            await nc.publish(
                f"orders.{region}.customer-{customer}", json.dumps({"order": number, "of": "shop"}).encode() * 4
            )
            if number % 2:
                await nc.publish(f"payments.customer-{customer}", b"paid" * 20)
        await nc.flush()
        subscription = await nc.jetstream().pull_subscribe_bind(durable="dispatch", stream="ORDERS")
        for message in await subscription.fetch(min(60, orders), timeout=5):
            if chance.random() < 0.1:
                await asyncio.sleep(0.02)
            await message.ack()


Ask = Callable[..., Awaitable[dict[str, Any]]]
"""One request to the JetStream API, as somebody with the nats CLI sends it."""
Deed = Callable[[Ask], Awaitable[None]]


async def _update(ask: Ask, stream: str, **fields: object) -> None:
    config = (await ask(f"STREAM.INFO.{stream}"))["config"]
    await ask(f"STREAM.UPDATE.{stream}", {**config, **fields})


def shorter(ask: Ask) -> Awaitable[None]:
    """Somebody makes room where there are many orders."""
    return _update(ask, "ORDERS", max_age=3 * 86_400 * 10**9)


def discard_old_payments(ask: Ask) -> Awaitable[None]:
    """Somebody wants publishing to continue when PAYMENTS is full."""
    return _update(ask, "PAYMENTS", discard="old")


def reset_max_age(ask: Ask) -> Awaitable[None]:
    """Somebody sets `max_age` of ORDERS back to the 7 days that the file declares."""
    return _update(ask, "ORDERS", max_age=7 * 86_400 * 10**9)


async def delete_audit(ask: Ask) -> None:
    """Somebody deletes the consumer `audit` of ORDERS."""
    await ask("CONSUMER.DELETE.ORDERS.audit")


async def recreate_payments(ask: Ask) -> None:
    """Somebody recreates a stream with the same configuration; its messages are gone."""
    config = (await ask("STREAM.INFO.PAYMENTS"))["config"]
    await ask("STREAM.DELETE.PAYMENTS")
    await ask("STREAM.CREATE.PAYMENTS", config)


async def add_debug_stream(ask: Ask) -> None:
    """Somebody adds a consumer that nobody declares and no other shop has."""
    await ask("STREAM.CREATE.DEBUG", {"name": "DEBUG", "subjects": ["debug.>"], "storage": "memory"})


@dataclass(frozen=True, slots=True)
class Day:
    """What people did during a day, told before the night in which it is found."""

    told: str
    deeds: Mapping[str, Deed]
    orders: int


DAYS = (
    Day("The first day: the shops sell, and nobody touches a thing.", {}, 400),
    Day(
        "The second day: somebody shortens max_age in Europe; a consumer and a stream's messages are lost elsewhere.",
        {"eu-1": shorter, "eu-2": shorter, "eu-3": shorter, "ap-1": delete_audit, "us-4": recreate_payments, "us-2": add_debug_stream},
        700,
    ),
    Day(
        "The third day: one shop is repaired, two more drift, and a server is gone.",
        {"eu-2": reset_max_age, "us-1": discard_old_payments, "ap-3": discard_old_payments}, 1_100,
    ),
)  # fmt: skip


async def live(day: Day, targets: Mapping[str, FleetTarget], number: int) -> None:
    """Play one day: every shop sells, then people do their deeds. `number` makes each day's orders differ."""
    await sell([*targets.values()], day.orders, seed=100 * number)
    await asyncio.gather(*(_do(targets[name], deed) for name, deed in day.deeds.items()))


async def _do(target: FleetTarget, deed: Deed) -> None:
    nc = await nats.connect(
        target.settings.url or "", user=f"anna.{target.name}", password=PASSWORD, name="NATS CLI Version 0.3.0"
    )

    async def ask(endpoint: str, body: object = None) -> dict[str, Any]:
        reply = await nc.request(f"$JS.API.{endpoint}", json.dumps(body).encode() if body else b"", timeout=10)
        answer: dict[str, Any] = json.loads(reply.data)
        return answer

    try:
        await deed(ask)
    finally:
        await nc.close()
