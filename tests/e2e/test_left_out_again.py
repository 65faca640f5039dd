"""What is taken out of a file is as if it had never stood there: also what a server had made of it in other fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done

OLDEST_AND_NEWEST = pytest.mark.parametrize("account", ["2.11", "2.15"], indirect=True)
WINDOW = {"max_age": 90 * 10**9, "duplicate_window": 90 * 10**9}


@pytest.fixture
def someone(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


async def configs(js: JetStream, stream: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Of the stream, and of its consumer `c`."""
    consumer = await js.read(f"CONSUMER.INFO.{stream}.c")
    return done(await js.read(f"STREAM.INFO.{stream}"))["config"], consumer["config"] if isinstance(
        consumer, Mapping
    ) else {}


def told(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says which one it is, or when that was said."""
    return {name: value for name, value in config.items() if name not in ("name", "subjects", "metadata")}


CONSUMER = "consumers: {c: {ack_policy: explicit}}"


@pytest.mark.parametrize(
    ("account", "section", "stream", "setting", "more"),
    [
        *(
            (minor, *one)
            for minor in ("2.11", "2.15")
            for one in (
                ("streams", "{}", "max_age: 60s", ""),
                ("kv_buckets", "KV_{}", "ttl: 60s", ""),
                ("object_stores", "OBJ_{}", "ttl: 60s", ""),
            )
        ),
        # 2.11 never lets go of limits that consumers have taken over
        ("2.15", "streams", "{}", "consumer_limits: {max_ack_pending: 100}", CONSUMER),
        ("2.15", "streams", "{}", "consumer_limits: {inactive_threshold: 5m}", CONSUMER),
    ],
    indirect=["account"],
)
def test_it_is_like_one_that_is_made_now(someone: Someone, section: str, stream: str, setting: str, more: str) -> None:
    comma = ", " if more else ""
    someone.applied(f"{section}: {{old: {{{setting}{comma}{more}}}}}\n")
    someone.applied(f"{section}: {{old: {{{more}}}, new: {{{more}}}}}\n")
    old, new = (someone.ask(partial(configs, stream=stream.format(name))) for name in ("old", "new"))
    assert [told(one) for one in old] == [told(one) for one in new]
    assert someone.has_nothing_to_do("topology.yaml")


async def changed(js: JetStream, stream: str) -> None:
    found = done(await js.read(f"STREAM.INFO.{stream}"))["config"]
    done(await js.write(f"STREAM.UPDATE.{stream}", {**found, **WINDOW}))


@OLDEST_AND_NEWEST
def test_what_was_accepted_and_taken_back_leaves_nothing(someone: Someone) -> None:
    text = "kv_buckets:\n  B: {}\n"
    someone.applied(text)
    before = someone.ask(lambda js: configs(js, "KV_B"))[0]
    someone.ask(lambda js: changed(js, "KV_B"))
    ran = someone("drift", "accept", "topology.yaml")
    assert ("1 field written into 1 file" in ran.out, "duplicate_window" in ran.out) == (True, False), ran
    assert someone("apply", "topology.yaml", "--yes").code == 0
    ran = someone.applied(text)
    assert "duplicate_window  1m30s → 2m (default)" in ran.out
    assert told(someone.ask(lambda js: configs(js, "KV_B"))[0]) == told(before)


async def narrowed(js: JetStream) -> None:
    found = done(await js.read("STREAM.INFO.KV_B"))["config"]
    done(await js.write("STREAM.UPDATE.KV_B", {**found, "duplicate_window": 10**9}))


def test_a_bucket_changed_by_hand_is_exported_as_the_bucket_that_its_owner_declares(someone: Someone) -> None:
    someone.applied("kv_buckets: {B: {history: 3}}\n")
    someone.ask(narrowed)
    one = someone("export", "--only", "kv_bucket/B")
    assert "kv_buckets:\n  B:\n    history: 3\n    unmanaged: [duplicate_window]\n" in one.out, one
    assert (one.code, "kv_bucket/B: no file can say this of it: duplicate_window" in one.err) == (0, True), one
    assert someone("export", "--into", "live").code == 0
    assert [path.name for path in (someone.shell.folder / "live").iterdir()] == ["t.yaml"]
    assert someone("plan", "live/t.yaml", "--exit-code").code == 0


BUCKET = "max_msgs_per_subject: 1, discard: new, deny_delete: true, allow_rollup_hdrs: true, allow_direct: true"


async def made_ordinary(js: JetStream) -> None:
    found = done(await js.read("STREAM.INFO.KV_B"))["config"]
    done(await js.write("STREAM.UPDATE.KV_B", {**found, "subjects": ["$KV.B.>"]}))


def test_a_stream_that_has_become_a_bucket_is_exported_as_one_of_its_owner(someone: Someone) -> None:
    """As a stream no file may declare it."""
    someone.applied(f"streams: {{KV_B: {{subjects: [$KV.B.>, b], {BUCKET}}}}}\n")
    someone.ask(made_ordinary)
    assert someone("export", "--into", "live").code == 0
    assert [path.name for path in (someone.shell.folder / "live").iterdir()] == ["t.yaml"]
    ran = someone("apply", "live/t.yaml", "--yes")
    assert (ran.code, "kv_bucket/B" in ran.out) == (0, True), ran
    assert someone.has_nothing_to_do("live/t.yaml")
