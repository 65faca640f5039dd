"""What a server lets happen between streams, shown: copies that stop, loops, and readers who never hear anything."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.report.words.values import counted
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from reconciler.server.wire.pipeline import NoAnswer
from tests.agreement.harm import (
    Alone,
    as_text,
    carried_out,
    change,
    count,
    is_there,
    publish,
    pull,
    reaches,
    refused,
    shows,
    status,
)
from tests.groups.making import until
from tests.support.accounts import Account
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream, talk
from tests.support.servers import running
from tests.support.topologies import read
from tests.support.versions import on_every_version


@shows("XX204")
@on_every_version
def test_a_copy_takes_no_update_once_its_origin_has_outgrown_it(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", subjects=["o"], max_msg_size=50)
        mirror = await make_stream(js, "M", mirror={"name": "O"}, max_msg_size=50)
        await change(js, "O", max_msg_size=100)
        return await refused(js, "STREAM.UPDATE.M", {**mirror["config"], "description": "harmless"})

    code = talk(account, work)
    assert code == 10030
    return f"Once the origin's max_msg_size is above the mirror's, the server refuses every update of the mirror (err_code {code})."


@shows("XX211")
@on_every_version
@pytest.mark.parametrize("retention", ["limits", "workqueue"])
def test_a_copy_stops_at_the_first_message_that_is_too_large_for_it(account: Account, retention: str) -> str:
    async def work(js: JetStream) -> tuple[int, int, int]:
        await make_stream(js, "O", subjects=["o"], retention=retention)
        await make_stream(js, "COPY", sources=[{"name": "O"}], max_msg_size=200)
        await publish(js, "o")
        await reaches(1, js, "COPY")
        done(json.loads((await js.pipeline.nc.request("o", b"x" * 300, timeout=5)).data))
        await publish(js, "o", "o")
        await settles(js, "O", "COPY")
        stuck, left = await count(js, "COPY"), await count(js, "O")
        await change(js, "COPY", max_msg_size=-1)
        return stuck, left, await (settles(js, "COPY") if is_lost else reaches(4, js, "COPY"))

    is_lost = retention == "workqueue" and account.minor in ("2.11", "2.12")
    stuck, left, later = talk(account, work)
    assert (stuck, later) == (1, 1 if is_lost else 4)
    assert (left == 0) == is_lost
    return f"Of 4 messages of a {retention} stream, the second too large, {stuck} is copied; once the limit is gone, {later} are."


@shows("XX211")
@on_every_version
def test_what_becomes_of_a_first_message_that_is_too_large(account: Account) -> str:
    """A source on 2.11 leaves it out for good."""

    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", subjects=["o"])
        done(json.loads((await js.pipeline.nc.request("o", b"x" * 300, timeout=5)).data))
        await publish(js, "o", "o")
        await make_stream(js, "COPY", sources=[{"name": "O"}], max_msg_size=200)
        stuck = await (reaches(2, js, "COPY") if is_left_out else settles(js, "COPY"))
        await change(js, "COPY", max_msg_size=-1)
        return stuck, await reaches(2 if is_left_out else 3, js, "COPY")

    is_left_out = account.minor == "2.11"
    stuck, later = talk(account, work)
    assert (stuck, later) == ((2, 2) if is_left_out else (0, 3))
    return f"Of 3 messages, the first too large, a source copies {stuck}; once the limit is gone, it has {later}."


@shows("XX214")
@pytest.mark.parametrize("account", ["2.11", "2.12"], indirect=True)
def test_a_copy_stops_at_the_first_message_with_a_rollup_that_it_does_not_take(account: Account) -> str:
    async def work(js: JetStream) -> tuple[dict[str, int], object, list[int]]:
        await make_stream(js, "O", subjects=["o.>"], allow_rollup_hdrs=True)
        await make_stream(js, "SOURCES", sources=[{"name": "O"}])
        await make_stream(js, "MIRRORS", mirror={"name": "O"})
        await make_stream(js, "TAKES", sources=[{"name": "O"}], allow_rollup_hdrs=True)
        await publish(js, "o.a", "o.b")
        for name in ("SOURCES", "MIRRORS", "TAKES"):
            await reaches(2, js, name)
        await js.pipeline.nc.jetstream().publish("o.a", b"", headers={"Nats-Rollup": "sub"})
        await publish(js, *["o.c"] * 5)
        await reaches(7, js, "TAKES")
        await settles(js, "SOURCES", "MIRRORS")
        (source,) = done(await js.request("STREAM.INFO.SOURCES"))["sources"]
        held = {name: await count(js, name) for name in ("SOURCES", "MIRRORS", "TAKES")}
        for name in ("SOURCES", "MIRRORS"):
            await change(js, name, allow_rollup_hdrs=True)
        return held, source.get("error"), [await reaches(7, js, name) for name in ("SOURCES", "MIRRORS")]

    mirrored = 7 if account.minor == "2.11" else 2
    held, error, later = talk(account, work)
    assert (held, error, later) == ({"SOURCES": 2, "MIRRORS": mirrored, "TAKES": 7}, None, [7, 7])
    return (
        f"2 messages, one with Nats-Rollup, and 5 more: a source holds 2 and shows no error, a mirror holds {mirrored}, and a source "
        "with allow_rollup_hdrs holds all. Once they have it too, so do the others."
    )


async def settles(js: JetStream, *streams: str) -> int:
    """How many messages the last of these streams holds when no number changes for two seconds."""
    seen, since = list[int](), asyncio.get_running_loop().time()
    while asyncio.get_running_loop().time() - since < 2:
        now = [await count(js, name) for name in streams]
        if now != seen:
            seen, since = now, asyncio.get_running_loop().time()
        await asyncio.sleep(0.05)
    return seen[-1]


@shows("XX206")
@on_every_version
def test_a_copy_of_nothing_is_taken_and_stays_empty(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "M", mirror={"name": "MISSING"})
        return await count(js, "M")

    held = talk(account, work)
    assert held == 0
    return f"A mirror of a stream that does not exist is made, and holds {held} messages."


@shows("XX228")
@on_every_version
@pytest.mark.parametrize(
    ("limits", "refusal"), [({"max_ack_pending": 100}, 10082), ({"inactive_threshold": 9_999_999_999}, 10153)]
)
@pytest.mark.parametrize("retention", ["limits", "workqueue"])
def test_an_origin_whose_limits_forbid_it_feeds_no_copy(
    account: Account, limits: dict[str, int], refusal: int, retention: str
) -> str:
    copying: tuple[dict[str, Any], ...] = ({"mirror": {"name": "O"}}, {"sources": [{"name": "O"}]})

    async def work(js: JetStream) -> set[tuple[int, object]]:
        await make_stream(js, "O", subjects=["o"], retention=retention, consumer_limits=limits)
        await publish(js, "o")
        names = ["A", "B"] if retention == "limits" else ["A"]
        for name, says in zip(names, copying, strict=False):
            await make_stream(js, name, **says)
        return {await _fed(js, name) for name in names}

    durably = retention == "workqueue" and account.version >= "2.14"
    found = talk(account, work)
    assert found == ({(1, None)} if durably else {(0, refusal)})
    [(held, why)] = found
    said = f"the copy holds {held} of 1 message" + (
        f", and the server refuses to feed it (err_code {why})" if why else ""
    )
    return f"consumer_limits of {as_text(limits)} at an origin of {retention} retention: {said}."


@shows("XX228")
@on_every_version
@pytest.mark.parametrize("retention", ["limits", "interest"])
def test_an_origin_with_as_many_consumers_as_it_may_have_feeds_no_copy(account: Account, retention: str) -> str:
    async def work(js: JetStream) -> tuple[int, object]:
        await make_stream(js, "O", subjects=["o"], retention=retention, max_consumers=1)
        await make_consumer(js, "O", "A")
        await publish(js, "o")
        await make_stream(js, "M", mirror={"name": "O"})
        return await _fed(js, "M")

    held, why = talk(account, work)
    assert (held, why) == ((1, None) if account.minor == "2.15" else (0, 10026))
    refused = f", and the server refuses to feed it (err_code {why})" if why else ""
    return f"max_consumers: 1 and one consumer at an origin of {retention} retention: a mirror holds {held} of 1 message{refused}."


async def _fed(js: JetStream, name: str, already: int = 0) -> tuple[int, object]:
    """What a copy holds once it has taken in more or was refused it, and the refusal."""
    async with asyncio.timeout(60):
        while True:
            info = done(await js.read(f"STREAM.INFO.{name}"))
            error = (info.get("mirror") or info["sources"][0]).get("error", {}).get("err_code")
            if error or info["state"]["messages"] > already:
                return info["state"]["messages"], error
            await asyncio.sleep(0.05)


@shows("ST610")
@pytest.mark.parametrize("minor", ["2.14", "2.15"])
def test_a_copy_at_work_whose_origin_forbids_it_stops_at_the_next_restart(minor: str) -> str:
    async def make(js: JetStream) -> None:
        await make_stream(js, "O", subjects=["o"])
        await make_stream(js, "M", mirror={"name": "O"})
        await publish(js, "o")
        assert await reaches(1, js, "M") == 1
        await change(js, "O", consumer_limits={"max_ack_pending": 100})
        await publish(js, "o")
        assert await reaches(2, js, "M") == 2

    async def look(js: JetStream) -> tuple[int, object]:
        await publish(js, "o")
        return await _fed(js, "M", already=2)

    with running(minor) as server:
        talk(Alone(server), make)
        server.restart()
        held, why = talk(Alone(server), look)
    assert (held, why) == (2, 10082)
    return f"The copy took in 2 messages. After a restart it is refused the third (err_code {why}), and holds {held}."


@shows("XX207")
@on_every_version
def test_direct_reads_of_a_mirror_are_as_its_origin_says(account: Account) -> str:
    async def work(js: JetStream) -> tuple[object, object]:
        await make_stream(js, "O", subjects=["o"], allow_direct=False)
        created = await make_stream(js, "M", mirror={"name": "O"}, mirror_direct=True)
        updated = await change(js, "M", mirror_direct=True)
        return created["config"]["mirror_direct"], updated["config"]["mirror_direct"]

    created, updated = talk(account, work)
    assert (created, updated) == (False, False)
    return "mirror_direct: true comes back as false, from the create and from an update: the origin does not allow direct gets."


@on_every_version
def test_a_stream_that_is_no_mirror_keeps_mirror_direct_and_answers_no_direct_get(account: Account) -> None:
    async def work(js: JetStream) -> tuple[object, object]:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        await change(js, "S", mirror_direct=True)
        kept = done(await js.request("STREAM.INFO.S"))["config"]["mirror_direct"]
        return kept, await js.pipeline.request("$JS.API.DIRECT.GET.S", b'{"seq": 1}', within=5)

    kept, answer = talk(account, work)
    assert (kept, isinstance(answer, NoAnswer)) == (True, True), answer


@shows("XX210")
@on_every_version
@pytest.mark.parametrize(
    ("part", "asked"),
    [({"mirror": {"name": "O", "filter_subject": "o.1"}}, "o.2"), ({"mirror": {"name": "O"}, "max_msgs": 1}, "o.1")],
)
def test_a_mirror_of_a_part_answers_for_all_of_its_origin(account: Account, part: dict[str, object], asked: str) -> str:
    """One get in some of those of the origin is answered by the mirror."""

    async def work(js: JetStream) -> set[str]:
        await make_stream(js, "O", subjects=["o.*"], allow_direct=True)
        await publish(js, "o.1", "o.2")
        await make_stream(js, "M", **part)
        await reaches(1, js, "M")
        found: set[str] = set()
        async with asyncio.timeout(60):
            while len(found) < 2:
                reply = await js.pipeline.nc.request(f"$JS.API.DIRECT.GET.O.{asked}", b"", timeout=5)
                found.add((reply.headers or {}).get("Status", "200"))
        return found

    found = talk(account, work)
    assert found == {"200", "404"}
    return f"Direct gets of one and the same message are answered with {' or '.join(sorted(found))}, by chance ({as_text(part)})."


@shows("XX209")
@on_every_version
@pytest.mark.parametrize(
    ("copy", "left"),
    [
        ({"sources": [{"name": "Q"}]}, 0),
        ({"sources": [{"name": "Q", "filter_subject": "q.1"}]}, 3),
        ({"mirror": {"name": "Q", "filter_subject": "q.1"}}, 3),
    ],
)
def test_a_work_queue_keeps_nothing_that_is_copied(account: Account, copy: dict[str, object], left: int) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "Q", subjects=["q.*"], retention="workqueue")
        await publish(js, "q.1", "q.2", "q.1", "q.2", "q.1", "q.2")
        await make_stream(js, "ALL", **copy)
        await reaches(6 - left, js, "ALL")
        async with asyncio.timeout(30):
            while (found := await count(js, "Q")) > left:  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        return found

    found = talk(account, work)
    assert found == left
    return f"The work queue held 6 messages; with the copy it holds {found} ({as_text(copy)})."


@shows("XX209")
@on_every_version
@pytest.mark.parametrize("retention", ["workqueue", "interest"])
def test_before_2_14_nothing_is_kept_for_a_full_copy(account: Account, retention: str) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "Q", subjects=["q"], retention=retention)
        await make_stream(js, "ALL", sources=[{"name": "Q"}], max_msgs=4, discard="new")
        async with asyncio.timeout(60):
            while await count(js, "ALL") < 4:
                await publish(js, "q")
        await publish(js, *["q"] * 20)
        if account.minor in ("2.11", "2.12"):
            await until(js, lambda info: not info["state"]["messages"], "STREAM.INFO.Q")
        else:
            await until(js, lambda info: bool(info["sources"][0].get("lag")), "STREAM.INFO.ALL")
        return await count(js, "Q"), await count(js, "ALL")

    kept, copied = talk(account, work)
    assert copied == 4
    assert (kept == 0) == (account.minor in ("2.11", "2.12"))
    fate = "keeps them" if kept else "deletes them"
    return f"Of 20 messages that a full source (max_msgs: 4) does not store, the origin ({retention}) {fate}."


@shows("ST304", "KV304")
@on_every_version
@pytest.mark.parametrize(
    ("other", "stored"),
    [
        ({"filter_subject": "o.>"}, 8),
        ({"filter_subject": "o.1"}, 6),
        ({"subject_transforms": [{"src": "o.>", "dest": "x.>"}]}, 8),
        ({"filter_subject": "o.>", "opt_start_seq": 5}, 4),
    ],
    ids=["a filter", "a narrower one", "transforms", "with a start"],
)
def test_a_source_with_another_filter_is_copied_from_its_first_message_on(
    account: Account, other: dict[str, object], stored: int
) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", subjects=["o.*"])
        await make_stream(js, "S", sources=[{"name": "O"}])
        await publish(js, "o.1", "o.2", "o.1", "o.2")
        await reaches(4, js, "S")
        await change(js, "S", sources=[{"name": "O", **other}])
        await publish(js, "o.1")  # comes last, whatever comes before
        await reaches(stored + 1, js, "S")
        return await count(js, "S")

    found = talk(account, work)
    assert found == stored + 1
    return f"4 messages had been copied. With {as_text(other)} they come again: {found} are stored, 1 of them new."


@shows("ST305", "KV305")
@on_every_version
def test_what_was_not_copied_when_a_source_is_taken_off_never_comes(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", subjects=["o"])
        await make_stream(js, "S", subjects=["s"], sources=[{"name": "O"}], max_msgs=2, discard="new")
        await publish(js, *["o"] * 10)  # the server counts no lag in what is on its way, or did not fit in
        await lags(js, "S")
        await change(js, "S", sources=None)
        done(await js.write("STREAM.PURGE.S"))
        await change(js, "S", max_msgs=-1)
        await publish(js, "s")
        return await count(js, "S"), await count(js, "O")

    held, origin = talk(account, work)
    assert (held, origin) == (1, 10)
    return (
        f"The origin still holds all {origin} messages; those not copied yet when the source was taken off never come."
    )


@shows("ST305", "KV305")
@on_every_version
@pytest.mark.parametrize(("start", "copied"), [("opt_start_time", 1), ("opt_start_seq", 4)])
def test_a_source_that_is_added_starts_at_no_time_before_the_newest_message_here(
    account: Account, start: str, copied: int
) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "O", subjects=["o"])
        await make_stream(js, "S", subjects=["s"])
        begun = done(await js.read("STREAM.INFO.O"))["created"]
        await publish(js, "o", "o", "o", "s")
        await change(js, "S", sources=[{"name": "O", start: begun if start == "opt_start_time" else 1}])
        await publish(js, "o")  # comes last, whatever comes before
        await reaches(1 + copied, js, "S")
        return await count(js, "S")

    found = talk(account, work)
    assert found == 1 + copied
    return f"A source added with {start} at the first of the origin's 4 messages brings {found - 1} of them."


async def lags(js: JetStream, stream: str) -> None:
    async with asyncio.timeout(60):
        while not done(await js.read(f"STREAM.INFO.{stream}"))["sources"][0].get("lag"):  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.05)


@shows("XX231")
@on_every_version
def test_a_copy_keeps_what_it_has_and_nobody_stores_what_comes(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, object]:
        await make_stream(js, "O", subjects=["o"])
        await make_stream(js, "M", mirror={"name": "O"})
        await publish(js, "o", "o")
        await reaches(2, js, "M")
        done(await js.write("STREAM.DELETE.O"))
        return await count(js, "M"), await js.read("STREAM.INFO.O")

    held, origin = talk(account, work)
    assert held == 2 and isinstance(origin, Refusal)
    return f"The mirror keeps its {held} messages; nothing takes in what is published from then on."


@shows("XX232")
@pytest.mark.parametrize("account", ["2.14", "2.15"], indirect=True)
def test_a_copy_stops_without_the_consumer_it_copies_through(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "O", subjects=["o"])
        await make_consumer(js, "O", "copy", ack_policy="flow_control", deliver_subject="deliver.here")
        through = {"name": "copy", "deliver_subject": "deliver.here"}
        await make_stream(js, "T", subjects=["t"], sources=[{"name": "O", "consumer": through}])
        await publish(js, "o")
        before = await reaches(1, js, "T")
        done(await js.write("CONSUMER.DELETE.O.copy"))
        await publish(js, "o")
        await asyncio.sleep(0.5)  # nothing announces that a message does not come
        return before, await count(js, "T")

    before, after = talk(account, work)
    assert (before, after) == (1, 1)
    return f"The copy held {counted(before, 'message')} before; of another one published afterwards {after - before} arrive."


@shows("XX234", "CO546")
@on_every_version
def test_a_filter_beside_all_subjects_is_taken_and_nothing_ever_comes(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "S", subjects=["s"])
        await publish(js, "s")
        return int((await make_consumer(js, "S", "c", filter_subject="elsewhere"))["num_pending"])

    pending = talk(account, work)
    assert pending == 0
    return f"The consumer is made; of 1 message in the stream, {pending} are pending."


@shows("XX241")
@on_every_version
def test_one_message_becomes_hundreds_between_streams_that_republish(account: Account) -> str:
    async def work(js: JetStream) -> int:
        await make_stream(js, "A", subjects=["a"], republish={"src": "a", "dest": "b"})
        await make_stream(js, "B", subjects=["b"], republish={"src": "b", "dest": "a"})
        await publish(js, "a")
        return await reaches(100, js, "A")

    assert talk(account, work) >= 100
    return "One published message has become more than 100 stored ones within a minute."


@shows("XX244")
@on_every_version
def test_what_is_republished_into_a_stream_with_a_limit_deletes_its_own_messages(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "RA", subjects=["ra.*"])
        await make_stream(js, "RB", subjects=["rb.*"], max_msgs=20)
        await publish(js, *(f"rb.own{number}" for number in range(20)))
        await change(js, "RA", republish={"src": "ra.*", "dest": "rb.{{wildcard(1)}}"})
        await publish(js, *(f"ra.{number}" for number in range(15)))
        await until(js, lambda info: info["state"]["last_seq"] == 35, "STREAM.INFO.RB")
        first = done(await js.read("STREAM.INFO.RB"))["state"]["first_seq"]
        return max(0, 21 - first), await count(js, "RB")

    own, stored = talk(account, work)
    assert (own, stored) == (5, 20)
    return (
        f"After 15 messages of the other stream, a stream with max_msgs: {stored} holds {own} of its 20 own messages."
    )


@shows("XX244")
@on_every_version
def test_a_full_stream_refuses_its_publishers_for_what_is_republished_into_it(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "RA", subjects=["ra"], republish={"src": "ra", "dest": "rb"})
        await make_stream(js, "RB", subjects=["rb"], max_msgs=5, discard="new")
        await publish(js, *["ra"] * 5)
        held = await reaches(5, js, "RB")
        reply = await js.pipeline.request("rb", b"own", within=20)
        return held, json.loads(reply.data)["error"]["err_code"]  # type: ignore[union-attr]

    held, code = talk(account, work)
    assert (held, code) == (5, 10077)
    return f"With discard: new, {counted(held, 'republished message')} fill the stream, and its own publisher is refused (err_code {code})."


@shows("XX244")
@on_every_version
def test_deliveries_to_a_subscriber_are_stored_by_a_stream_of_that_subject(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s"])
        await make_stream(js, "T", subjects=["x"])
        await make_consumer(js, "S", "c", deliver_subject="d.c", ack_policy="none")
        await change(js, "T", subjects=["x", "d.>"])
        await publish(js, *["s"] * 5)
        before = done(await js.read("CONSUMER.INFO.S.c"))["num_pending"]
        client = await account.connect()
        await client.subscribe("d.c")
        held = await reaches(5, js, "T")
        await client.close()
        return before, held

    waiting, held = talk(account, work)
    assert (waiting, held) == (5, 5)
    return f"Without a subscriber {waiting} of 5 messages wait for delivery; once one has come, the other stream holds {held}."


@shows("XX242")
@on_every_version
def test_a_transform_sends_nothing_to_the_stream_of_that_subject(account: Account) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "B", subjects=["b"])
        await make_stream(js, "A", subjects=["a"], subject_transform={"src": "a", "dest": "b"})
        await publish(js, "a")
        return await count(js, "A"), await count(js, "B")

    here, there = talk(account, work)
    assert (here, there) == (1, 0)
    return f"The stream that transforms holds {counted(here, 'message')}, the one of the new subject {there}."


@shows("XX243")
@on_every_version
def test_values_of_another_bucket_are_under_keys_nobody_reads(account: Account) -> str:
    async def work(js: JetStream) -> tuple[bool, bool]:
        await make_bucket(js, "one")
        await make_bucket(js, "two", sources=[{"name": "KV_one"}])
        await publish(js, "$KV.one.key")
        await reaches(1, js, "KV_two")
        theirs, ours = ({"last_by_subj": f"$KV.{bucket}.key"} for bucket in ("one", "two"))
        reads = [await js.read("STREAM.MSG.GET.KV_two", body) for body in (theirs, ours)]
        return not isinstance(reads[0], Refusal), not isinstance(reads[1], Refusal)

    under_theirs, under_ours = talk(account, work)
    assert (under_theirs, under_ours) == (True, False)
    return (
        "A value copied from another bucket is stored under that bucket's prefix; a get of its key here finds nothing."
    )


QUEUE = """
streams:
  S:
    subjects: [s.*]
    groups:
      g: {{type: elastic, max_members: 2, partitioning_filters: [{{filter: s.*, partitioning_wildcards: [1]}}], members: {members}}}
"""
STATIC = """
streams:
  S:
    subjects: [s.*]
    {more}
"""


@shows("EG304")
@on_every_version
def test_messages_pile_up_in_a_group_without_members(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"))
        await carried_out(js, tmp_path, QUEUE.format(members="[]"), "EG304")
        await publish(js, "s.1", "s.2")
        held = await reaches(2, js, "S-g")
        return held, int(done(await js.read("STREAM.INFO.S-g"))["state"]["consumer_count"])

    queued, readers = talk(account, work)
    assert (queued, readers) == (2, 0)
    return f"{counted(queued, 'message')} wait in the group's queue, which has {readers} consumers."


@shows("EG601")
@on_every_version
def test_what_a_member_works_on_comes_to_the_new_owner_as_well(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> list[str]:
        came: list[str] = []
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"))
        await publish(js, "s.1")
        await reaches(1, js, "S-g")
        for member in ("m", "n"):
            await make_consumer(js, "S-g", member, filter_subject=">")
            came.append(status(await pull(js.pipeline.nc, "S-g", member)))
            await js.write(f"CONSUMER.DELETE.S-g.{member}")  # as an instance does when the record changes
        return came

    came = talk(account, work)
    assert came == ["200", "200"]
    return f"One message, not yet acknowledged when its partition changes hands, is delivered {len(came)} times: once to each member."


@shows("EG312")
@on_every_version
def test_members_process_again_what_a_recreated_queue_starts_with(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"))
        await publish(js, "s.1", "s.2", "s.3")
        await reaches(3, js, "S-g")
        await make_consumer(js, "S-g", "m", filter_subject=">")
        message = await pull(js.pipeline.nc, "S-g", "m")
        assert message is not None
        await js.pipeline.nc.request(message.reply, b"", timeout=5)
        left = await reaches(2, js, "S-g")
        done(await js.write("STREAM.DELETE.S-g"))
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"), "EG312")
        return left, await reaches(3, js, "S-g")

    left, again = talk(account, work)
    assert (left, again) == (2, 3)
    return f"The queue held {counted(left, 'message')}, and 1 was processed; recreated, it holds {counted(again, 'message')}."


@shows("EG312")
@on_every_version
def test_what_only_a_lost_queue_held_does_not_come_back(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"))
        await publish(js, "s.1", "s.2", "s.3")
        held = await reaches(3, js, "S-g")
        done(await js.write("STREAM.PURGE.S", {"keep": 1}))
        done(await js.write("STREAM.DELETE.S-g"))
        made = (await plan(read(tmp_path, QUEUE.format(members="[m]")), js, RunOptions())).plan
        said = next(one.message for change in made.changes for one in change.verdicts if one.code == "EG312")
        assert "gone with its position, and with what only it held of what S no longer stores: recreated" in said
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"), "EG312")
        return held, await reaches(1, js, "S-g")

    held, again = talk(account, work)
    assert (held, again) == (3, 1)
    return (
        f"The queue held {counted(held, 'message')}, and its source stores the last one; recreated, it holds {again}."
    )


@shows("EG310")
@on_every_version
def test_what_is_queued_goes_with_an_elastic_group(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[int, bool]:
        await carried_out(js, tmp_path, QUEUE.format(members="[m]"))
        await publish(js, "s.1", "s.2")
        queued = await reaches(2, js, "S-g")
        gone = "\nremoved: [{address: elastic_group/S/g, reason: over}]\n"
        await carried_out(js, tmp_path, STATIC.format(more="") + gone, "EG310")
        return queued, await is_there(js, "STREAM.INFO.S-g")

    queued, is_there_still = talk(account, work)
    assert (queued, is_there_still) == (2, False)
    return f"The queue held {counted(queued, 'message')}; it is gone with the group."


@shows("SG310")
@on_every_version
def test_the_members_positions_go_with_a_static_group(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> bool:
        group = "groups: {g: {type: static, max_members: 2, members: [m]}}"
        await carried_out(js, tmp_path, STATIC.format(more=group))
        await make_consumer(js, "S", "g-m")
        gone = "\nremoved: [{address: static_group/S/g, reason: over}]\n"
        await carried_out(js, tmp_path, STATIC.format(more="") + gone, "SG310")
        return await is_there(js, "CONSUMER.INFO.S.g-m")

    assert talk(account, work) is False
    return "The consumer of a member is gone with the group, and so is its position."


@shows("SG312")
@on_every_version
def test_members_process_again_what_a_recreated_static_group_starts_with(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[int, int, int]:
        group = STATIC.format(more="groups: {g: {type: static, max_members: 2, members: [m]}}")
        await carried_out(js, tmp_path, group)
        await publish(js, "s.1", "s.2", "s.3")
        await make_consumer(js, "S", "g-m")
        for _ in range(2):
            message = await pull(js.pipeline.nc, "S", "g-m")
            assert message is not None
            await js.pipeline.nc.request(message.reply, b"", timeout=5)
        left = done(await js.read("CONSUMER.INFO.S.g-m"))["num_pending"]
        deleted = await js.pipeline.nc.request(
            "$KV.static-consumer-groups.S.g", b"", headers={"KV-Operation": "DEL"}, timeout=5
        )
        assert b'"seq"' in deleted.data
        done(await js.write("CONSUMER.DELETE.S.g-m"))
        made = (await plan(read(tmp_path, group), js, RunOptions())).plan
        said = next(one for change in made.changes for one in change.verdicts if one.code == "SG312")
        await carried_out(js, tmp_path, group, "SG312")
        await make_consumer(js, "S", "g-m")  # as a member does
        return left, said.quantities["redelivered"], done(await js.read("CONSUMER.INFO.S.g-m"))["num_pending"]

    left, told, again = talk(account, work)
    assert (left, told, again) == (1, 3, 3)
    return f"{counted(left, 'message')} was left to process; in the recreated group, {counted(again, 'message')} are."


@shows("ST546")
@pytest.mark.parametrize("minor", MINORS)
def test_the_duplicate_window_of_a_mirror_is_forgotten_at_the_next_start(minor: str) -> str:
    async def make(js: JetStream) -> Any:
        return (await make_stream(js, "M", mirror={"name": "O"}, duplicate_window=60 * 10**9))["config"]

    async def look(js: JetStream) -> Any:
        return done(await js.read("STREAM.INFO.M"))["config"]

    with running(minor) as server:
        account = Alone(server)
        assert "duplicate_window" in talk(account, make)
        server.restart()
        assert "duplicate_window" not in talk(account, look)
    return "The duplicate_window of a mirror is gone after a restart."


@shows("ST312", "KV312", "OB312")
@on_every_version
def test_copies_of_a_stream_that_is_made_again_skip_as_many_messages_as_they_had(account: Account) -> str:
    """They take it up again by themselves after some ten seconds of silence."""

    async def work(js: JetStream) -> dict[str, int]:
        for origin, first in (("O", 1), ("P", 6)):
            await make_stream(js, origin, subjects=[origin])
            await make_stream(js, f"{origin}M", mirror={"name": origin})
            await make_stream(js, f"{origin}Q", sources=[{"name": origin}])
            await publish(js, *[origin] * 5)
            await reaches(5, js, f"{origin}M")
            await reaches(5, js, f"{origin}Q")
            done(await js.write(f"STREAM.DELETE.{origin}"))
            await make_stream(js, origin, subjects=[origin], first_seq=first)
            await publish(js, *[origin] * 7)
        for name, number in (("PM", 12), ("PQ", 12), ("OM", 7), ("OQ", 7)):
            await reaches(number, js, name)
        return {name: await count(js, name) for name in ("OM", "OQ", "PM", "PQ")}

    sourced = 12 if account.minor == "2.15" else 7
    held = talk(account, work)
    assert held == {"OM": 7, "OQ": sourced, "PM": 12, "PQ": 12}
    return (
        "5 messages copied, the stream deleted and made again, then 7 more: a mirror holds "
        f"{held['OM']}, a stream that sources it {held['OQ']}. With a first_seq after the old end: {held['PM']} and {held['PQ']}."
    )


FEEDS: dict[str, dict[str, Any]] = {"mirror": {"mirror": {"name": "B"}}, "source": {"sources": [{"name": "B"}]}}


@shows("XX213")
@pytest.mark.parametrize("minor", MINORS)
def test_a_source_with_a_start_begins_there_again_at_a_restart_if_nothing_of_its_origin_is_stored(minor: str) -> str:
    async def process(js: JetStream, stream: str, number: int) -> None:
        await reaches(number, js, stream)
        for _ in range(number):
            message = await pull(js.pipeline.nc, stream, "w")
            assert message is not None
            await js.pipeline.nc.request(message.reply, b"", timeout=5)

    async def make(js: JetStream) -> int:
        await make_stream(js, "O", subjects=["o"])
        await publish(js, *["o"] * 20)
        for stream in ("STARTED", "CONTINUES"):
            await make_stream(js, stream, retention="workqueue", sources=[{"name": "O", "opt_start_seq": 11}])
            await make_consumer(js, stream, "w")
            await reaches(10, js, stream)
        await change(js, "CONTINUES", sources=[{"name": "O"}])
        for stream in ("STARTED", "CONTINUES"):
            await process(js, stream, 10)
        return await count(js, "STARTED") + await count(js, "CONTINUES")

    again = 0 if minor == "2.15" else 10

    async def look(js: JetStream) -> tuple[int, int]:
        await publish(js, "o")
        await reaches(again + 1, js, "STARTED")
        await reaches(1, js, "CONTINUES")
        return await count(js, "STARTED") - 1, await count(js, "CONTINUES") - 1

    with running(minor) as server:
        assert talk(Alone(server), make) == 0
        server.restart()
        found = talk(Alone(server), look)
    assert found == (again, 0)
    return (
        f"Of 10 messages that a work queue had copied from its start on and that were processed, {found[0]} are copied again after "
        "a restart; without the start, 0."
    )


@shows("XX212")
@pytest.mark.parametrize(("minor", "feed"), [(minor, feed) for minor in MINORS for feed in FEEDS])
def test_a_restart_deletes_what_a_copy_took_and_consumers_have_yet_to_process(minor: str, feed: str) -> str:
    has_own_consumer = minor in ("2.14", "2.15")

    async def make(js: JetStream) -> int:
        await make_stream(js, "B", subjects=["b.*"], retention="interest")
        await make_consumer(js, "B", "Audit", filter_subject="b.1")
        await make_consumer(js, "B", "mail")
        await make_stream(js, "COPY", **FEEDS[feed])
        await publish(js, *["b.1", "b.2"] * 4)
        await reaches(8, js, "COPY")
        if has_own_consumer:
            (own,) = (
                one for one in done(await js.read("CONSUMER.NAMES.B"))["consumers"] if one not in ("Audit", "mail")
            )
            assert "JS" < own < "Ja"
            await until(js, lambda info: info["ack_floor"]["stream_seq"] == 8, f"CONSUMER.INFO.B.{own}")
        return await count(js, "B")

    async def look(js: JetStream) -> tuple[int, int]:
        pending = done(await js.read("CONSUMER.INFO.B.mail"))["num_pending"]
        return await count(js, "B"), int(pending)

    with running(minor) as server:
        held = talk(Alone(server), make)
        server.restart()
        found = talk(Alone(server), look)
    left = 4 if has_own_consumer else 8
    assert (held, found) == (8, (left, left))
    return (
        f"Of 8 messages that a {feed} had copied and consumer mail had not been given, {found[0]} are left after a restart; "
        "a consumer named Audit wanted 4 of them."
    )


@shows("XX212")
@pytest.mark.parametrize(
    ("clustered_account", "feed"), [(minor, feed) for minor in MINORS for feed in FEEDS], indirect=["clustered_account"]
)
def test_a_cluster_that_stops_feeding_a_copy_deletes_what_consumers_have_yet_to_process(
    clustered_account: Account, feed: str
) -> str:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "B", subjects=["b.*"], retention="interest", num_replicas=3)
        await make_stream(js, "SINGLE", subjects=["single"], retention="interest")
        for stream in ("B", "SINGLE"):
            await make_consumer(js, stream, "Audit")
        await make_stream(js, "COPY", **FEEDS[feed], num_replicas=3)
        await make_stream(js, "OTHER", sources=[{"name": "SINGLE"}])
        await publish(js, *["b.1", "b.2"] * 4, *["single"] * 8)
        await reaches(8, js, "COPY")
        await reaches(8, js, "OTHER")
        for copy in ("COPY", "OTHER"):
            done(await js.write(f"STREAM.DELETE.{copy}"))
        if is_lost:
            await until(js, lambda info: info["state"]["messages"] == 0, "STREAM.INFO.B")
        for copy, origin in (("AGAIN", "B"), ("ANOTHER", "SINGLE")):
            await make_stream(js, copy, sources=[{"name": origin}])
            await reaches(left[origin], js, copy)
        return await count(js, "B"), await count(js, "SINGLE")

    is_lost = clustered_account.minor == "2.12"
    left = {"B": 0 if is_lost else 8, "SINGLE": 8}
    found = talk(clustered_account, work)
    assert found == (left["B"], left["SINGLE"])
    return (
        f"Of 8 messages that a {feed} in a cluster of three had copied and consumer Audit had not been given, {found[0]} are left on the "
        f"leader when somebody deletes the copy; {found[1]} where the stream has one replica."
    )
