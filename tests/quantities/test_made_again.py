"""A stream or a bucket that is gone comes back under its name: what its copies skip and answer was said."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from reconciler.changes.verdict import Outcome, Verdict
from reconciler.journeys.apply.backup import back_up
from reconciler.journeys.plan.plan import plan
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import Alone
from tests.groups.making import until
from tests.guards.restoring import restore
from tests.quantities.losing import applied, planned, publish, take
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import done, talk
from tests.support.servers import running
from tests.support.topologies import read
from tests.support.versions import on_every_version

STARTED = """
streams:
  O: {subjects: [o.*]}
  SUM: {sources: [{name: O, opt_start_seq: 6}]}
  ALL: {sources: [{name: O}]}
"""
MIRRORED = "kv_buckets: {B: {}, COPY: {mirror: {name: KV_B}}}"
ALONE = "kv_buckets: {COPY: {mirror: {name: KV_B}}}\nremoved: [{address: kv_bucket/B, reason: done}]"


async def has(js: JetStream, stream: str, messages: int) -> None:
    await until(js, lambda info: info["state"]["messages"] >= messages, f"STREAM.INFO.{stream}")


async def said(js: JetStream, folder: Path, text: str) -> Verdict:
    """The verdict on what is made again."""
    found = await plan(read(folder, text), js)
    (verdict,) = (one for change in found.plan.changes for one in change.verdicts if one.code[2:] == "312")
    return verdict


@pytest.mark.parametrize("account", ["2.15"], indirect=True)
def test_a_source_with_a_start_skips_as_much_of_a_recreated_origin_as_the_plan_said(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, STARTED)
        await publish(js, *["o.a"] * 10)
        await has(js, "SUM", 5)
        await has(js, "ALL", 10)
        done(await js.request("STREAM.DELETE.O"))
        lost = await said(js, tmp_path, STARTED)
        assert (lost.outcome, lost.quantities["skipped"]) == (Outcome.NEEDS_CONSENT, 5)
        await applied(js, tmp_path, STARTED, "ST312")
        await publish(js, *["o.a"] * 8)
        await has(js, "ALL", 10 + 8)
        await has(js, "SUM", 5 + 8 - lost.quantities["skipped"])
        held = done(await js.request("STREAM.INFO.SUM"))["state"]["messages"]
        assert held == 5 + 8 - lost.quantities["skipped"]

    talk(account, work)


@on_every_version
@pytest.mark.parametrize("copy", ["mirror: {name: KV_B}", "sources: [{name: KV_B}]"], ids=["mirror", "source"])
def test_a_recreated_bucket_counts_on_as_the_plan_advises_and_its_copy_skips_nothing(
    account: Account, tmp_path: Path, copy: str
) -> None:
    async def work(js: JetStream) -> str:
        wanted = f"kv_buckets: {{B: {{}}, COPY: {{{copy}}}}}"
        await applied(js, tmp_path, wanted)
        await publish(js, *[f"$KV.B.old{number}" for number in range(9)])
        await has(js, "KV_COPY", 9)
        done(await js.request("STREAM.DELETE.KV_B"))
        advice = (await said(js, tmp_path, wanted)).fix or ""
        await applied(js, tmp_path, wanted, "KV312")
        done(await js.request("STREAM.PURGE.KV_B", {"seq": 10}))
        await publish(js, *[f"$KV.B.new{number}" for number in range(7)])
        await has(js, "KV_COPY", 9 + 7)
        return advice

    skips = "mirror" in copy or account.minor != "2.15"
    assert ("nats stream purge KV_B --seq 10 --force" in talk(account, work)) is skips


IN_MEMORY = "streams: {{MEM: {{subjects: [m], storage: memory{first}}}, SRC: {{sources: [{{name: MEM}}]}}}}"


@pytest.mark.parametrize("minor", [minor for minor in MINORS if minor != "2.15"])
def test_a_first_seq_helps_the_copies_of_a_stream_in_memory_once(minor: str, tmp_path: Path) -> None:
    """The one that was written for the first restart is below what was copied until the next."""
    plain, from_11 = IN_MEMORY.format(first=""), IN_MEMORY.format(first=", first_seq: 11")

    async def begin(js: JetStream) -> None:
        await applied(js, tmp_path, plain)
        await publish(js, *["m"] * 10)
        await has(js, "SRC", 10)

    async def follow(js: JetStream) -> None:
        lost = await said(js, tmp_path, plain)
        assert (lost.quantities["skipped"], "write first_seq: 11," in (lost.fix or "")) == (10, True)
        await applied(js, tmp_path, from_11)
        await publish(js, *["m"] * 7)
        await has(js, "SRC", 17)

    async def follow_again(js: JetStream) -> None:
        lost = await said(js, tmp_path, from_11)
        assert (lost.outcome, lost.quantities["skipped"]) == (Outcome.NEEDS_CONSENT, 7)
        assert "write first_seq: 18," in (lost.fix or "")
        await applied(js, tmp_path, from_11, "ST312")
        await publish(js, *["m"] * 10)
        await has(js, "SRC", 17 + 10 - 7)
        assert done(await js.request("STREAM.INFO.SRC"))["state"]["messages"] == 17 + 10 - 7

    with running(minor) as server:
        talk(Alone(server), begin)
        server.restart()
        talk(Alone(server), follow)
        server.restart()
        talk(Alone(server), follow_again)


@on_every_version
def test_a_mirror_gives_old_values_of_a_recreated_bucket_as_the_plan_said(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> Counter[bytes]:
        await applied(js, tmp_path, MIRRORED)
        await js.pipeline.nc.request("$KV.B.key", b"old", timeout=5)
        await has(js, "KV_COPY", 1)
        await applied(js, tmp_path, ALONE, "XX231")
        read_by = (await said(js, tmp_path, MIRRORED)).message
        assert "KV_COPY answers direct gets of the new one with what it holds of the old one" in read_by
        await applied(js, tmp_path, MIRRORED, "KV312")
        await js.pipeline.nc.request("$KV.B.key", b"new", timeout=5)
        ask = json.dumps({"last_by_subj": "$KV.B.key"}).encode()
        answers = [await js.pipeline.nc.request("$JS.API.DIRECT.GET.KV_B", ask, timeout=5) for _ in range(100)]
        return Counter(answer.data for answer in answers)

    found = talk(account, work)
    assert found.keys() == {b"old", b"new"}


ORIGINS = """
streams: {O: {subjects: [o.*], allow_direct: %s}, M: {mirror: {name: O}}}
kv_buckets: {B: {allow_direct: %s}, COPY: {mirror: {name: KV_B}}}
"""
ORPHANS = """
streams: {M: {mirror: {name: O}}}
kv_buckets: {COPY: {mirror: {name: KV_B}}}
"""
GONE = "removed: [{address: stream/O, reason: done}, {address: kv_bucket/B, reason: done}]"


@on_every_version
@pytest.mark.parametrize("direct", ["true", "false"])
def test_a_mirror_whose_origin_is_removed_stays_as_it_was(account: Account, tmp_path: Path, direct: str) -> None:
    async def work(js: JetStream) -> None:
        await applied(js, tmp_path, ORIGINS % (direct, direct))
        await applied(js, tmp_path, ORPHANS + GONE, "XX231")
        assert (await plan(read(tmp_path, ORPHANS), js)).plan.steps == ()
        for stream in ("M", "KV_COPY"):
            found = done(await js.request(f"STREAM.INFO.{stream}"))["config"]
            changed = {**found, "mirror_direct": not found["mirror_direct"]}
            done(await js.request(f"STREAM.UPDATE.{stream}", changed))
        seen = (await plan(read(tmp_path, ORPHANS), js)).plan.changes
        assert {one.address: [field.path for field in one.fields] for one in seen if one.fields} == {
            "stream/M": ["mirror_direct"], "kv_bucket/COPY": ["mirror_direct"],
        }  # fmt: skip
        await applied(js, tmp_path, ORPHANS)
        for stream in ("M", "KV_COPY"):
            assert done(await js.request(f"STREAM.INFO.{stream}"))["config"]["mirror_direct"] is (direct == "true")

    talk(account, work)


@on_every_version
def test_a_mirror_direct_that_is_taken_out_of_the_file_goes_to_its_default(account: Account, tmp_path: Path) -> None:
    said = "streams: {M: {mirror: {name: O}, mirror_direct: true}}"

    async def work(js: JetStream) -> bool:
        await applied(js, tmp_path, said)
        assert done(await js.request("STREAM.INFO.M"))["config"]["mirror_direct"]
        await applied(js, tmp_path, said.replace(", mirror_direct: true", ""))
        return bool(done(await js.request("STREAM.INFO.M"))["config"]["mirror_direct"])

    assert not talk(account, work)


@pytest.mark.parametrize("account", ["2.15"], indirect=True)
def test_a_stream_restored_from_a_backup_is_told_from_an_empty_one(account: Account, tmp_path: Path) -> None:
    """Before 2.15 a restored stream shows when the old one was created, and is often taken for it."""
    text = "streams: {S: {subjects: [s.*], consumers: {c: {ack_policy: explicit}}}, COPY: {sources: [{name: S}]}}"

    async def work(js: JetStream) -> tuple[dict[str, Verdict], int, list[str]]:
        await applied(js, tmp_path, text)
        await publish(js, *["s.a"] * 10)
        await take(js, "S", "c", 4)
        await has(js, "COPY", 10)
        async for _ in back_up(js, ["S"], tmp_path / "kept"):
            pass
        await take(js, "S", "c", 3)
        await applied(js, tmp_path, text.replace("[s.*]", "[s.*], description: later"))
        await publish(js, *["s.a"] * 5)
        done(await js.request("STREAM.DELETE.S"))
        await restore(js, tmp_path / "kept" / "S")
        found = await planned(js, tmp_path, text)
        await applied(js, tmp_path, text)
        await take(js, "S", "c", 6)
        await has(js, "COPY", 15 + 10)
        return found, done(await js.request("CONSUMER.INFO.S.c"))["num_pending"], [*await planned(js, tmp_path, text)]

    found, pending, then = talk(account, work)
    assert found["CO312"].quantities["redelivered"] == 6 and pending == 0
    assert found["CO312"].message.startswith(
        "somebody restored it from a backup, and the old one is gone with its position"
    )
    assert "the new one continues at sequence 5, so up to 6 messages are redelivered" in found["CO312"].message
    assert found["ST312"].message == (
        "somebody restored a backup of it, which ends at sequence 10: messages that the old one stored after that are gone; its "
        "consumers continue where they stood in the backup; COPY copies again what it holds"
    )
    assert then == []
