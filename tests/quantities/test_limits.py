"""What a lowered limit removes is what the plan said, on every version; who has not read it is said with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.amount import exactly
from reconciler.changes.verdict import Verdict
from reconciler.journeys.plan.plan import plan
from reconciler.kinds.fields.times import time_before
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, planned, publish, settled, state, take, times
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

SUBJECTS = ("s.a", "s.b", "s.a", "s.a", "s.c", "s.b", "s.a", "s.a")


async def filled(js: JetStream, *, gap: bool, **config: Any) -> None:
    """Eight messages; with a gap, the third is deleted."""
    await make_stream(js, "S", **{"subjects": ["s.>"], **config})
    await publish(js, *SUBJECTS)
    if gap:
        done(await js.request("STREAM.MSG.DELETE.S", {"seq": 3}))


@on_every_version
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize(
    ("said", "config"), [("max_msgs: 3", {"max_msgs": 3}), ("max_msgs_per_subject: 1", {"max_msgs_per_subject": 1})]
)
def test_as_many_messages_go_as_the_plan_said(
    account: Account, tmp_path: Path, gap: bool, said: str, config: dict[str, int]
) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await filled(js, gap=gap, **dict.fromkeys(config, 100))
        stored = (await state(js, "S"))["messages"]
        verdicts = await planned(js, tmp_path, f"streams: {{S: {{subjects: [s.>], {said}}}}}")
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], **config}))
        predicted = verdicts["ST301"].quantities["messages"]
        return predicted, stored - await settled(js, "S", stored - predicted)

    predicted, gone = talk(account, work)
    assert predicted == gone > 0


@pytest.mark.parametrize("account", ["2.11", "2.12", "2.14"], indirect=True)
def test_before_2_14_a_new_limit_per_subject_trims_each_subject_with_its_own_next_message(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[str, list[int]]:
        await filled(js, gap=False)
        verdicts = await planned(js, tmp_path, "streams: {S: {subjects: [s.>], max_msgs_per_subject: 1}}")
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "max_msgs_per_subject": 1}))
        held = []
        for subject in ("", "s.a", "s.a", "s.b"):
            await publish(js, *filter(None, [subject]))
            held.append(await settled(js, "S"))
        return verdicts["ST301"].message, held

    said, held = talk(account, work)
    if account.minor == "2.14":
        assert "apply deletes 5 of 8 messages: 2 of 3 subjects hold more than 1" in said
        assert held == [3, 3, 3, 3]
    else:
        assert (
            "the server deletes 5 of 8 messages, those of a subject with its own next message, and all at its next restart"
            in said
        )
        assert held == [8, 4, 4, 3]


@on_every_version
def test_as_many_bytes_go_as_the_plan_said_up_to_one_message(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await filled(js, gap=False)
        stored = (await state(js, "S"))["bytes"]
        verdicts = await planned(js, tmp_path, "streams: {S: {subjects: [s.>], max_bytes: 100}}")
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "max_bytes": 100}))
        await settled(js, "S")
        return verdicts["ST301"].quantities["bytes"], stored - (await state(js, "S"))["bytes"]

    predicted, gone = talk(account, work)
    assert predicted <= gone < predicted + 50


@on_every_version
@pytest.mark.parametrize(("gap", "direct"), [(False, False), (True, True), (True, False)])
def test_messages_too_old_are_counted_without_a_trace(
    account: Account, tmp_path: Path, gap: bool, direct: bool
) -> None:
    async def work(js: JetStream) -> tuple[int, range, int]:
        await filled(js, gap=gap, allow_direct=direct)
        await asyncio.sleep(0.5)  # ages are what this is about
        await publish(js, *SUBJECTS)
        stored = await times(js, "S")
        old = sum(time < time_before(stored[-1], 250_000_000) for time in stored)
        consumers = (await state(js, "S"))["consumer_count"]
        text = f"streams: {{S: {{subjects: [s.>], max_age: 250ms, allow_direct: {str(direct).lower()}}}}}"
        verdicts = await planned(js, tmp_path, text)
        afterwards = done(await js.request("STREAM.INFO.S"))
        by_now = sum(time < time_before(afterwards["ts"], 250_000_000) for time in stored)
        found = range(old, by_now + 1)  # the newest too may be that old by the time of the plan
        return verdicts["ST301"].quantities["messages"], found, afterwards["state"]["consumer_count"] - consumers

    predicted, found, consumers = talk(account, work)
    assert predicted in found
    assert consumers == 0


@on_every_version
def test_what_never_ends_outlasts_a_shorter_age(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, Mapping[str, int], int]:
        text = "streams: {S: {subjects: [s.>], allow_msg_ttl: true, duplicate_window: 100ms%s}}"
        await applied(js, tmp_path, text % "")
        for ttl in ("never", "1h", "never", "1h"):
            await js.pipeline.nc.jetstream().publish("s.a", b"x", headers={"Nats-TTL": ttl})
        await publish(js, "s.a")
        await make_consumer(js, "S", "behind")
        await asyncio.sleep(0.5)  # ages are what this is about
        verdict = (await planned(js, tmp_path, text % ", max_age: 250ms"))["ST301"]
        config = done(await js.request("STREAM.INFO.S"))["config"]
        done(await js.request("STREAM.UPDATE.S", {**config, "max_age": 250_000_000}))
        return verdict.message, verdict.quantities, await settled(js, "S", 2)

    said, quantities, held = talk(account, work)
    assert "apply deletes up to 5 of 5 messages" in said and ", but none with `Nats-TTL: never`" in said, said
    assert "behind has not processed up to 5 of them" in said, said
    assert (quantities["messages"], held) == (5, 2)


@on_every_version
def test_copies_whose_time_has_ended_go_when_their_stream_gets_times_to_live(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, int, int]:
        text = "streams: {O: {subjects: [s.>], allow_msg_ttl: true}, S: {sources: [{name: O}]%s}}"
        await applied(js, tmp_path, text % "")
        for ttl in ("1s", "1h", "1s"):
            await js.pipeline.nc.jetstream().publish("s.a", b"x", headers={"Nats-TTL": ttl})
        await settled(js, "O", 1)
        held = await settled(js, "S", 3)
        verdict = (await planned(js, tmp_path, text % ", allow_msg_ttl: true"))["ST301"]
        config = done(await js.request("STREAM.INFO.S"))["config"]
        done(await js.request("STREAM.UPDATE.S", {**config, "allow_msg_ttl": True}))
        return verdict.message, held, await settled(js, "S", 1)

    said, before_it, after_it = talk(account, work)
    assert "up to 3 messages" in said
    assert (before_it, after_it) == (3, 1)


@on_every_version
def test_readers_of_what_goes_are_named_with_what_they_miss(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> str:
        await filled(js, gap=False)
        for name, config in {"ahead": {}, "behind": {}, "west": {"filter_subject": "s.b"}}.items():
            await make_consumer(js, "S", name, **config)
        await take(js, "S", "ahead", 6)
        await take(js, "S", "behind", 2)
        verdicts = await planned(js, tmp_path, "streams: {S: {subjects: [s.>], max_msgs: 3}}")
        return verdicts["ST301"].message

    assert talk(account, work).endswith(
        "behind has not processed 3 of them and west 1; this may affect consumer/S/behind (owned by no topology), "
        "consumer/S/west (owned by no topology)"
    )


NOT_RECEIVED = "which of them a consumer has yet to receive was not counted"
NOT_ACKNOWLEDGED = "the server does not tell which messages a consumer has acknowledged"
REASONS = {
    "acknowledges nothing": ("none", 0, 6, NOT_RECEIVED),
    "acknowledged all that it received": ("explicit", 6, 0, NOT_RECEIVED),
    "received all and acknowledged some": ("explicit", 6, 4, NOT_ACKNOWLEDGED),
    "received some and acknowledged some": ("explicit", 6, 2, f"{NOT_ACKNOWLEDGED} and {NOT_RECEIVED}"),
}


@on_every_version
@pytest.mark.parametrize(("policy", "acknowledged", "others", "why"), REASONS.values(), ids=REASONS.keys())
def test_bounds_of_what_a_reader_misses_have_the_reason_that_holds_for_it(
    account: Account, tmp_path: Path, policy: str, acknowledged: int, others: int, why: str
) -> None:
    """Of two subjects in turn all but the last message goes."""

    async def work(js: JetStream) -> str:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "audit", ack_policy=policy)
        await publish(js, *("s.a", "s.b") * 5)
        await take(js, "S", "audit", acknowledged)
        await take(js, "S", "audit", others, acknowledge=False)
        return (await planned(js, tmp_path, "streams: {S: {subjects: [s.>], max_msgs_per_subject: 1}}"))[
            "ST301"
        ].message

    said = talk(account, work)
    assert f"(only bounds: {why})" in said


@on_every_version
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "leader"])
@pytest.mark.parametrize("limit", ["max_msgs: 100", "max_bytes: 4300"])
def test_a_consumer_whose_messages_all_stay_is_no_reader_of_what_goes(
    account: Account, tmp_path: Path, limit: str, direct: bool
) -> None:
    """100 for one, then 100 for the other; every message counts 43 bytes."""

    async def work(js: JetStream) -> tuple[str, list[int]]:
        readers = "{a: {ack_policy: explicit, filter_subject: s.a}, b: {ack_policy: explicit, filter_subject: s.b}}"
        queue = f"subjects: [s.>], retention: workqueue, allow_direct: {str(direct).lower()}, consumers: {readers}"
        await applied(js, tmp_path, f"streams: {{S: {{{queue}}}}}")
        await asyncio.gather(*(publish(js, "s.a") for _ in range(100)))
        await asyncio.gather(*(publish(js, "s.b") for _ in range(100)))
        verdicts = await applied(js, tmp_path, f"streams: {{S: {{{queue}, {limit}}}}}", "ST301")
        assert await settled(js, "S", 100) == 100
        left = [done(await js.request(f"CONSUMER.INFO.S.{name}"))["num_pending"] for name in ("a", "b")]
        return verdicts["ST301"].message, left

    said, left = talk(account, work)
    assert said.endswith("; a has not processed 100 of them"), said
    assert left == [0, 100]


@on_every_version
def test_the_queue_of_a_group_that_is_behind_is_named_too(account: Account, tmp_path: Path) -> None:
    group = "{type: elastic, max_members: 2, partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}], max_buffered_msg: 3}"
    file = f"streams: {{S: {{subjects: [s.>], max_msgs: {{}}, groups: {{g: {group}}}}}}}"

    async def work(js: JetStream) -> str:
        await applied(js, tmp_path, file.replace("{}", "-1"))
        await filled_queue(js)
        return (await planned(js, tmp_path, file.replace("{}", "4")))["ST301"].message

    assert talk(account, work).endswith("; stream S-g has not yet copied all of S, and may miss some of them")


async def filled_queue(js: JetStream) -> None:
    """Ten messages, of which the queue has room for three; that it is behind is told once it has tried again."""
    await publish(js, *("s.a", "s.b") * 5)
    async with asyncio.timeout(60):
        while not done(await js.request("STREAM.INFO.S-g"))["sources"][0]["lag"]:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)


LIMITS = {"max_msgs": 10, "max_bytes": 500, "max_msgs_per_subject": 5}


@on_every_version
@pytest.mark.parametrize("lowered", list(combinations(LIMITS, 2)), ids=" and ".join)
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_several_limits_together_delete_no_more_than_the_plan_said(
    account: Account, tmp_path: Path, lowered: tuple[str, ...], storage: str
) -> None:
    """The oldest go first. What is left is on one subject then, which the other limit trims again."""

    async def work(js: JetStream) -> tuple[list[Verdict], int]:
        before = {"subjects": ["s.>"], "storage": storage, "max_msgs_per_subject": 100}
        after = before | {one: LIMITS[one] for one in lowered}
        await make_stream(js, "S", **before)
        await publish(js, *(["s.a"] * 30 + ["s.b"] * 40 + ["s.a"] * 10))
        await make_consumer(js, "S", "c")
        found = await plan(read(tmp_path, json.dumps({"streams": {"S": after}})), js, RunOptions())
        done(await js.request("STREAM.UPDATE.S", {"name": "S", **after}))
        verdicts = [one for change in found.plan.changes for one in change.verdicts if one.code == "ST301"]
        return verdicts, 80 - await settled(js, "S")

    verdicts, gone = talk(account, work)
    assert len(verdicts) == 2
    for said in verdicts:
        bounds = said.bounds.get("messages", exactly(said.quantities["messages"]))
        assert bounds.least <= gone <= bounds.most, said.message
        assert bounds.least <= said.quantities["unprocessed"] and gone <= said.quantities["unprocessed"], said.message
        assert f"; with {lowered[verdicts.index(said) - 1]}, " in said.message, said.message


PRESSED = [
    {"max_msgs": 10},
    {"max_bytes": 500},
    {"max_msgs": 10, "max_bytes": 500},
    {"max_msgs": 10, "max_msgs_per_subject": 5},
]


@on_every_version
@pytest.mark.parametrize("limits", PRESSED, ids=" and ".join)
def test_a_stream_that_begins_to_drop_deletes_as_much_as_the_plan_said(
    account: Account, tmp_path: Path, limits: dict[str, int]
) -> None:
    """It holds more than its limits, which it has refused to exceed since they were lowered."""

    async def work(js: JetStream) -> tuple[list[Verdict], int]:
        before = {"subjects": ["s.>"], "discard": "new", "max_msgs_per_subject": 100}
        await make_stream(js, "S", **before)
        await publish(js, *(["s.a"] * 30 + ["s.b"] * 40 + ["s.a"] * 10))
        await make_consumer(js, "S", "c")
        await take(js, "S", "c", 20)
        of_stream = {one: value for one, value in limits.items() if one != "max_msgs_per_subject"}
        done(await js.request("STREAM.UPDATE.S", {"name": "S", **before, **of_stream}))
        after = {"max_msgs_per_subject": 100} | limits | {"subjects": ["s.>"], "discard": "old"}
        found = await plan(read(tmp_path, json.dumps({"streams": {"S": after}})), js, RunOptions())
        assert (await state(js, "S"))["messages"] == 80
        done(await js.request("STREAM.UPDATE.S", {"name": "S", **after}))
        verdicts = [one for change in found.plan.changes for one in change.verdicts if one.code in ("ST301", "ST603")]
        return verdicts, 80 - await settled(js, "S")

    verdicts, gone = talk(account, work)
    assert {said.code for said in verdicts} == {"ST603", *("ST301" for one in limits if one == "max_msgs_per_subject")}
    for said in verdicts:
        bounds = said.bounds.get("messages", exactly(said.quantities["messages"]))
        assert bounds.least <= gone <= bounds.most, said.message
        assert gone - 20 <= said.quantities["unprocessed"] <= bounds.most, said.message
        assert "; c has not processed" in said.message, said.message
    drops = [said.message for said in verdicts if said.code == "ST603"]
    assert all("are stored (c has not processed 60 of them)" in message for message in drops), drops


@on_every_version
def test_publishers_are_refused_until_as_many_messages_are_gone_as_the_plan_said(
    account: Account, tmp_path: Path
) -> None:
    """The same change deletes 20 of the 80 by another limit."""

    async def work(js: JetStream) -> tuple[Verdict, int]:
        before = {"subjects": ["s.>"], "discard": "new", "max_msgs_per_subject": 100, "retention": "workqueue"}
        await make_stream(js, "S", **before)
        await publish(js, *(["s.a"] * 40 + ["s.b"] * 40))
        await make_consumer(js, "S", "c")
        after = before | {"max_msgs_per_subject": 30, "max_msgs": 40}
        said = (await planned(js, tmp_path, json.dumps({"streams": {"S": after}})))["ST601"]
        done(await js.request("STREAM.UPDATE.S", {"name": "S", **after}))
        assert await settled(js, "S", 60) == 60
        taken = 0
        while "error" in json.loads((await js.pipeline.nc.request("s.c", b"")).data):
            await take(js, "S", "c", 1)
            taken += 1
        return said, taken

    said, taken = talk(account, work)
    assert said.quantities["over"] == taken == 21
    assert "80 messages are stored, this change leaves 60 messages, and max_msgs becomes 40 messages" in said.message
    assert said.message.endswith("until 21 messages are gone; c (80 to process) makes room by acknowledging")


@on_every_version
def test_a_full_interest_stream_refuses_what_is_wanted_and_takes_the_rest(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, list[bool]]:
        before = {"subjects": ["s.>"], "discard": "new", "retention": "interest"}
        await make_stream(js, "S", **before)
        await make_consumer(js, "S", "c", filter_subject="s.a")
        await publish(js, *["s.a"] * 5)
        after = before | {"max_msgs": 3}
        said = (await planned(js, tmp_path, json.dumps({"streams": {"S": after}})))["ST601"]
        done(await js.request("STREAM.UPDATE.S", {"name": "S", **after}))
        answers = [json.loads((await js.pipeline.nc.request(one, b"", timeout=20)).data) for one in ("s.a", "s.b")]
        return said.message, ["error" in one for one in answers]

    said, refused = talk(account, work)
    assert "refuses every publish that a consumer wants (10077)" in said
    assert refused == [True, False]
