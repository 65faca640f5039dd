"""What an export leaves out, or writes as something else, it says: how many there are, which, and why."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.kinds.fields.known import V2_14
from reconciler.model.wire.version import Version
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.e2e.here import somebody
from tests.e2e.someone import Someone
from tests.support.accounts import Account
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream
from tests.support.versions import on_every_version

MINUTE = 60_000_000_000
STORE = {"subjects": ["$O.files.C.>", "$O.files.M.>"], "allow_rollup_hdrs": True, "allow_direct": True}
STRANGE_NAME = "übersicht"


@pytest.fixture
def here(tmp_path: Path, account: Account, monkeypatch: pytest.MonkeyPatch) -> Someone:
    return somebody(tmp_path, account, monkeypatch)


def said_of(address: str, err: str) -> str:
    """The line about an address; empty where nothing is said of it."""
    return next((line for line in err.splitlines() if f" {address}: " in line), "")


# -- buckets that are written as streams


async def strange_buckets(js: JetStream) -> None:
    await make_bucket(js, "plain")
    await make_bucket(js, "short", duplicate_window=MINUTE)
    await make_bucket(js, "old", discard="old", max_msgs=10)
    await make_bucket(js, "long", max_msgs_per_subject=100)
    await make_bucket(js, STRANGE_NAME)
    await make_stream(js, "OBJ_files", discard="old", **STORE)


@on_every_version
def test_a_bucket_that_is_written_as_a_stream_is_named_with_what_no_file_of_buckets_can_say(here: Someone) -> None:
    here.ask(strange_buckets)
    ran = here("export", "-o", "live.yaml")
    assert {address: said_of(f"stream/{address}", ran.err).partition("cannot declare it as it is: ")[2].partition(".")[0]
            for address in ("KV_plain", "KV_short", "KV_old", "KV_long", f"KV_{STRANGE_NAME}", "OBJ_files")} == {
        "KV_plain": "", "KV_short": "duplicate_window 1m", "KV_old": "discard old, max_msgs 10", "KV_long": "history 100",
        f"KV_{STRANGE_NAME}": f'name "{STRANGE_NAME}"', "OBJ_files": "discard old",
    }  # fmt: skip
    assert (ran.code, ran.err.count("XX913")) == (0, 5), ran
    assert "declare `files` under `object_stores`" in ran.err
    assert here("plan", "live.yaml", "--exit-code").code == 0


def test_a_bucket_that_its_owner_declares_as_a_stream_is_no_news(here: Someone) -> None:
    here.ask(lambda js: make_bucket(js, "short", duplicate_window=MINUTE))
    assert here("export", "--topology", "t", "-o", "live.yaml").code == 0
    assert here("apply", "live.yaml", "--yes").code == 0
    assert here("export").err == ""


def test_what_somebody_gave_a_declared_bucket_is_named_where_its_file_cannot_say_it(here: Someone) -> None:
    here.applied("kv_buckets: {config: {}}\n")

    async def shortened(js: JetStream) -> None:
        live = done(await js.request("STREAM.INFO.KV_config"))["config"]
        done(await js.request("STREAM.UPDATE.KV_config", {**live, "duplicate_window": MINUTE}))

    here.ask(shortened)
    ran = here("export")
    assert "unmanaged: [duplicate_window]" in ran.out
    assert "no file can say this of it: duplicate_window 1m" in said_of("kv_bucket/config", ran.err), ran


# -- mirrors


async def mirror_of_a_stream_that_gave_direct_reads_up(js: JetStream) -> None:
    await make_stream(js, "O", subjects=["o"], allow_direct=True)
    await make_stream(js, "M", mirror={"name": "O"}, mirror_direct=True)
    live = done(await js.request("STREAM.INFO.O"))["config"]
    done(await js.request("STREAM.UPDATE.O", {**live, "allow_direct": False}))


@on_every_version
def test_what_the_server_would_overrule_at_the_next_update_is_left_as_found(here: Someone) -> None:
    here.ask(mirror_of_a_stream_that_gave_direct_reads_up)
    ran = here("export", "-o", "live.yaml")
    assert "no file can say this of it: mirror_direct true" in said_of("stream/M", ran.err), ran
    assert "unmanaged: [mirror_direct]" in here.shell.folder.joinpath("live.yaml").read_text()
    assert here("plan", "live.yaml", "--exit-code").code == 0


# -- consumers


async def ephemerals(js: JetStream) -> None:
    await make_stream(js, "S")
    await make_consumer(js, "S", "lasting", inactive_threshold=60 * MINUTE)
    await make_consumer(js, "S", "passing", durable_name="", inactive_threshold=60 * MINUTE)
    await make_consumer(js, "S", "pushed", durable_name="", deliver_subject="x", inactive_threshold=60 * MINUTE)


@on_every_version
def test_ephemeral_consumers_are_counted_and_named(here: Someone) -> None:
    here.ask(ephemerals)
    ran = here("export")
    assert (ran.code, "passing" in ran.out, "lasting" in ran.out) == (0, False, True)
    named = "note XX905: 2 ephemeral consumers left out of the file: consumer/S/passing, consumer/S/pushed."
    assert named in ran.err, ran
    assert here("export", "--only", "stream/*").err == ""
    assert "1 ephemeral consumer left out of the file: consumer/S/pushed." in here("export", "--only", "*/pushed").err
    assert named in here("init", "first").err


async def copied_interest(js: JetStream, consumers: int) -> None:
    """An interest stream and its copy, which the server feeds through a consumer."""
    await make_stream(js, "I", subjects=["i"], retention="interest")
    await make_stream(js, "COPY", sources=[{"name": "I"}])
    async with asyncio.timeout(30):
        while True:  # nothing announces that the server has made it
            if done(await js.request("STREAM.INFO.I"))["state"]["consumer_count"] >= consumers:
                return
            await asyncio.sleep(0.01)


@on_every_version
def test_what_groups_and_copies_stand_for_is_not_left_out(here: Someone, account: Account) -> None:
    here.applied(
        "streams:\n  S: {subjects: [s.*], groups: {g: {type: elastic, max_members: 2, "
        "partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]}}}\n"
        "  T: {subjects: [t.*], groups: {h: {type: static, max_members: 1, filters: [t.*], members: [m]}}}\n"
    )
    is_listed = Version.parse(account.version) >= V2_14  # before, servers list no consumer of a copy
    here.ask(lambda js: copied_interest(js, consumers=int(is_listed)))
    here.ask(lambda js: make_consumer(js, "S-g", "m"))
    here.ask(lambda js: make_consumer(js, "T", "h-m"))
    here.ask(lambda js: make_consumer(js, "KV_static-consumer-groups", "watcher", durable_name="", deliver_subject="w"))
    assert here("export").err == ""


# -- records


def test_a_group_without_its_stream_and_a_half_done_replacement_are_named(here: Someone) -> None:
    async def orphan(js: JetStream) -> None:
        await make_bucket(js, "static-consumer-groups")
        record = b'{"max_members": 2, "filters": ["s.*"]}'
        put = await js.put_entry("static-consumer-groups", "GONE.g", record, expected_revision=None)
        assert isinstance(put, Stored)

    here.ask(orphan)
    assert "left out of the file: its stream/GONE does not exist" in said_of("static_group/GONE/g", here("export").err)


CONSUMER = "streams: {{S: {{subjects: [s], consumers: {{c: {{ack_policy: {}}}}}}}}}\n"


def test_a_consumer_that_an_interrupted_apply_has_to_create_again_is_named(someone: Someone) -> None:
    someone.applied(CONSUMER.format("explicit"))
    file = someone.write(CONSUMER.format("all"))
    ran = someone.interrupted("$JS.API.CONSUMER.DELETE.S.c", "apply", file, "--yes", "--allow", "CO104=consumer/S/c")
    assert ran.code == 130, ran
    ran = someone("export")
    assert "c:" not in ran.out
    assert "an unfinished apply has deleted it to create it again" in said_of("consumer/S/c", ran.err), ran
