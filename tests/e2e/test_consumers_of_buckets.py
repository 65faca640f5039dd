"""A bucket's stream may have durable consumers of its own: they are exported, declared and seen like any others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.here import somebody
from tests.support.accounts import Account
from tests.support.jetstream import make_bucket, make_consumer
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
