"""A bucket's stream may have durable consumers of its own: they are exported, declared and seen like any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done, make_bucket, make_consumer
from tests.support.versions import on_every_version

BOTH = """\
kv_buckets: {CONFIG: {history: 5}}
streams: {KV_CONFIG: {external: true, consumers: {watcher: {ack_policy: explicit}}}}
"""


@on_every_version
def test_a_bucket_and_the_consumers_of_its_stream_come_and_stay_together(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(BOTH)
    assert someone.has_nothing_to_do("topology.yaml")
    assert someone("drift", "topology.yaml").code == 0
    assert someone("export", "-o", "again.yaml").code == 0
    assert someone.has_nothing_to_do("again.yaml")


@on_every_version
def test_a_consumer_that_a_client_made_on_a_bucket_is_exported(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.ask(lambda js: make_bucket(js, "CONFIG"))
    someone.ask(lambda js: make_consumer(js, "KV_CONFIG", "watcher"))
    exported = someone("export", "--topology", "t", "--only", "consumer/KV_CONFIG/*")
    assert exported.code == 0, exported
    assert "KV_CONFIG:\n    external: true\n    consumers:\n      watcher:" in exported.out


async def limited(js: JetStream) -> None:
    """As no file of a bucket can say it."""
    live = done(await js.request("STREAM.INFO.KV_CONFIG"))["config"]
    done(await js.request("STREAM.UPDATE.KV_CONFIG", {**live, "consumer_limits": {"max_ack_pending": 5000}}))


async def taking_them(js: JetStream) -> None:
    """An update without the field gets the value of the stream's limits."""
    config = {"durable_name": "watcher", "ack_policy": "explicit"}
    body = {"stream_name": "KV_CONFIG", "action": "update", "config": config}
    done(await js.request("CONSUMER.CREATE.KV_CONFIG.watcher", body))


def limited_by_hand(someone: Someone) -> Someone:
    someone.applied(BOTH)
    someone.ask(limited)
    someone.ask(taking_them)
    return someone


@on_every_version
def test_limits_that_somebody_gave_a_buckets_consumers_are_seen(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = limited_by_hand(somebody(tmp_path, account, monkeypatch))
    for looked in (someone("drift", "topology.yaml"), someone("plan", "topology.yaml")):
        assert "~ consumer/KV_CONFIG/watcher" in looked.out and "~ kv_bucket/CONFIG" in looked.out, looked


@on_every_version
def test_what_such_limits_gave_a_consumer_can_be_kept(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = limited_by_hand(somebody(tmp_path, account, monkeypatch))
    kept = someone("drift", "accept", "topology.yaml", "--only", "consumer/*")
    assert "max_ack_pending" in (tmp_path / "topology.yaml").read_text(), kept
    left = someone("drift", "topology.yaml")
    assert left.code == 3 and "~ kv_bucket/CONFIG" in left.out and "watcher" not in left.out, left


@pytest.mark.parametrize("account", ["2.14", "2.15"], indirect=True)
def test_limits_that_somebody_gave_a_buckets_consumers_are_taken_back(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Older servers refuse that while a consumer has a value of its own (10069)."""
    someone = limited_by_hand(somebody(tmp_path, account, monkeypatch))
    assert someone("apply", "topology.yaml", "--yes").code == 0
    assert someone.has_nothing_to_do("topology.yaml")


@on_every_version
def test_a_consumer_older_than_the_limits_of_its_bucket_is_exported_as_it_is(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(BOTH.replace("explicit", "none"))
    someone.ask(limited)
    assert someone("export", "-o", "again.yaml").code == 0
    planned = someone("plan", "again.yaml")
    assert "= consumer/KV_CONFIG/watcher" in planned.out, planned


@on_every_version
def test_a_longer_history_than_clients_know_is_no_offence_in_an_export(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lengthened(js: JetStream) -> None:
        live = done(await js.request("STREAM.INFO.KV_CONFIG"))["config"]
        done(await js.request("STREAM.UPDATE.KV_CONFIG", {**live, "max_msgs_per_subject": 100}))

    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(BOTH)
    someone.ask(lengthened)
    assert someone("export", "-o", "again.yaml").code == 0
    looked = someone.shell("validate", "again.yaml")
    assert looked.code == 0 and "KV543" in looked.out + looked.err, looked


@on_every_version
def test_a_bucket_that_goes_tells_of_the_consumers_of_its_stream(
    tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone = somebody(tmp_path, account, monkeypatch)
    someone.applied(BOTH)
    gone = someone.plan("removed: [{address: kv_bucket/CONFIG, reason: over}]\nstreams: {OTHER: {}}\n")
    assert (
        gone.code == 4 and "XX231" in gone.out and "Consumer watcher is deleted with it" in " ".join(gone.out.split())
    ), gone
