"""Where a new consumer starts is where the plan said, and what comes or is skipped is as many messages as it said."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.journeys.plan.plan import plan
from reconciler.kinds.consumer_position.recorded_position import MARGIN
from reconciler.model.run_options import RunOptions
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, publish, take, times
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

STREAM = "streams: {S: {subjects: [s.>], allow_direct: true}}"
MIXED = ("s.a", "s.b", "s.a", "s.c", "s.a")
"""Ten messages in two rounds: six of s.a, two of s.b, two of s.c."""


def text(consumer: str, retention: str = "limits") -> str:
    return STREAM.replace(
        "true}", f"true, retention: {retention}, consumers: {{c: {{ack_policy: explicit{consumer}}}}}}}"
    )


async def of_consumer(js: JetStream, folder: Path, file: str, *allowed: str) -> PlannedChange:
    options = RunOptions(allow=tuple((code, "*") for code in allowed))
    changes = (await plan(read(folder, file), js, options)).plan.changes
    return next(one for one in changes if one.address == "consumer/S/c")


async def coming(js: JetStream) -> int:
    return int(done(await js.request("CONSUMER.INFO.S.c"))["num_pending"])


async def messages(js: JetStream) -> int:
    return int(done(await js.request("STREAM.INFO.S"))["state"]["messages"])


SAID = {
    "": ("It starts at the first of 10 stored messages", {"stored": 10}),
    ", filter_subject: s.a": ("It starts at the first of 6 stored messages", {"stored": 6}),
    ", filter_subjects: [s.a, s.b]": ("It starts at the first of 8 stored messages", {"stored": 8}),
    ", deliver_policy: new": ("It starts at the next new message, and 10 stored messages are skipped", {"skipped": 10}),
    ", deliver_policy: new, filter_subject: s.b": (
        "It starts at the next new message, and 2 stored messages are skipped",
        {"skipped": 2},
    ),
    ", deliver_policy: last": (
        "It starts at the last of 10 stored messages, and 9 stored messages are skipped",
        {"stored": 1, "skipped": 9},
    ),
    ", deliver_policy: last_per_subject, filter_subject: s.>": (
        "It starts at the last message of each subject in 10 stored messages",
        {},
    ),
    ", deliver_policy: by_start_sequence, opt_start_seq: 8": (
        "It starts at sequence 8, with 3 stored messages from there on, and 7 stored messages are skipped",
        {"stored": 3, "skipped": 7},
    ),
    ", deliver_policy: by_start_sequence, opt_start_seq: 8, filter_subject: s.a": (
        "It starts at sequence 8, with 2 stored messages from there on, and 4 stored messages are skipped",
        {"stored": 2, "skipped": 4},
    ),
    ", deliver_policy: by_start_sequence, opt_start_seq: 14": (
        "It starts at sequence 14, and the stream is at 10: the next 3 messages are skipped",
        {"skipped": 3},
    ),
}


@on_every_version
def test_what_a_new_consumer_is_given_is_what_was_said(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> dict[str, Any]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED, *MIXED)
        found = {}
        for consumer in SAID:
            change = await of_consumer(js, tmp_path, text(consumer))
            await applied(js, tmp_path, text(consumer))
            (line,) = change.consequences
            found[consumer] = (line.message.partition(". A consumer")[0], dict(line.quantities))
            assert await coming(js) == line.quantities.get("stored", 3 if "subject," in consumer else 0), (
                consumer,
                line,
            )
            await applied(js, tmp_path, f"{STREAM}\nforget: [consumer/S/c]")
            done(await js.request("CONSUMER.DELETE.S.c"))
        return found

    assert talk(account, work) == SAID


@on_every_version
@pytest.mark.parametrize(("filter", "number"), [("", 0), (", filter_subject: s.>", 1)])
def test_without_a_filter_the_last_message_is_that_with_the_last_sequence_even_if_it_was_deleted(
    account: Account, tmp_path: Path, filter: str, number: int
) -> None:
    async def work(js: JetStream) -> tuple[str, dict[str, int], int]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED, *MIXED)
        done(await js.request("STREAM.MSG.DELETE.S", {"seq": 10}))
        consumer = f", deliver_policy: last{filter}"
        (line,) = (await of_consumer(js, tmp_path, text(consumer))).consequences
        await applied(js, tmp_path, text(consumer))
        return line.message.partition(". A consumer")[0], dict(line.quantities), await coming(js)

    message, said, comes = talk(account, work)
    assert comes == number == said.get("stored", 0)
    assert message == (
        "It starts at the last of 9 stored messages, and 8 stored messages are skipped"
        if number
        else "It starts at the end of 9 stored messages, since the last message was deleted, and 9 stored messages are skipped"
    )


TRIMMED = {
    ("max_msgs: 4", ""): ("It starts at the first of 4 stored messages", {"stored": 4}),
    ("max_msgs: 4", ", deliver_policy: new"): (
        "It starts at the next new message, and 4 stored messages are skipped",
        {"skipped": 4},
    ),
    ("max_msgs: 4", ", deliver_policy: by_start_sequence, opt_start_seq: 3"): (
        "It starts at sequence 3, with 4 stored messages from there on",
        {"stored": 4},
    ),
    ("max_msgs: 4", ", deliver_policy: by_start_sequence, opt_start_seq: 9"): (
        "It starts at sequence 9, with 2 stored messages from there on, and 2 stored messages are skipped",
        {"stored": 2, "skipped": 2},
    ),
    ("max_msgs: 9", ", filter_subject: s.a"): (
        "It starts at the first of at least 5 and at most 6 stored messages",
        {"stored": 6},
    ),
}


@on_every_version
@pytest.mark.parametrize(("limit", "consumer"), TRIMMED)
def test_what_the_same_plan_deletes_is_not_promised(
    account: Account, tmp_path: Path, limit: str, consumer: str
) -> None:
    async def work(js: JetStream) -> tuple[str, dict[str, int]]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED, *MIXED)
        file = text(consumer).replace("allow_direct", f"{limit}, allow_direct")
        change = await of_consumer(js, tmp_path, file, "ST301")
        await applied(js, tmp_path, file, "ST301")
        (line,) = change.consequences
        most = line.quantities.get("stored", 0)
        least = line.bounds["stored"].least if "stored" in line.bounds else most
        assert least <= await coming(js) <= most
        return line.message, dict(line.quantities)

    assert talk(account, work) == TRIMMED[limit, consumer]


@on_every_version
def test_what_comes_before_the_sequence_it_starts_at_is_skipped_as_said(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[int, list[str]]:
        file = text(", deliver_policy: by_start_sequence, opt_start_seq: 4")
        change = await of_consumer(js, tmp_path, file)
        await applied(js, tmp_path, file)
        await publish(js, *MIXED)
        return change.consequences[0].quantities["skipped"], await take(js, "S", "c", 2)

    assert talk(account, work) == (3, list(MIXED[3:]))


@on_every_version
@pytest.mark.parametrize("direct", ["true", "false"])
def test_messages_since_a_time_are_counted(account: Account, tmp_path: Path, direct: str) -> None:
    """Without direct reads no server counts from a time on, but here every sequence holds a message."""

    async def work(js: JetStream) -> tuple[dict[str, int], int]:
        await applied(js, tmp_path, STREAM.replace("true", direct))
        await publish(js, *MIXED)
        since = f", deliver_policy: by_start_time, opt_start_time: '{(await times(js, 'S'))[3]}'"
        file = text(since).replace("true", direct)
        change = await of_consumer(js, tmp_path, file)
        await applied(js, tmp_path, file)
        return dict(change.consequences[0].quantities), await coming(js)

    assert talk(account, work) == ({"stored": 2, "skipped": 3}, 2)


@on_every_version
def test_on_a_work_queue_it_starts_with_what_is_left(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[dict[str, int], int]:
        await applied(js, tmp_path, text("", "workqueue"))
        await publish(js, *MIXED)
        await take(js, "S", "c", 2)
        done(await js.request("CONSUMER.DELETE.S.c"))
        change = await of_consumer(js, tmp_path, text("", "workqueue"))
        await applied(js, tmp_path, text("", "workqueue"))
        return dict(change.consequences[0].quantities), await coming(js)

    assert talk(account, work) == ({"stored": 3}, 3)


def test_beside_an_empty_or_a_new_stream_there_is_nothing_to_say(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[tuple[object, ...]]:
        new = (await of_consumer(js, tmp_path, text(", deliver_policy: new"))).consequences
        await make_stream(js, "S", subjects=["s.>"])
        return [new, (await of_consumer(js, tmp_path, text(", filter_subject: s.a"))).consequences]

    assert talk(account, work) == [(), ()]


BEFORE = "A consumer of this name was recorded until 20"
REMOVED = {
    "": ". {0}: 5 of them were stored by then, and what is still stored of what it had acknowledged is redelivered",
    ", filter_subject: s.a": ". {0}: 3 of them were stored by then, and what is still stored of what it had acknowledged is redelivered",
    ", filter_subject: s.c": ". {0}: 1 of them was stored by then, and what is still stored of what it had acknowledged is redelivered",
    ", deliver_policy: new": "",
    ", deliver_policy: by_start_sequence, opt_start_seq: 4": (
        ". {0}: 2 of them were stored by then, and what is still stored of what it had acknowledged is redelivered"
    ),
    ", deliver_policy: by_start_sequence, opt_start_seq: 6": "",
}


@on_every_version
def test_one_that_was_removed_and_is_declared_again_says_what_comes_again(account: Account, tmp_path: Path) -> None:
    """Five are stored, and acknowledged, when it is removed, and five come later."""

    async def work(js: JetStream) -> dict[str, str]:
        found = {}
        await applied(js, tmp_path, text(""))
        await publish(js, *MIXED)
        await take(js, "S", "c", 5)
        await applied(js, tmp_path, f"{STREAM}\nremoved: [{{address: consumer/S/c, reason: not needed}}]", "CO301")
        await publish(js, *MIXED)
        for consumer in REMOVED:
            (line,) = (await of_consumer(js, tmp_path, text(consumer))).consequences
            _, dot, said = line.message.partition(". ")
            found[consumer] = dot + re.sub(re.escape(BEFORE) + r"[-0-9T:]{17}Z", "{0}", said)
        return found

    assert talk(account, work) == REMOVED


COPIES = {"a mirror": "mirror: {name: S}", "a source": "sources: [{name: S, filter_subject: s.a}]"}


@on_every_version
@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES.keys())
def test_a_copy_that_was_removed_with_its_consumer_says_what_it_copies_and_gives_again(
    account: Account, tmp_path: Path, copy: str
) -> None:
    copied = 10 if "mirror" in copy else 6
    part = "" if "mirror" in copy else " (only s.a is copied)"
    with_copy = f"{STREAM[:-1]}, C: {{{copy}, consumers: {{c: {{ack_policy: explicit}}}}}}}}\n"
    without = f"{STREAM}\nremoved: [{{address: stream/C, reason: r}}, {{address: consumer/C/c, reason: r}}]\n"

    async def work(js: JetStream) -> tuple[dict[str, list[str]], int]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED * 2)
        await applied(js, tmp_path, with_copy)
        await take(js, "C", "c", copied)
        await applied(js, tmp_path, without, "ST310", "CO310")
        changes = (await plan(read(tmp_path, with_copy), js, RunOptions())).plan.changes
        await applied(js, tmp_path, with_copy)
        said = {one.address: [note.message for note in one.consequences] for one in changes}
        return said, len(await take(js, "C", "c", copied))

    said, again = talk(account, work)
    assert said["stream/C"] == [f"It copies from S, which holds 10 messages{part}"]
    (known,) = said["consumer/C/c"]
    assert re.fullmatch(
        "A consumer of this name was recorded until .*Z, and what it had acknowledged is redelivered, as far as C copies it again",
        known,
    )
    assert again == copied


@on_every_version
def test_on_a_work_queue_one_that_was_removed_before_gets_nothing_again(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> str:
        await applied(js, tmp_path, text("", "workqueue"))
        await publish(js, *MIXED)
        await take(js, "S", "c", 2)
        file = STREAM.replace("true}", "true, retention: workqueue}")
        await applied(js, tmp_path, f"{file}\nremoved: [{{address: consumer/S/c, reason: not needed}}]", "CO301")
        return (await of_consumer(js, tmp_path, text("", "workqueue"))).consequences[0].message

    assert talk(account, work) == "It starts at the first of 3 stored messages"


async def made_again(js: JetStream, folder: Path, file: str) -> tuple[Verdict, int]:
    """What is said of a consumer that is gone, and how many messages it is given with consent."""
    done(await js.request("CONSUMER.DELETE.S.c"))
    (lost,) = (await of_consumer(js, folder, file)).verdicts
    await applied(js, folder, file, "CO312")
    return lost, await coming(js)


async def instead(js: JetStream, folder: Path, lost: Verdict) -> int:
    """How many it is given where the plan says that it may start without a loss."""
    assert "before sequence 4 when it was recorded on 20" in lost.message
    assert "opt_start_seq: 4, which skips nothing" in (lost.fix or "")
    await applied(js, folder, f"{STREAM}\nforget: [consumer/S/c]")
    done(await js.request("CONSUMER.DELETE.S.c"))
    await applied(js, folder, text(", deliver_policy: by_start_sequence, opt_start_seq: 4"))
    return await coming(js)


@on_every_version
def test_a_start_where_the_old_one_stood_is_not_said_to_repeat_less_where_nothing_it_wants_is_stored_before(
    account: Account, tmp_path: Path
) -> None:
    """Of other subjects something is."""
    file = "streams: {S: {subjects: [s.*], allow_direct: true, consumers: {c: {ack_policy: explicit, filter_subject: s.a}}}}"

    async def work(js: JetStream) -> Verdict:
        await make_stream(js, "S", subjects=["s.*"], allow_direct=True)
        await make_consumer(js, "S", "c", ack_policy="explicit", filter_subject="s.a")
        await publish(js, "s.b", "s.a", "s.a", "s.a")
        await take(js, "S", "c", 2)
        await applied(js, tmp_path, file)
        done(await js.request("STREAM.PURGE.S", {"filter": "s.a", "keep": 1}))
        done(await js.request("CONSUMER.DELETE.S.c"))
        (lost,) = (await of_consumer(js, tmp_path, file)).verdicts
        return lost

    lost = talk(account, work)
    assert (lost.code, "before sequence 4" in lost.message) == ("CO312", True)
    assert "it starts over with 1 stored message, even if it had processed them" in lost.message
    assert "redelivers less" not in (lost.fix or "")


@on_every_version
def test_an_interest_stream_keeps_nothing_for_a_consumer_that_somebody_deleted(
    account: Account, tmp_path: Path
) -> None:
    """Of five messages four went with it; the plan says that, whether or not anything is stored."""
    both = STREAM.replace(
        "true}", "true, retention: interest, consumers: {c: {ack_policy: explicit}, x: {filter_subject: s.c}}}"
    )

    async def work(js: JetStream) -> tuple[list[str], list[str], list[int]]:
        await applied(js, tmp_path, both)
        await publish(js, *MIXED)
        before = await messages(js)
        done(await js.request("CONSUMER.DELETE.S.c"))
        beside = [one.message for one in (await of_consumer(js, tmp_path, both)).consequences]
        after = await messages(js)
        await make_consumer(js, "S", "c", ack_policy="explicit")
        by_hand = [one.message for one in (await of_consumer(js, tmp_path, both)).consequences]
        return beside, by_hand, [before, after]

    beside, by_hand, numbers = talk(account, work)
    gone = "When the old one was deleted, the interest stream deleted what no other consumer wanted"
    assert f"{gone}, and keeps nothing for it until it is back" in beside
    assert f"{gone}, and kept nothing for it until somebody recreated it" in by_hand
    assert numbers == [5, 1]


@on_every_version
def test_what_went_with_its_stream_is_not_said_to_have_gone_with_it(account: Account, tmp_path: Path) -> None:
    """Somebody deleted the interest stream and made it again without the consumer."""
    file = text("", "interest")

    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, file)
        config = done(await js.request("STREAM.INFO.S"))["config"]
        done(await js.request("STREAM.DELETE.S"))
        done(await js.request("STREAM.CREATE.S", config))
        return [one.message for one in (await of_consumer(js, tmp_path, file)).consequences]

    assert not [one for one in talk(account, work) if "interest stream deleted" in one]


@on_every_version
def test_made_again_it_gets_twice_what_was_said_and_less_from_where_it_stood(account: Account, tmp_path: Path) -> None:
    """It had acknowledged three of ten when an apply wrote that down, and two more when it went."""

    async def work(js: JetStream) -> tuple[dict[str, int], int, int]:
        await applied(js, tmp_path, text(""))
        await publish(js, *MIXED, *MIXED)
        await take(js, "S", "c", 3)
        await applied(js, tmp_path, text(", description: later"))
        await take(js, "S", "c", 2)
        lost, comes = await made_again(js, tmp_path, text(", description: later"))
        return dict(lost.quantities), comes, await instead(js, tmp_path, lost)

    assert talk(account, work) == ({"redelivered": 10}, 10, 7)


@on_every_version
def test_made_again_at_new_messages_it_skips_what_was_said_and_nothing_from_where_it_stood(
    account: Account, tmp_path: Path
) -> None:
    """It was made when three were stored, seven came, and it had acknowledged two of them."""

    async def work(js: JetStream) -> tuple[dict[str, int], int, int]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED[:3])
        await applied(js, tmp_path, text(", deliver_policy: new"))
        await publish(js, *MIXED[3:], *MIXED)
        await take(js, "S", "c", 2)
        lost, comes = await made_again(js, tmp_path, text(", deliver_policy: new"))
        return dict(lost.quantities), comes, await instead(js, tmp_path, lost)

    assert talk(account, work) == ({"skipped": 7}, 0, 7)


@on_every_version
@pytest.mark.parametrize(
    ("start", "said", "comes"), [(8, {"skipped": 3}, 3), (2, {"redelivered": 9}, 9)], ids=["behind it", "before it"]
)
def test_made_again_at_a_start_of_the_file_it_skips_or_repeats_what_was_said(
    account: Account, tmp_path: Path, start: int, said: dict[str, int], comes: int
) -> None:
    """It began at 2 and stood at 5 when the last apply wrote that down."""

    async def work(js: JetStream) -> tuple[dict[str, int], int, bool]:
        began = text(", deliver_policy: by_start_sequence, opt_start_seq: 2")
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED, *MIXED)
        await applied(js, tmp_path, began)
        await take(js, "S", "c", 3)
        file = began.replace("seq: 2", f"seq: {start}, description: later")
        await applied(js, tmp_path, file)
        lost, coming_again = await made_again(js, tmp_path, file)
        return dict(lost.quantities), coming_again, "write opt_start_seq: 5" in (lost.fix or "")

    assert talk(account, work) == (said, comes, True)


@on_every_version
@pytest.mark.parametrize("policy", ["by_start_sequence", "by_start_time"])
def test_a_start_that_is_missing_is_refused_and_nothing_is_said_of_it(
    account: Account, tmp_path: Path, policy: str
) -> None:
    async def work(js: JetStream) -> PlannedChange:
        await make_stream(js, "S", subjects=["s.>"], allow_direct=True)
        await publish(js, *MIXED)
        return await of_consumer(js, tmp_path, text(f", deliver_policy: {policy}"))

    change = talk(account, work)
    assert {one.code for one in change.verdicts if one.refuses} == {"CO547"}
    assert change.consequences == ()


GROUP = (
    "{type: elastic, max_members: 2, partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}], members: [m]}"
)


@on_every_version
def test_a_new_group_begins_with_what_its_stream_holds(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[list[str], list[str], int]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED, *MIXED)
        grouped = STREAM.replace("true}", f"true, groups: {{g: {GROUP}}}}}")
        buffered = grouped.replace("type: elastic", "type: elastic, max_buffered_msg: 4")
        first = [one for text in (grouped, buffered) for one in (await plan(read(tmp_path, text), js)).plan.changes]
        await applied(js, tmp_path, grouped)
        queued = 0
        async with asyncio.timeout(30):
            while queued < len(MIXED) * 2:  # nothing announces that all is copied
                queued = int(done(await js.read("STREAM.INFO.S-g"))["state"]["messages"])
                await asyncio.sleep(0.02)
        again = (await plan(read(tmp_path, grouped), js)).plan.changes
        return [said.message for one in first for said in one.consequences], [one.address for one in again], queued

    said = "It starts with what S already holds: up to 10 messages"
    waiting = "Its queue holds no more than 4 messages at a time: the rest waits in S, as long as S stores it"
    assert talk(account, work) == ([said, said, waiting], [], len(MIXED) * 2)


async def recreated_by_hand(js: JetStream, folder: Path, file: str, **config: str) -> tuple[PlannedChange, int]:
    """What the plan says of a consumer that somebody recreated, and how many of its messages were processed before."""
    processed = int(done(await js.request("CONSUMER.INFO.S.c"))["ack_floor"]["stream_seq"])
    done(await js.request("CONSUMER.DELETE.S.c"))
    await make_consumer(js, "S", "c", **config)
    return await of_consumer(js, folder, file), processed


@on_every_version
@pytest.mark.parametrize(
    ("recorded", "since", "known"),
    [
        (0, 4, "(at its first message when it was recorded on"),
        (3, 2, "(before sequence 6 when it was recorded on"),
    ],
    ids=["before its first message", "three before it went"],
)
def test_recreated_by_hand_it_gets_again_no_more_than_was_said_however_far_the_old_one_had_come(
    account: Account, tmp_path: Path, recorded: int, since: int, known: str
) -> None:
    """An apply that has nothing to do records no position, so the record is older than what was processed."""

    async def work(js: JetStream) -> tuple[Verdict, int, list[str], PlannedChange, list[str]]:
        file = text(", filter_subject: s.a")
        await applied(js, tmp_path, file)
        await publish(js, *MIXED, *MIXED)
        if recorded:
            await take(js, "S", "c", recorded)
            file = file.replace("explicit", "explicit, description: later")
            await applied(js, tmp_path, file)
        await take(js, "S", "c", since)
        change, processed = await recreated_by_hand(
            js, tmp_path, file, filter_subject="s.a", **({"description": "later"} if recorded else {})
        )
        (lost,) = change.verdicts
        again = await take(js, "S", "c", recorded + since)
        still = await of_consumer(js, tmp_path, file)
        await applied(js, tmp_path, file)
        after = [one.address for one in (await plan(read(tmp_path, file), js)).plan.changes]
        return lost, processed, again, still, after

    lost, processed, again, still, after = talk(account, work)
    assert lost.code == "CO312"
    assert lost.message.startswith("the old one is gone with its position " + known)
    assert (
        "; it may have come further since): the new one continues at sequence 1, so up to 6 messages are"
        in lost.message
    )
    assert len(again) <= lost.quantities["redelivered"] == 6
    assert processed
    assert [dict(one.quantities) for one in still.verdicts] == [{"redelivered": 6}], "what came again stays said"
    (told,) = still.verdicts
    assert f"the new one has redelivered up to {len(again)} messages already, as far as the old one had" in told.message
    if left := 6 - len(again):
        assert f"so up to another {left} message" in told.message
    assert after == []


@on_every_version
@pytest.mark.parametrize("start", ["2026-01-01T09:00:00+09:00", "2026-01-01T00:00:00.5-03:30"])
def test_recreated_by_hand_with_a_start_in_local_time_it_is_judged_as_with_one_in_utc(
    account: Account, tmp_path: Path, start: str
) -> None:
    """A server keeps a start time in the zone in which a client wrote it."""

    async def work(js: JetStream) -> tuple[list[dict[str, Any]], str]:
        file, found = text(", filter_subject: s.a"), []
        await applied(js, tmp_path, file)
        await publish(js, *MIXED)
        for began in ("2026-01-01T00:00:00Z", start):
            how = {"deliver_policy": "by_start_time", "opt_start_time": began, "filter_subject": "s.a"}
            change, _ = await recreated_by_hand(js, tmp_path, file, **how)
            found.append({one.code: dict(one.quantities) for one in change.verdicts})
        return found, str(done(await js.request("CONSUMER.INFO.S.c"))["config"]["opt_start_time"])

    (in_utc, local), kept = talk(account, work)
    assert kept == start
    assert local == in_utc


@on_every_version
def test_what_came_after_it_was_recreated_by_hand_does_not_count(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[dict[str, int]]:
        found = []
        await applied(js, tmp_path, text(", filter_subject: s.a"))
        await publish(js, *MIXED)
        await take(js, "S", "c", 2)
        change, _ = await recreated_by_hand(js, tmp_path, text(", filter_subject: s.a"), filter_subject="s.a")
        found.append(dict(change.verdicts[0].quantities))
        await asyncio.sleep(MARGIN / 1e9 + 0.5)
        await publish(js, *MIXED, *MIXED)
        change = await of_consumer(js, tmp_path, text(", filter_subject: s.a"))
        found.append(dict(change.verdicts[0].quantities))
        await take(js, "S", "c", 3)
        change = await of_consumer(js, tmp_path, text(", filter_subject: s.a"))
        return [*found, *(dict(one.quantities) for one in change.verdicts)]

    assert talk(account, work) == [{"redelivered": 3}] * 3


@on_every_version
def test_the_start_where_a_recreated_one_is_wanted_is_one_decision(account: Account, tmp_path: Path) -> None:
    """Six of ten messages match; two of them were processed when the apply recorded it."""

    async def work(js: JetStream) -> tuple[list[Verdict], int]:
        file = text(", filter_subject: s.a")
        await applied(js, tmp_path, file)
        await publish(js, *MIXED, *MIXED)
        await take(js, "S", "c", 2)
        await applied(js, tmp_path, file.replace("explicit", "explicit, ack_wait: 1m"))
        done(await js.request("CONSUMER.DELETE.S.c"))
        await make_consumer(js, "S", "c", filter_subject="s.a", ack_wait=60_000_000_000)
        advised = text(", ack_wait: 1m, filter_subject: s.a, deliver_policy: by_start_sequence, opt_start_seq: 4")
        change = await of_consumer(js, tmp_path, advised)
        await applied(js, tmp_path, advised, "CO101")
        return [*change.verdicts], await coming(js)

    verdicts, comes = talk(account, work)
    assert [(one.code, one.quantities["redelivered"]) for one in verdicts] == [("CO101", comes)] == [("CO101", 4)]
    assert verdicts[0].message == (
        "deliver_policy cannot change from all to by_start_sequence. The server fixes it at creation, and somebody recreated this "
        "consumer since it was applied. Apply can recreate it at sequence 4, as this file says: the server delivers up to 4 messages "
        "from there on, including those that were processed since."
    )


@on_every_version
def test_a_later_start_than_the_record_is_told_with_what_it_skips(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> list[tuple[str, dict[str, int]]]:
        await applied(js, tmp_path, text(""))
        await publish(js, *MIXED, *MIXED)
        await take(js, "S", "c", 2)
        await applied(js, tmp_path, text(", ack_wait: 1m"))
        done(await js.request("CONSUMER.DELETE.S.c"))
        await make_consumer(js, "S", "c", ack_wait=60_000_000_000)
        later = text(", ack_wait: 1m, deliver_policy: by_start_sequence, opt_start_seq: 8")
        verdicts = (await of_consumer(js, tmp_path, later)).verdicts
        told = next(one for one in verdicts if one.code == "CO312")
        assert "skips up to 5 messages from sequence 3 on" in told.message
        assert "or write opt_start_seq: 3, which skips nothing" in (told.fix or "")
        await applied(js, tmp_path, later, "CO101")
        assert await coming(js) == 3
        return sorted((one.code, dict(one.quantities)) for one in verdicts)

    assert talk(account, work) == [("CO101", {"redelivered": 3, "unacknowledged": 0}), ("CO312", {"skipped": 5})]


@on_every_version
def test_a_start_that_is_taken_back_says_whether_something_was_delivered(account: Account, tmp_path: Path) -> None:
    """The file named a start for a consumer that was gone; then the line goes, before and after the first delivery."""

    async def work(js: JetStream) -> tuple[list[Verdict], list[str]]:
        await applied(js, tmp_path, STREAM)
        await publish(js, *MIXED)
        await applied(js, tmp_path, text(", deliver_policy: by_start_sequence, opt_start_seq: 4"))
        before = await of_consumer(js, tmp_path, text(""))
        await take(js, "S", "c", 1)
        after = await plan(read(tmp_path, text("")), js)
        await applied(js, tmp_path, text(""))
        assert await coming(js) == 1
        return [*before.verdicts], [one.code for change in after.plan.changes for one in change.verdicts]

    before, after = talk(account, work)
    assert after == []
    (said,) = before
    assert said.message.startswith(
        "deliver_policy cannot change from by_start_sequence to all. The server fixes it at creation, and this consumer has delivered "
        "nothing yet; once it has, apply only records the new value. "
    )
