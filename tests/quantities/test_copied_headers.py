"""What `Nats-Rollup` and `Nats-TTL` of an origin do in its copies, and that a plan says so, on every version."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.changes.amount import Amount
from reconciler.journeys.plan.plan import plan
from reconciler.kinds.fields.words import listed
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import change, reaches
from tests.quantities.losing import applied, planned, publish, settled
from tests.support.accounts import Account
from tests.support.jetstream import talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

COPIES = """
  M: {mirror: {name: O}, allow_rollup_hdrs: true}
  S: {sources: [{name: O}], allow_rollup_hdrs: true}
  MM: {mirror: {name: M}, allow_rollup_hdrs: true}
  P: {mirror: {name: O}}
  PR: {mirror: {name: P}, allow_rollup_hdrs: true}
"""
ORIGIN = "streams:\n  O: {subjects: [o.>], max_age: %s, duplicate_window: 1s, allow_rollup_hdrs: true%s}" + COPIES
MARKED = {"subject_delete_marker_ttl": 60_000_000_000, "allow_msg_ttl": True, "allow_rollup_hdrs": True}
NAMES = ("M", "S", "MM", "P", "PR")
SECOND = 1_000_000_000


@on_every_version
def test_markers_delete_what_copies_store_of_a_subject_as_said(account: Account, tmp_path: Path) -> None:
    """A copy without allow_rollup_hdrs keeps everything; before 2.14 it has no marker, and hands none on."""
    hands_on = account.minor in ("2.14", "2.15")
    losing = ["M", "S", "MM", *(["PR"] if hands_on else [])]

    async def work(js: JetStream) -> tuple[str, Amount | int, dict[str, int]]:
        await applied(js, tmp_path, ORIGIN % ("1h", ""))
        await publish(js, *["o.1"] * 4, "o.2")
        for name in NAMES:
            await reaches(5, js, name)
        await change(js, "O", max_age=SECOND)
        await settled(js, "O", 0)
        verdict = (await planned(js, tmp_path, ORIGIN % ("1s", ", subject_delete_marker_ttl: 1m")))["ST301"]
        await change(js, "O", **MARKED)
        await publish(js, "o.1")
        return (
            verdict.message,
            verdict.quantities["messages"],
            {
                name: await settled(js, name, 2 if name in losing else None)
                for name in dict.fromkeys((*losing, "P", "PR"))
            },
        )

    said, most, held = talk(account, work)
    named = listed([*losing[:3], "1 more"]) if hands_on else listed(losing)
    assert f"{named} then delete everything stored there of that subject, up to {5 * len(losing)} messages" in said
    assert most == 5 * len(losing)
    kept = 7 if hands_on else 6
    assert held == {"M": 2, "S": 2, "MM": 2, "P": kept, "PR": 2 if hands_on else 6}


@on_every_version
def test_a_bucket_loses_the_history_of_its_copy_by_markers_as_said(account: Account, tmp_path: Path) -> None:
    text = "kv_buckets: {A: {history: 10, ttl: %s}, M: {history: 10, mirror: {name: KV_A}}}"

    async def work(js: JetStream) -> tuple[str, str, int]:
        await applied(js, tmp_path, text % "1h")
        await publish(js, *["$KV.A.x"] * 4)
        await reaches(4, js, "KV_M")
        await change(js, "KV_A", max_age=SECOND, duplicate_window=SECOND)
        await settled(js, "KV_A", 0)
        verdicts = await planned(js, tmp_path, text % "1s, limit_marker_ttl: 1m")
        await change(js, "KV_A", **MARKED)
        await publish(js, "$KV.A.x")
        return verdicts["KV301"].message, verdicts["KV612"].message, await settled(js, "KV_M", 1)

    loses, reads, held = talk(account, work)
    assert "KV_M then deletes everything stored there of that subject, up to 4 messages" in loses
    assert reads.endswith("after 1s, and KV_M gets it")
    assert held == 1


@on_every_version
@pytest.mark.parametrize("ends", [False, True])
def test_copies_keep_what_ends_at_its_origin_unless_they_let_it_end_as_said(
    account: Account, tmp_path: Path, ends: bool
) -> None:
    own = f", allow_msg_ttl: {str(ends).lower()}"
    text = f"streams: {{O: {{subjects: [o.>]%s}}, S: {{sources: [{{name: O}}]{own}}}, M: {{mirror: {{name: O}}{own}}}}}"

    async def work(js: JetStream) -> tuple[list[str], list[int]]:
        await applied(js, tmp_path, text % "")
        found = await plan(read(tmp_path, text % ", allow_msg_ttl: true"), js, RunOptions())
        await applied(js, tmp_path, text % ", allow_msg_ttl: true")
        await js.pipeline.nc.jetstream().publish("o.1", b"x", headers={"Nats-TTL": "1s"})
        await publish(js, "o.1")
        for name in ("S", "M"):
            await reaches(2, js, name)
        notes = [note.message for planned in found.plan.changes for note in planned.consequences]
        await settled(js, "O", 1)
        return notes, [await settled(js, name, 1 if ends else None) for name in ("S", "M")]

    notes, held = talk(account, work)
    said = (
        "M and S have no allow_msg_ttl, and keep messages whose `Nats-TTL` has ended here: write allow_msg_ttl there, too "
        "(ST301)"
    )
    assert (notes, held) == (([], [1, 1]) if ends else ([said], [2, 2]))


@on_every_version
def test_a_copy_that_is_created_is_said_to_keep_or_miss_what_its_origin_has_headers_for(
    account: Account, tmp_path: Path
) -> None:
    origin, does = (
        "streams: {O: {subjects: [o.>], allow_msg_ttl: true, allow_rollup_hdrs: true}%s}",
        "are stored here and delete nothing",
    )
    is_old, stops = account.minor in ("2.11", "2.12"), "are not stored here"

    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, origin % "")
        copied = origin % ", C: {sources: [{name: O}]}"
        found = await plan(read(tmp_path, copied), js, RunOptions())
        await applied(js, tmp_path, copied)
        await publish(js, "o.1", "o.1")
        await reaches(2, js, "C")
        await js.pipeline.nc.jetstream().publish("o.1", b"x", headers={"Nats-Rollup": "sub"})
        await settled(js, "O", 1)
        await reaches(2 if is_old else 3, js, "C")
        return [note.message for planned in found.plan.changes for note in planned.consequences], await settled(js, "C")

    notes, held = talk(account, work)
    assert notes == [
        "without allow_msg_ttl it keeps messages whose `Nats-TTL` has ended in O (ST301)",
        f"without allow_rollup_hdrs messages of O with `Nats-Rollup` {stops if is_old else does} (ST301)",
    ]
    assert held == (2 if is_old else 3)
