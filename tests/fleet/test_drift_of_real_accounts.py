"""What the fleet says of an account is what the command says of it: the same addresses, paths, classes and codes."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reconciler.fleet.accounts.fleet_file import load_fleet
from reconciler.fleet.accounts.source import read_live, snapshots
from reconciler.fleet.drift.desired import desired_rows, wanted_rows
from reconciler.fleet.drift.drift import drift
from reconciler.fleet.tables.frames import frame_of
from reconciler.fleet.tables.tables import WANTED
from reconciler.journeys.drift.drift import Standing
from reconciler.kinds import REGISTRY
from reconciler.model.resource import Json
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import pull
from tests.cli.running import Shell
from tests.quantities.losing import publish
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, talk

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

DAY = date(2026, 6, 1)
OTHERS = "reconciler: 1\ntopology: others\nstreams: {TAKEN: {subjects: [taken.>]}}\n"
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
      former: {max_deliver: 3}
      restarted: {ack_policy: explicit, description: it was deleted and recreated}
  CACHE: {subjects: [cache.>], storage: memory, discard: new, max_msgs: 10}
  GONE: {subjects: [gone.>]}
  LEFT: {subjects: [left.>]}
  OVER: {subjects: [over.>]}
  OVER_AND_GONE: {subjects: [overandgone.>]}
  LET_GO: {subjects: [letgo.>]}
  TRIED: {subjects: [tried.>], max_age: 1d, max_msgs: 9}
  KNOWN: {subjects: [known.>]}
  SENSORS:
    subjects: [sensors.*]
    subject_transform: {src: "sensors.*", dest: "{{partition(6,1)}}.sensors.{{wildcard(1)}}"}
    groups:
      archive: {type: static, max_members: 6, filters: ["sensors.*"], members: [a, b]}
      lost: {type: static, max_members: 6, filters: ["sensors.*"], members: [a]}
      unsaid: {type: static, max_members: 6, filters: ["sensors.*"], members: [a]}
  TRIPS:
    subjects: [trips.*]
    groups:
      fares:
        {type: elastic, max_members: 8, partitioning_filters: [{filter: trips.*, partitioning_wildcards: [1]}],
         members: [a, b], max_buffered_msg: 1000}
      prices:
        {type: elastic, max_members: 4, partitioning_filters: [{filter: trips.*, partitioning_wildcards: [1]}],
         members: [a]}
      bare:
        {type: elastic, max_members: 4, partitioning_filters: [{filter: trips.*, partitioning_wildcards: [1]}],
         members: [a]}
kv_buckets:
  CONFIG: {history: 5, ttl: 30d}
object_stores:
  FILES: {ttl: 1d}
"""
LATER = (
    TOPOLOGY
    + """\
removed:
  - {address: stream/OVER, reason: nobody reads it}
  - {address: stream/OVER_AND_GONE, reason: nobody reads it}
forget: [stream/LET_GO]
moved: [{from: consumer/ORDERS/former, to: consumer/ORDERS/latter, reason: a better name}]
ignore_drift:
  - {address: stream/TRIED, path: max_age, reason: tried out}
  - {address: stream/KNOWN, reason: moved by hand}
  - {address: static_group/SENSORS/lost, reason: let it rest}
  - {address: stream/ORDERS, reason: it was a trial, until: 2020-01-01}
"""
)
"""Merged, and not applied yet."""
for one, other in (
    ("ack_wait: 30s", "ack_wait: 45s"),
    ("all of it", "every one"),
    ("former: {max_deliver: 3}", "latter: {max_deliver: 3}"),
    ("  LEFT: {subjects: [left.>]}", "  TAKEN: {subjects: [taken.>], max_age: 1d}"),
    ("  OVER: {subjects: [over.>]}\n", ""),
    ("  OVER_AND_GONE: {subjects: [overandgone.>]}\n", ""),
    ("  LET_GO: {subjects: [letgo.>]}\n", ""),
    ('      unsaid: {type: static, max_members: 6, filters: ["sensors.*"], members: [a]}\n', ""),
):
    LATER = LATER.replace(one, other)


IGNORED = {"stream/TRIED", "stream/KNOWN", "static_group/SENSORS/lost"}
Said = tuple[str, str, str, str | None, tuple[str, ...], str | None]
"""Address, standing, path, class, codes, and why nobody minds."""


async def process(js: JetStream) -> None:
    """Clients process two messages."""
    await publish(js, *["orders.b"] * 5)
    for _ in range(2):
        message = await pull(js.pipeline.nc, "ORDERS", "restarted")
        assert message is not None
        await js.pipeline.nc.request(message.reply, b"", timeout=5)


async def meddle(js: JetStream) -> None:
    """By hand, behind everybody's back."""
    done(await js.request("CONSUMER.DELETE.ORDERS.restarted"))
    await make_consumer(js, "ORDERS", "restarted", deliver_policy="new", description="it was deleted and recreated")
    await _update(js, "ORDERS", max_age=86_400_000_000_000, metadata={"my.team": "other", "more": "1"})
    await _update(js, "KV_CONFIG", max_msgs_per_subject=3, max_age=0)
    await _update(js, "OBJ_FILES", max_age=0)
    await _update(js, "TRIED", max_age=0, max_msgs=8)
    await _update(js, "TRIPS-fares", max_msgs=7, allow_direct=False)
    for stream in ("GONE", "KNOWN", "OVER_AND_GONE", "TRIPS-bare", "CACHE"):
        done(await js.request(f"STREAM.DELETE.{stream}"))
    done(await js.request("STREAM.CREATE.CACHE", {"name": "CACHE", "subjects": ["cache.>"], "storage": "file"}))
    config = done(await js.request("CONSUMER.INFO.ORDERS.billing"))["config"]
    body = {"stream_name": "ORDERS", "action": "update", "config": {**config, "max_deliver": 9}}
    done(await js.request("CONSUMER.CREATE.ORDERS.billing.orders.a", body))
    await _regroup(js, "static-consumer-groups", "SENSORS.archive", members=["a", "b", "c"])
    await _regroup(js, "elastic-consumer-groups", "TRIPS.fares", members=["a"], max_buffered_msg=9)
    await _regroup(js, "elastic-consumer-groups", "TRIPS.prices", max_members=5)
    done(
        await js.request(
            "STREAM.PURGE.KV_static-consumer-groups", {"filter": "$KV.static-consumer-groups.SENSORS.lost"}
        )
    )


async def _regroup(js: JetStream, bucket: str, key: str, **changed: Any) -> None:
    was = done(await js.request(f"STREAM.MSG.GET.KV_{bucket}", {"last_by_subj": f"$KV.{bucket}.{key}"}))
    record = {**json.loads(base64.b64decode(was["message"]["data"])), **changed}
    assert isinstance(await js.put_entry(bucket, key, json.dumps(record).encode(), expected_revision=None), Stored)


async def _update(js: JetStream, stream: str, **fields: Any) -> None:
    config = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
    done(await js.request(f"STREAM.UPDATE.{stream}", {**config, **fields}))


def told(text: str) -> list[Said]:
    """Everything the command says."""
    return sorted((one for item in json.loads(text)["items"] for one in _told(item)), key=str)


def _told(item: Json) -> Iterator[Said]:
    """Codes that are about none of its fields stand with the first, unless the object has a row of its own."""
    around, codes = (item["address"], item["standing"]), item.get("codes", [])
    if item["standing"] in ("missing", "foreign", "recreated") or not item["fields"]:
        yield (*around, "", None, tuple(codes), item.get("ignored"))
        codes = []
    for number, one in enumerate(item["fields"]):
        own = dict.fromkeys([*one.get("codes", ()), *(codes if number == 0 else ())])
        yield (*around, one["path"], one["class"], tuple(own), one.get("ignored"))


def of_row(row: Row) -> Said:
    return (row.address, row.standing, row.path or "", row["class"], tuple(row.codes), row.ignored)


def test_the_fleet_says_what_the_command_says(
    spark: SparkSession, tmp_path: Path, account: Account, fleet: Callable[..., Path]
) -> None:
    """Drift by hand in every kind, in what is ignored, renamed, let go of, removed or declared no more, and in what others
    own."""
    shell = Shell(tmp_path)
    login = ("--server", account.url, "--user", account.user, "--password", account.password)
    for text in (OTHERS, TOPOLOGY.replace("it was deleted", "it is to be deleted")):
        assert shell("apply", shell.write(text), "--yes", *login).code == 0
    talk(account, process)
    assert shell("apply", shell.write(TOPOLOGY), "--yes", *login).code == 0
    talk(account, meddle)
    topology = shell.write(LATER)
    said = shell("drift", topology, "--format", "json", *login)
    assert said.code == 3

    secret = tmp_path / "fileless.password"
    secret.write_text(account.password, encoding="utf-8")
    file = fleet(
        defaults={"topology": topology},
        eu=account,
        down={"server": "nats://127.0.0.1:1"},
        fileless={
            "server": account.url,
            "user": account.user,
            "password": f"file://{secret}",
            "topology": "nowhere.yaml",
        },
        wrong={"server": account.url, "user": account.user, "password": "env://NOT_SET_ANYWHERE"},
    )
    rows, texts = wanted_rows(load_fleet(file).targets)
    want = desired_rows(frame_of(spark, rows, WANTED), texts, run="r1", day=DAY)
    found = drift(snapshots(read_live(spark, file), run="r1", day=DAY), want, parts=2).collect()

    ours = [row for row in found if row["target"] == "eu" and row["standing"] != "compared"]
    (look,) = (row for row in found if row["target"] == "eu" and row["standing"] == "compared")
    findings = {(finding["code"], finding["message"]) for finding in json.loads(said.out)["diagnostics"]}
    assert {(finding["code"], finding["message"]) for finding in look["diagnostics"]} == findings
    assert "DR102" in {code for code, _ in findings}
    assert sorted(map(of_row, ours), key=str) == told(said.out)
    assert {row["standing"] for row in ours} == {*map(str, Standing)} - {"unknown"}
    assert {row["kind"] for row in ours} == {*REGISTRY.by_name}
    assert {row["address"] for row in ours if row["ignored"]} == IGNORED
    codes = {"ST101", "ST312", "CO101", "CO312", "CO330", "SG101", "EG101", "EG312", "EG320", "XX101"}
    assert {code for row in ours for code in row["codes"]} == codes
    lost = {told["code"]: told["message"] for row in ours if "restarted" in row["address"] for told in row["verdicts"]}
    assert "gone with its position (before sequence 3 " in lost["CO312"]
    assert "recreate it at sequence 3, where the deleted one stood when it was recorded" in lost["CO101"]
    unread = {row["target"]: row["standing"] for row in found if row["error"]}
    assert unread == {"down": "unreachable", "wrong": "unreachable", "fileless": "uncompared"}
