"""What a server lets happen to static groups, shown: partitions nobody reads, keys in two of them, durables that clash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.report.words.values import counted
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer, Silence
from tests.agreement.harm import change, count, publish, refused, shows
from tests.support.accounts import Account
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

KEYS = tuple(f"o.{letter}" for letter in "abcdefghij")


def partitioned(number: int) -> dict[str, Any]:
    """A stream's fields that put a partition in front of every subject."""
    transform = {"src": "o.*", "dest": f"{{{{partition({number},1)}}}}.o.{{{{wildcard(1)}}}}"}
    return {"subjects": ["o.*"], "subject_transform": transform}


async def pending(js: JetStream, stream: str, *consumers: str) -> int:
    found = [done(await js.read(f"CONSUMER.INFO.{stream}.{name}")) for name in consumers]
    return sum(int(one["num_pending"]) for one in found)


async def joined(js: JetStream, group: str, **members: list[str]) -> tuple[str, ...]:
    """The durables that members of a static group make."""
    for member, filters in members.items():
        await make_consumer(js, "O", f"{group}-{member}", filter_subjects=filters)
    return tuple(f"{group}-{member}" for member in members)


@shows("XX554")
@on_every_version
def test_partitions_beyond_the_members_are_read_by_nobody(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", **partitioned(3))
        durables = await joined(js, "g", a=["0.>"], b=["1.>"])
        await publish(js, *KEYS)
        return await count(js, "O"), await pending(js, "O", *durables)

    stored, read = talk(account, work)
    assert read < stored == len(KEYS)
    return f"3 partitions, 2 members: of {stored} messages, {stored - read} lie where no member reads."


@shows("XX555")
@on_every_version
def test_a_subject_beside_the_transform_reaches_no_member(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", **{**partitioned(2), "subjects": ["o.*", "beside"]})
        durables = await joined(js, "g", a=["0.>"], b=["1.>"])
        await publish(js, "beside")
        return await count(js, "O"), await pending(js, "O", *durables)

    stored, waiting = talk(account, work)
    assert (stored, waiting) == (1, 0)
    return f"Of {counted(stored, 'message')} on a subject that the transform leaves out, {waiting} reach a member."


@shows("XX556")
@on_every_version
def test_a_key_lies_in_two_partitions_after_the_transform_has_changed(account: Account) -> str:
    async def work(js: JetStream) -> set[str]:
        await make_stream(js, "O", **partitioned(2))
        await publish(js, *KEYS)
        await change(js, "O", **partitioned(5))
        await publish(js, *KEYS)
        info = done(await js.read("STREAM.INFO.O", {"subjects_filter": ">"}))
        return set(info["state"]["subjects"])

    subjects = talk(account, work)
    assert len(subjects) > len(KEYS)
    twice = len(subjects) - len(KEYS)
    return f"From 2 partitions to 5: {twice} of {len(KEYS)} keys lie in two partitions, which two members may read."


@shows("XX552")
@on_every_version
def test_members_of_two_groups_cannot_share_one_durable(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", **partitioned(2))
        await joined(js, "a", **{"b-c": ["0.>"]})
        config = {"durable_name": "a-b-c", "ack_policy": "explicit", "filter_subjects": ["1.>"]}
        return await refused(js, "CONSUMER.CREATE.O.a-b-c", {"stream_name": "O", "action": "create", "config": config})

    code = talk(account, work)
    assert code == 10148
    return f"The member of the second group cannot make its consumer (err_code {code})."


@shows("SG544")
@on_every_version
def test_a_member_with_overlapping_filters_cannot_join(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", **partitioned(2))
        config = {"durable_name": "g-a", "ack_policy": "explicit", "filter_subjects": ["0.o.*", "0.o.>"]}
        return await refused(js, "CONSUMER.CREATE.O.g-a", {"stream_name": "O", "action": "create", "config": config})

    code = talk(account, work)
    assert code == 10138
    return f"The record is written; a member cannot make its consumer (err_code {code})."


@shows("SG544")
@on_every_version
def test_a_member_with_mappings_gets_what_the_filter_leaves_out(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", **{**partitioned(1), "subjects": ["o.*"]})
        durables = await joined(js, "mapped", a=["0.>"]) + await joined(js, "plain", a=["0.o.a"])
        await publish(js, *KEYS)
        return await pending(js, "O", durables[0]), await pending(js, "O", durables[1])

    mapped, plain = talk(account, work)
    assert (mapped, plain) == (len(KEYS), 1)
    return f"Filter `o.a`: a member with mappings gets {counted(mapped, 'message')}, a plain member {plain}."


@shows("XX558")
@on_every_version
def test_a_member_cannot_join_where_a_consumer_of_the_work_queue_takes_its_messages(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", **partitioned(2), retention="workqueue")
        await make_consumer(js, "O", "us", filter_subject="*.o.a")
        config = {"durable_name": "g-a", "ack_policy": "explicit", "filter_subjects": ["0.>"]}
        return await refused(js, "CONSUMER.CREATE.O.g-a", {"stream_name": "O", "action": "create", "config": config})

    code = talk(account, work)
    assert code == 10100
    return f"The record is written; a member cannot make its consumer (err_code {code})."


BUCKET = "elastic-consumer-groups"
DECLARED = "streams: {O: {subjects: [o.*], groups: {g: {type: elastic, max_members: 2, members: [a]}}}}\n"


@on_every_version
@pytest.mark.parametrize("wrong", [{"subjects": ["elsewhere"]}, {"sealed": True}], ids=["deaf", "sealed"])
def test_no_record_can_be_written_where_the_plan_says_so(
    account: Account, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    async def work(js: JetStream) -> tuple[bool, bool]:
        await make_bucket(js, BUCKET)
        await change(js, f"KV_{BUCKET}", **{"subjects": [f"$KV.{BUCKET}.>"], "max_msgs_per_subject": 1, **wrong})
        found = (await plan(read(tmp_path, DECLARED), js)).plan
        said = await js.put_entry(BUCKET, "O.g", b"{}", expected_revision=0)
        silent = isinstance(said, NoAnswer) and said.why is Silence.NO_RESPONDERS
        sealed = isinstance(said, Refusal) and said.err_code == 10109
        return "EG546" in [v.code for one in found.changes for v in one.verdicts if v.blocks], silent or sealed

    assert talk(account, work) == (True, True)
