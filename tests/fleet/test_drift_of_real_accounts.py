"""What the fleet says of an account is what the command says of it: the same addresses, paths, classes and codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.core.resource import Json
from reconciler.fleet.desired import desired, wanted
from reconciler.fleet.drift import drift
from reconciler.fleet.fleet_file import load_fleet
from reconciler.fleet.snapshots import snapshots
from reconciler.fleet.source import live
from reconciler.fleet.tables import WANTED
from reconciler.server.api import JetStream
from tests.cli.running import Shell
from tests.fleet.test_drift import frame
from tests.support.accounts import Account
from tests.support.jetstream import done, talk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = date(2026, 6, 1)
TOPOLOGY = """\
reconciler: 1
topology: shop
streams:
  ORDERS:
    subjects: [orders.>]
    max_age: 7d
    metadata: {my.team: billing}
    consumers:
      billing: {ack_wait: 30s, max_deliver: 5, filter_subject: orders.a}
      audit: {ack_policy: none, description: all of it}
  CACHE: {subjects: [cache.>], storage: memory, discard: new, max_msgs: 10}
  GONE: {subjects: [gone.>]}
kv_buckets:
  CONFIG: {history: 5, ttl: 30d}
"""
LATER = TOPOLOGY.replace("ack_wait: 30s", "ack_wait: 45s").replace("all of it", "every one")
"""Merged, and not applied yet."""


async def meddle(js: JetStream) -> None:
    """By hand, behind everybody's back."""
    await _update(js, "ORDERS", max_age=86_400_000_000_000, metadata={"my.team": "other", "more": "1"})
    await _update(js, "KV_CONFIG", max_msgs_per_subject=3, max_age=0)
    done(await js.request("STREAM.DELETE.GONE"))
    done(await js.request("STREAM.DELETE.CACHE"))
    done(await js.request("STREAM.CREATE.CACHE", {"name": "CACHE", "subjects": ["cache.>"], "storage": "file"}))
    config = done(await js.request("CONSUMER.INFO.ORDERS.billing"))["config"]
    body = {"stream_name": "ORDERS", "action": "update", "config": {**config, "max_deliver": 9}}
    done(await js.request("CONSUMER.CREATE.ORDERS.billing.orders.a", body))


async def _update(js: JetStream, stream: str, **fields: Any) -> None:
    config = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
    done(await js.request(f"STREAM.UPDATE.{stream}", {**config, **fields}))


def told(text: str) -> list[tuple[str, str, str, str | None, tuple[str, ...]]]:
    """(address, standing, path, class, codes) of everything the command says."""
    said: list[Json] = json.loads(text)["items"]
    whole = [
        (item["address"], item["standing"], "", None, tuple(item.get("codes", ())))
        for item in said
        if item["standing"] in ("missing", "foreign", "recreated") or not item["fields"]
    ]
    fields = [
        (item["address"], item["standing"], one["path"], one["class"], tuple(one.get("codes", ())))
        for item in said
        for one in item["fields"]
    ]
    return sorted((*whole, *fields), key=str)


def test_the_fleet_says_what_the_command_says(
    spark: SparkSession, tmp_path: Path, account: Account, fleet: Callable[..., Path]
) -> None:
    shell = Shell(tmp_path)
    login = ("--server", account.url, "--user", account.user, "--password", account.password)
    assert shell("apply", shell.write(TOPOLOGY), "--yes", *login).code == 0
    talk(account, meddle)
    topology = shell.write(LATER)
    said = shell("drift", topology, "--format", "json", *login)
    assert said.code == 3

    file = fleet(
        defaults={"topology": topology},
        eu=account,
        down={"server": "nats://127.0.0.1:1"},
        wrong={"server": account.url, "user": account.user, "password": "env://NOT_SET_ANYWHERE"},
    )
    rows, texts = wanted(load_fleet(file).targets)
    want = desired(frame(spark, rows, WANTED), texts, run="r1", day=DAY)
    found = drift(snapshots(live(spark, file), run="r1", day=DAY), want, parts=2).collect()

    ours = [row for row in found if row["target"] == "eu" and row["standing"] != "compared"]
    assert sorted(
        ((row["address"], row["standing"], row["path"] or "", row["class"], tuple(row["codes"])) for row in ours),
        key=str,
    ) == told(said.out)
    assert {row["standing"] for row in ours} == {"changed", "missing", "recreated", "pending"}
    assert {code for row in ours for code in row["codes"]} >= {"ST101"}
    unread = {row["target"]: row["standing"] for row in found if row["error"]}
    assert unread == {"down": "unreachable", "wrong": "unreachable"}
