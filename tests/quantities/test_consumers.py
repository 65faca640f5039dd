"""What a filter change, a deletion or interest retention does to messages is what the plan said."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg

from reconciler.changes.amount import Amount
from reconciler.changes.verdict import Outcome, Verdict
from reconciler.journeys.plan.plan import plan
from reconciler.journeys.plan.plan import plan_from_snapshot as planned_from
from reconciler.kinds.losses.unprocessed import least_wanted_together
from reconciler.model.run_options import RunOptions
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.agreement.harm import shows
from tests.groups.making import until
from tests.quantities.losing import applied, planned, publish, settled, state, take
from tests.support.accounts import Account
from tests.support.background import beside
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

MIXED = ("s.a", "s.b") * 5
STORED = 1_000


async def update_consumer(js: JetStream, name: str, **config: Any) -> None:
    wanted = {"durable_name": name, "name": name, "ack_policy": "explicit", **config}
    body = {"stream_name": "S", "action": "update", "config": wanted}
    done(await js.request(f"CONSUMER.CREATE.S.{name}", body))


async def pulled(js: JetStream, number: int, within: float = 20) -> list[Msg]:
    """So many messages of the consumer c, or those that come in time."""
    nc = js.pipeline.nc
    inbox = nc.new_inbox()
    found: list[Msg] = []
    answers = await nc.subscribe(inbox)
    body = json.dumps({"batch": number, "expires": int(within * 1e9)}).encode()
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", body, reply=inbox)
    while len(found) < number and (message := await answers.next_msg(timeout=within + 5)).reply:
        found.append(message)
    await answers.unsubscribe()
    return found


def text(retention: str, consumer: str) -> str:
    return f"streams: {{S: {{subjects: [s.>], retention: {retention}, consumers: {{c: {{ack_policy: explicit{consumer}}}}}}}}}"


@on_every_version
@pytest.mark.parametrize("direct", [True, False])
def test_an_interest_stream_drops_no_more_than_a_narrower_filter_was_said_to_skip(
    account: Account, tmp_path: Path, direct: bool
) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s.>"], retention="interest", allow_direct=direct)
        await make_consumer(js, "S", "c")
        await publish(js, *MIXED)
        await take(js, "S", "c", 3)
        before = await settled(js, "S")
        file = text("interest", ", filter_subject: s.b").replace(
            "retention", f"allow_direct: {str(direct).lower()}, retention"
        )
        verdicts = await planned(js, tmp_path, file)
        await update_consumer(js, "c", filter_subject="s.b")
        return verdicts["CO301"].quantities["messages"], before - await settled(js, "S", before - 3)

    predicted, gone = talk(account, work)
    assert gone == 3
    assert predicted == gone


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "workqueue", "interest"])
def test_what_is_in_flight_and_left_out_comes_again_as_said(account: Account, tmp_path: Path, retention: str) -> None:
    """On an interest stream another consumer wants all of it."""

    async def work(js: JetStream) -> tuple[Verdict, list[str]]:
        await make_stream(js, "S", subjects=["s.>"], retention=retention)
        await make_consumer(js, "S", "c", filter_subjects=["s.a", "s.b"], ack_wait=1_000_000_000)
        if retention == "interest":
            await make_consumer(js, "S", "other")
        await publish(js, *MIXED)
        delivered = await take(js, "S", "c", len(MIXED), acknowledge=False)
        verdicts = await planned(
            js, tmp_path, text(f"{retention}, allow_direct: true", ", ack_wait: 1s, filter_subject: s.b")
        )
        await update_consumer(js, "c", filter_subject="s.b", ack_wait=1_000_000_000)
        again = await take(js, "S", "c", len(MIXED))
        assert sorted(again) == sorted(delivered)
        return verdicts["CO301"], again

    said, again = talk(account, work)
    left_out = again.count("s.a")
    assert left_out
    words = {
        "interest": f"leaves out {left_out} of {len(MIXED)} messages in flight: the server redelivers those that another consumer wants",
    }.get(
        retention,
        f"The server still redelivers {left_out} of {len(MIXED)} messages in flight until acknowledged, although the new",
    )
    assert words in said.message


@on_every_version
def test_only_a_consumer_that_began_with_the_last_of_each_subject_has_a_list_of_them(
    account: Account, tmp_path: Path
) -> None:
    """The file says so only since, which changes nothing for a living consumer."""

    async def work(js: JetStream) -> tuple[str, str]:
        await make_stream(js, "S", subjects=["s.>"])
        for name, policy in (("began", "last_per_subject"), ("says", "all")):
            await make_consumer(js, "S", name, filter_subject="s.*", deliver_policy=policy)
        await publish(js, *MIXED)
        await take(js, "S", "began", 1)
        await take(js, "S", "says", 1)
        said = "ack_policy: explicit, filter_subject: s.b, deliver_policy"
        consumers = f"{{began: {{{said}: all}}, says: {{{said}: last_per_subject}}}}"
        made = await plan(
            read(tmp_path, f"streams: {{S: {{subjects: [s.>], consumers: {consumers}}}}}"), js, RunOptions()
        )
        told = {one.address: one.verdicts for one in made.plan.changes}
        words = [next(v.message for v in told[f"consumer/S/{name}"] if v.code == "CO301") for name in ("began", "says")]
        return words[0], words[1]

    began, says = talk(account, work)
    assert "gets what matches" in began
    assert "gets only what matches" in says
    assert "the last of their subjects" not in says


@shows("CO301")
@on_every_version
def test_what_a_filter_turns_to_and_has_passed_is_never_delivered(account: Account, tmp_path: Path) -> str:
    async def work(js: JetStream) -> tuple[Verdict, list[str]]:
        await make_stream(js, "S", subjects=["s.>"], allow_direct=True)
        await make_consumer(js, "S", "c", filter_subject="s.a")
        await publish(js, *MIXED)
        await take(js, "S", "c", 3)
        file = text("limits, allow_direct: true", ", filter_subject: s.b")
        verdicts = await planned(js, tmp_path, file)
        await update_consumer(js, "c", filter_subject="s.b")
        pending = done(await js.request("CONSUMER.INFO.S.c"))["num_pending"]
        return verdicts["CO301"], await take(js, "S", "c", pending)

    said, delivered = talk(account, work)
    assert said.quantities == {"skipped": 2 + 1, "missed": 2}
    assert delivered == ["s.b"] * (5 - said.quantities["missed"])
    assert said.message == (
        "it gets only what matches s.b after its position (sequence 5 or later). The new filter leaves out 2 of 2 pending messages, "
        "which the server does not deliver any more. It does not go back to 2 messages before its position that the old filter left "
        "out. Up to 1 message after sequence 5 that the new filter matches may be skipped: the server may have moved past it while it "
        "looked for messages of the old filter, and does not tell"
    )
    return f"Of 5 messages that the new filter matches, {len(delivered)} are delivered; the others lie before the position."


PASSED: dict[str, tuple[tuple[str, ...], str, int]] = {
    "nothing more of the old filter": ((), "s.b", 4),
    "one more of the old filter, behind all": (("s.a",), "s.b", 4),
    "one more of the old filter, before two others": (("s.a", "s.b", "s.b"), "s.b", 4),
    "a wider filter": ((), "s.*", 4),
}


@on_every_version
@pytest.mark.parametrize("direct", [True, False], ids=["counted", "not counted"])
@pytest.mark.parametrize(("more", "new", "passed"), PASSED.values(), ids=PASSED.keys())
def test_what_the_server_has_moved_past_while_it_looked_for_the_old_filter_is_told(
    account: Account, tmp_path: Path, more: tuple[str, ...], new: str, passed: int, direct: bool
) -> None:
    """It has processed three. Four others come, and a pull that finds nothing: the server has come to the end."""

    async def work(js: JetStream) -> tuple[Verdict, list[str]]:
        await make_stream(js, "S", subjects=["s.>"], allow_direct=direct)
        await make_consumer(js, "S", "c", filter_subject="s.a")
        await publish(js, *("s.a",) * 3)
        await take(js, "S", "c", 3)
        await publish(js, *("s.b",) * 4)
        await pulled(js, 1, within=0.5)
        await publish(js, *more)
        file = text(f"limits, allow_direct: {str(direct).lower()}", f", filter_subject: {new}")
        verdicts = await planned(js, tmp_path, file)
        await update_consumer(js, "c", filter_subject=new)
        return verdicts["CO301"], [one.subject for one in await pulled(js, 20, within=1)]

    said, delivered = talk(account, work)
    matching = passed + sum(new in (one, "s.*") for one in more)
    left_out = sum(one == "s.a" for one in more if new == "s.b")
    lost = matching - len(delivered) + left_out
    assert lost >= passed, "the server has moved past them"
    assert lost <= said.quantities["skipped"] <= passed + left_out + (0 if direct else len(more))
    assert "skipped" in said.bounds
    assert "it gets only what matches" in said.message
    assert "after its position (sequence 3 or later). " in said.message
    assert "the server may have moved past them while it looked for messages of the old filter" in said.message


@on_every_version
def test_nothing_is_said_to_be_passed_before_the_next_message_of_the_old_filter(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> Verdict:
        await make_stream(js, "S", subjects=["s.>"], allow_direct=True)
        await make_consumer(js, "S", "c", filter_subject="s.a")
        await publish(js, "s.a", "s.a", "s.b", "s.b")
        await take(js, "S", "c", 1)
        await pulled(js, 1)
        await publish(js, "s.a", "s.b")
        return (await planned(js, tmp_path, text("limits, allow_direct: true", ", filter_subject: s.b")))["CO301"]

    said = talk(account, work)
    assert said.quantities == {"skipped": 3, "missed": 0}
    assert "Up to 2 messages after sequence 2 that the new filter matches may be skipped" in said.message


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_what_is_in_flight_comes_again_whatever_the_new_filter_but_on_an_interest_stream(
    account: Account, tmp_path: Path, retention: str
) -> None:
    async def work(js: JetStream) -> tuple[str, list[str]]:
        await make_stream(js, "S", subjects=["s.>"], retention=retention, allow_direct=True)
        await make_consumer(js, "S", "c", filter_subject="s.a")
        await publish(js, *MIXED)
        await take(js, "S", "c", 3, acknowledge=False)
        file = text(f"{retention}, allow_direct: true", ", filter_subject: s.c")
        verdicts = await planned(js, tmp_path, file)
        await update_consumer(js, "c", filter_subject="s.c", ack_wait=100_000_000)
        again = await take(js, "S", "c", 3) if retention != "interest" else []
        return verdicts["CO301"].message, again or [str(await settled(js, "S", 0))]

    said, again = talk(account, work)
    of_these = ("The server still redelivers 3 of 3" in said, "up to 3 of 3 messages in flight" in said)
    assert of_these == (retention == "limits", retention == "workqueue"), said
    assert "3 of 3 messages in flight" in said
    assert again == (["0"] if retention == "interest" else ["s.a"] * 3)


@on_every_version
def test_a_recreated_consumer_gets_what_the_new_filter_matches_after_its_ack_floor(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[Verdict, list[str]]:
        await applied(js, tmp_path, text("limits, allow_direct: true", ", filter_subjects: [s.a, s.b]"))
        await publish(js, *("s.a", "s.b", "s.c") * 3)
        await take(js, "S", "c", 2)
        await take(js, "S", "c", 2, acknowledge=False)
        file = text("limits, allow_direct: true", ", filter_subjects: [s.a, s.c]").replace("explicit", "all")
        verdicts = await applied(js, tmp_path, file, "CO104", "CO301")
        pending = done(await js.request("CONSUMER.INFO.S.c"))["num_pending"]
        return verdicts["CO301"], await take(js, "S", "c", pending, acknowledge=False)

    said, delivered = talk(account, work)
    assert said.message == (
        "it is recreated and gets only what matches s.a and s.c from sequence 3 on, also what the old filter left out there. The "
        "new filter leaves out 1 of 2 pending messages and 1 of 2 messages in flight, which the server does not deliver any more"
    )
    assert delivered == ["s.c", "s.a", "s.c", "s.a", "s.c"]


@on_every_version
def test_the_last_of_each_subject_still_come_although_the_new_filter_leaves_them_out(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[Verdict, list[str]]:
        await make_stream(js, "S", subjects=["s.>"])
        await publish(js, *MIXED)
        await applied(js, tmp_path, text("limits", ", deliver_policy: last_per_subject, filter_subject: s.*"))
        await publish(js, *MIXED)
        verdicts = await applied(
            js, tmp_path, text("limits", ", deliver_policy: last_per_subject, filter_subject: s.b")
        )
        return verdicts["CO301"], await take(js, "S", "c", 7)

    said, delivered = talk(account, work)
    assert (
        "leaves out up to 10 of 12 pending messages, which the server does not deliver any more, except, until"
        in said.message
    )
    assert delivered == ["s.a", "s.b", *["s.b"] * 5]


@on_every_version
def test_on_a_work_queue_what_is_in_flight_when_a_consumer_turns_elsewhere_waits_with_the_rest(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> tuple[str, list[str], int, int]:
        await applied(js, tmp_path, text("workqueue", ", ack_wait: 1s, filter_subject: s.a"))
        await publish(js, *MIXED)
        await take(js, "S", "c", 3, acknowledge=False)
        verdicts = await applied(js, tmp_path, text("workqueue", ", ack_wait: 1s, filter_subject: s.b"), "XX311")
        got = await take(js, "S", "c", 5)
        info = done(await js.request("CONSUMER.INFO.S.c"))
        return verdicts["CO301"].message, got, info["num_pending"], (await state(js, "S"))["messages"]

    said, delivered, pending, stuck = talk(account, work)
    assert (
        "The new filter leaves out 2 of 2 pending messages and up to 3 of 3 messages in flight, which the server does not "
        "deliver any more: they stay" in said
    )
    assert (delivered, pending, stuck) == (["s.b"] * 5, 0, 5)


@on_every_version
def test_on_a_work_queue_a_consumer_that_takes_more_starts_over(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, list[str]]:
        await applied(js, tmp_path, text("workqueue", ", filter_subject: s.a"))
        await publish(js, *MIXED)
        await take(js, "S", "c", 3)
        verdicts = await applied(js, tmp_path, text("workqueue", ", filter_subject: s.b"), "XX311")
        return verdicts["CO301"].message, await take(js, "S", "c", 5)

    said, delivered = talk(account, work)
    assert said.startswith(
        "it starts over and gets only what matches s.b. The new filter leaves out 2 of 2 pending messages"
    )
    assert delivered == ["s.b"] * 5


@on_every_version
def test_on_a_work_queue_what_was_skipped_never_comes_back(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[dict[str, int], int, int]:
        await make_stream(js, "S", subjects=["s.>"], retention="workqueue")
        await make_consumer(js, "S", "c")
        await publish(js, *MIXED)
        verdicts = await planned(js, tmp_path, text("workqueue", ", filter_subject: s.b"))
        await update_consumer(js, "c", filter_subject="s.b")
        await take(js, "S", "c", 5)
        await update_consumer(js, "c")
        pending = done(await js.request("CONSUMER.INFO.S.c"))["num_pending"]
        return dict(verdicts["CO301"].quantities), pending, (await state(js, "S"))["messages"]

    said, pending, stuck = talk(account, work)
    assert said == {"skipped": 5, "missed": 0}
    assert (pending, stuck) == (0, 5)


@on_every_version
@pytest.mark.parametrize("other", [True, False])
def test_a_deleted_consumer_takes_no_more_with_it_than_was_said(account: Account, tmp_path: Path, other: bool) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s.>"], retention="interest")
        await make_consumer(js, "S", "c")
        file = "streams: {S: {subjects: [s.>], retention: interest}}\nremoved: [{address: consumer/S/c, reason: x}]"
        if other:
            await make_consumer(js, "S", "d", filter_subject="s.a")
        await publish(js, *MIXED)
        await take(js, "S", "c", 2, acknowledge=False)
        before = await settled(js, "S")
        verdicts = await planned(js, tmp_path, file)
        done(await js.request("CONSUMER.DELETE.S.c"))
        return verdicts["CO310"].quantities["dropped"], before - await settled(js, "S", 5 if other else 0)

    predicted, gone = talk(account, work)
    assert (predicted, gone) == (10, 5 if other else 10)


@on_every_version
def test_what_comes_to_a_consumer_that_began_with_the_last_of_each_subject_is_no_less_than_what_was_said(
    account: Account, tmp_path: Path
) -> None:
    """A change of its filter, or a restart of its server, lets the server count one message of each subject."""

    async def work(js: JetStream) -> tuple[int, Verdict, int]:
        began = {"deliver_policy": "last_per_subject"}
        await make_stream(js, "S", subjects=["s.>"])
        await publish(js, *MIXED)
        await make_consumer(js, "S", "c", filter_subject="s.*", **began)
        await take(js, "S", "c", 2)
        await publish(js, *MIXED)
        await update_consumer(js, "c", filter_subject="s.>", **began)
        counted = done(await js.request("CONSUMER.INFO.S.c"))["num_pending"]
        file = "streams: {S: {subjects: [s.>]}}\nremoved: [{address: consumer/S/c, reason: x}]"
        verdict = (await planned(js, tmp_path, file))["CO310"]
        return counted, verdict, len(await take(js, "S", "c", 10))

    counted, verdict, delivered = talk(account, work)
    assert (counted, delivered) == (2, 10)
    assert verdict.message.startswith("at least 2 and at most 10 messages not yet delivered lose their reader")
    assert verdict.quantities["undelivered"] == 10


@on_every_version
@pytest.mark.parametrize("is_counted", [True, False])
def test_a_consumer_that_began_with_the_last_of_each_subject_is_not_said_to_have_processed_what_its_server_miscounts(
    account: Account, tmp_path: Path, is_counted: bool
) -> None:
    """Its server counts one of each subject after a change of its filter, as after a restart: 0 once these have come. It
    counts from the middle of a stream with direct gets alone."""

    async def work(js: JetStream) -> tuple[int, dict[str, Verdict], int]:
        began = {"deliver_policy": "last_per_subject"}
        await make_stream(js, "S", subjects=["s.>"], allow_direct=is_counted)
        await publish(js, *MIXED)
        await make_consumer(js, "S", "c", filter_subject="s.*", **began)
        await take(js, "S", "c", 2)
        await publish(js, *MIXED)
        await update_consumer(js, "c", filter_subject="s.>", **began)
        await take(js, "S", "c", 2)
        counted = done(await js.request("CONSUMER.INFO.S.c"))["num_pending"]
        lowered = await planned(
            js, tmp_path, f"streams: {{S: {{subjects: [s.>], max_msgs: 1, allow_direct: {str(is_counted).lower()}}}}}"
        )
        gone = await planned(
            js, tmp_path, "removed: [{address: stream/S, reason: x}, {address: consumer/S/c, reason: x}]"
        )
        return counted, {**lowered, **gone}, len(await take(js, "S", "c", 8))

    counted, verdicts, delivered = talk(account, work)
    assert (counted, delivered) == (0, 8)
    number = "" if is_counted else "up to "
    assert f"c has not processed {number}8 of them" in verdicts["ST310"].message
    assert f"c has not processed {number}7 of them" in verdicts["ST301"].message


@on_every_version
@pytest.mark.parametrize("other", [False, True])
def test_what_an_interest_stream_deletes_with_a_static_group_is_what_was_said(
    account: Account, tmp_path: Path, other: bool
) -> None:
    group = "groups: {g: {type: static, max_members: 2, members: [m]}}"
    beside = "consumers: {d: {ack_policy: explicit, filter_subject: 0.a}}" if other else ""

    async def work(js: JetStream) -> tuple[Verdict, int]:
        stream = "streams: {S: {subjects: [0.*], retention: interest%s}}"
        await applied(js, tmp_path, stream % "".join(f", {one}" for one in (group, beside) if one))
        await make_consumer(js, "S", "g-m", filter_subjects=["0.>"])
        await publish(js, *["0.a", "0.b"] * 3)
        await take(js, "S", "g-m", 2, acknowledge=False)
        before = await settled(js, "S")
        text = stream % (f", {beside}" if beside else "") + "\nremoved: [{address: static_group/S/g, reason: x}]"
        said = (await applied(js, tmp_path, text))["SG310"]
        return said, before - await settled(js, "S", 3 if other else 0)

    said, gone = talk(account, work)
    assert gone == (3 if other else 6)
    assert said.quantities["dropped"] == 6
    assert f"S deletes {'up to ' if other else ''}6 of them (interest retention)" in said.message


@on_every_version
@pytest.mark.parametrize("copy", ["ALL: {subjects: [all], sources: [{name: S}]}", "M: {mirror: {name: S}}", ""])
def test_nothing_is_lost_while_a_copy_takes_over_from_a_consumer(account: Account, tmp_path: Path, copy: str) -> None:
    """Without another copy an elastic group takes over."""
    name = copy.partition(":")[0] or "S-g"
    filters = "[{filter: s.*, partitioning_wildcards: [1]}]"
    divided = f"groups: {{g: {{type: elastic, max_members: 2, members: [m], partitioning_filters: {filters}}}}}"
    text = "streams: {S: {subjects: [s.>], retention: interest, %s}%s}\nremoved: [{address: consumer/S/c, reason: x}]"
    desired = text % ("" if copy else divided, f", {copy}" if copy else "")

    async def work(js: JetStream) -> tuple[int, int]:
        await applied(
            js,
            tmp_path,
            "streams: {S: {subjects: [s.>], retention: interest, consumers: {c: {ack_policy: explicit, filter_subject: s.*}}}}",
        )
        sent, is_over = 0, asyncio.Event()

        async def publishing() -> None:
            nonlocal sent
            while not is_over.is_set():
                await publish(js, f"s.{sent}")
                sent += 1

        task = asyncio.create_task(publishing())
        await applied(js, tmp_path, desired)
        await until(js, lambda info: info["state"]["messages"] > 0, f"STREAM.INFO.{name}")
        is_over.set()
        await task
        await until(js, lambda info: info["state"]["messages"] >= sent, f"STREAM.INFO.{name}")
        return sent, (await state(js, name))["messages"]

    sent, copied = talk(account, work)
    assert copied == sent


TAKEN = {"of one that has all": ("s.b", "s.b"), "of one that has some": ("s.c",), "of one that has nothing": ()}


@on_every_version
@pytest.mark.parametrize("mine", TAKEN.values(), ids=TAKEN)
def test_a_deleted_consumer_takes_with_it_what_a_limits_stream_stored_for_nobody(
    account: Account, tmp_path: Path, mine: Sequence[str]
) -> None:
    """Of the stored messages, c wants these, d wants two, and nobody wants the others."""

    async def work(js: JetStream) -> tuple[dict[str, int], str, int]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c", filter_subjects=["s.b", "s.c"])
        await make_consumer(js, "S", "d", filter_subject="s.d")
        await publish(js, "s.a", *mine, "s.d", "s.e", "s.a", "s.d")
        retention = "retention: interest"
        d = "d: {ack_policy: explicit, filter_subject: s.d}"
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "retention": "interest"}))
        before = await settled(js, "S")
        file = f"streams: {{S: {{subjects: [s.>], {retention}, consumers: {{{d}}}}}}}\nremoved: [{{address: consumer/S/c, reason: x}}]"
        verdict = (await planned(js, tmp_path, file))["CO310"]
        done(await js.request("CONSUMER.DELETE.S.c"))
        return dict(verdict.quantities), verdict.message, before - await settled(js, "S", 2)

    said, words, gone = talk(account, work)
    assert gone == len(mine) + 3
    assert said == {"undelivered": len(mine), "unacknowledged": 0, "dropped": gone}
    assert words.endswith("with it, apply deletes up to 3 stored messages that no consumer wants")


@on_every_version
@pytest.mark.parametrize("in_flight", [True, False], ids=["in flight, left out", "before its position"])
def test_what_another_consumer_wants_is_not_what_a_deleted_one_takes_with_it(
    account: Account, tmp_path: Path, in_flight: bool
) -> None:
    """Nobody wants s.e. What is in flight for o is not what its filter matches, or lies before what c has acknowledged."""

    async def work(js: JetStream) -> tuple[int, int, int]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c", filter_subject="s.c")
        await make_consumer(js, "S", "o", filter_subjects=["s.o", "s.l"], ack_wait=600_000_000_000)
        await publish(js, *["s.l"] * 4, *["s.o"] * 4, "s.c", *["s.e"] * 4, "s.c")
        if in_flight:
            await take(js, "S", "o", 4, acknowledge=False)
        await take(js, "S", "c", 1)
        subjects = ["s.o"] if in_flight else ["s.l", "s.o"]
        await update_consumer(js, "o", ack_wait=600_000_000_000, filter_subjects=subjects)
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "retention": "interest"}))
        before = await settled(js, "S")
        declared = f"o: {{ack_policy: explicit, ack_wait: 10m, filter_subjects: [{', '.join(subjects)}]}}"
        file = f"streams: {{S: {{subjects: [s.>], retention: interest, consumers: {{{declared}}}}}}}"
        verdict = (await planned(js, tmp_path, f"{file}\nremoved: [{{address: consumer/S/c, reason: x}}]"))["CO310"]
        done(await js.request("CONSUMER.DELETE.S.c"))
        return verdict.quantities["dropped"], before, await settled(js, "S")

    said, before, after = talk(account, work)
    assert before - after == 5
    assert said == 5


NARROWED = {"all that the stream still takes": (["s.a"], 0), "a part of it": (["s.a", "s.c"], 5)}


@on_every_version
@pytest.mark.parametrize(("subjects", "goes"), NARROWED.values(), ids=NARROWED)
def test_what_the_stream_no_longer_takes_goes_with_its_consumer_unless_another_takes(
    account: Account, tmp_path: Path, subjects: list[str], goes: int
) -> None:
    """A filter that is all of the stream's subjects is none to a server, which then keeps what other subjects hold."""

    async def work(js: JetStream) -> tuple[Amount, int]:
        await make_stream(js, "S", subjects=["s.a", "s.b", "s.c"], retention="interest")
        await make_consumer(js, "S", "c", filter_subject="s.b")
        await make_consumer(js, "S", "d", filter_subject="s.a")
        await publish(js, *MIXED)
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": subjects, "retention": "interest"}))
        d = "consumers: {d: {ack_policy: explicit, filter_subject: s.a}}"
        file = f"streams: {{S: {{subjects: [{', '.join(subjects)}], retention: interest, {d}}}}}"
        verdict = (await planned(js, tmp_path, f"{file}\nremoved: [{{address: consumer/S/c, reason: x}}]"))["CO310"]
        before = await settled(js, "S")
        done(await js.request("CONSUMER.DELETE.S.c"))
        dropped = verdict.quantities["dropped"]
        return verdict.bounds.get("dropped", Amount(dropped, dropped)), before - await settled(js, "S", before - goes)

    said, gone = talk(account, work)
    assert gone == goes
    assert said == (Amount(0, 5) if goes == 0 else Amount(5, 5))


TOGETHER: dict[str, tuple[list[tuple[Sequence[str], int]], int]] = {
    "nobody": ([], 0),
    "apart": ([(("a",), 3), (("b",), 2)], 5),
    "the same": ([(("a",), 3), (("a",), 3)], 3),
    "one in the other": ([(("a.x",), 3), (("a.>",), 10)], 10),
    "two in one that wants less": ([(("a.x",), 3), (("a.y",), 3), (("a.>",), 2)], 6),
    "partly": ([(("a.x", "b"), 4), (("b", "c"), 4)], 4),
    "one that has all": ([(("a",), 0), (("a.>", "a"), 2)], 2),
}


@pytest.mark.parametrize(("wanted", "least"), TOGETHER.values(), ids=TOGETHER)
def test_what_consumers_want_together_counts_no_message_twice(
    wanted: list[tuple[Sequence[str], int]], least: int
) -> None:
    assert least_wanted_together(wanted) == least


@on_every_version
def test_whoever_is_declared_beside_a_deleted_consumer_gets_what_that_leaves(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, int]:
        await applied(js, tmp_path, text("interest", ""))
        await publish(js, *MIXED)
        beside = text("interest", "").replace("{c:", "{d:") + "\nremoved: [{address: consumer/S/c, reason: x}]"
        verdicts = await applied(js, tmp_path, beside)
        return verdicts["CO310"].message, done(await js.request("CONSUMER.INFO.S.d"))["num_pending"]

    said, pending = talk(account, work)
    assert said.endswith("lose their reader; d takes those stored now")
    assert pending == len(MIXED)


@on_every_version
def test_interest_retention_drops_no_more_than_was_said(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c")
        await publish(js, *MIXED)
        await take(js, "S", "c", 4)
        verdicts = await planned(js, tmp_path, text("interest", ""))
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "retention": "interest"}))
        return verdicts["ST302"].quantities["messages"], 10 - await settled(js, "S", 6)

    assert talk(account, work) == (4, 4)


@on_every_version
@pytest.mark.parametrize("purged", [False, True], ids=["left out by a new filter", "purged"])
def test_interest_retention_keeps_nothing_for_what_is_in_flight_and_not_wanted_any_more(
    account: Account, tmp_path: Path, purged: bool
) -> None:
    """Of ten in flight five are left out by the filter by then, or purged."""
    filters = "" if purged else ", filter_subject: s.a"

    async def work(js: JetStream) -> tuple[Amount, int, str]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c", ack_wait=600_000_000_000)
        await publish(js, "s.a", *("s.b", "s.a") * 10)
        await take(js, "S", "c", 1)
        await take(js, "S", "c", 10, acknowledge=False)
        if purged:
            done(await js.request("STREAM.PURGE.S", {"filter": "s.b"}))
        else:
            await update_consumer(js, "c", ack_wait=600_000_000_000, filter_subject="s.a")
        await take(js, "S", "c", 5)
        await applied(js, tmp_path, text("limits", f", ack_wait: 10m{filters}"))
        before = await settled(js, "S")
        verdict = (await applied(js, tmp_path, text("interest", f", ack_wait: 10m{filters}"), "ST302"))["ST302"]
        most = verdict.quantities["messages"]
        return verdict.bounds.get("messages", Amount(most, most)), before - await settled(js, "S"), verdict.message

    said, gone, words = talk(account, work)
    assert gone == (1 if account.minor == "2.11" else 6), "2.11 deletes none above an unacknowledged message"
    assert said == Amount(0, 11)
    assert "; c still wants up to 10" in words


@on_every_version
def test_interest_retention_after_a_filter_of_the_same_file_was_narrowed(account: Account, tmp_path: Path) -> None:
    """Nothing but apply: on an interest stream, with four in flight, of which the narrower filter leaves out two."""

    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, text("interest", ", ack_wait: 10m"))
        await publish(js, *MIXED * 3)
        await take(js, "S", "c", 4, acknowledge=False)
        narrow = ", ack_wait: 10m, filter_subject: s.a"
        await applied(js, tmp_path, text("interest", narrow), "CO301")
        await applied(js, tmp_path, text("limits", narrow))
        await publish(js, *MIXED)
        await take(js, "S", "c", 5)
        before = await settled(js, "S")
        verdict = (await applied(js, tmp_path, text("interest", narrow), "ST302"))["ST302"]
        return verdict.quantities["messages"], before - await settled(js, "S")

    said, gone = talk(account, work)
    assert gone == (0 if account.minor == "2.11" else 5)
    assert 5 <= said <= 7


@on_every_version
@pytest.mark.parametrize("filters", ["", ", filter_subject: 's.>'"], ids=["everything", "a filter"])
def test_interest_retention_drops_nothing_that_a_consumer_of_the_same_plan_wants(
    account: Account, tmp_path: Path, filters: str
) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, "streams: {S: {subjects: [s.>]}}")
        await publish(js, *MIXED)
        verdicts = await applied(js, tmp_path, text("interest", filters), "ST302")
        assert done(await js.request("CONSUMER.INFO.S.c"))["num_pending"] == len(MIXED)
        return verdicts["ST302"].quantities["messages"], (await state(js, "S"))["messages"]

    assert talk(account, work) == (0, 10)


@on_every_version
@pytest.mark.parametrize("taken", [0, 4], ids=["nothing given", "all given"])
def test_interest_retention_drops_nothing_that_no_filter_matches(account: Account, tmp_path: Path, taken: int) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, text("limits", ", filter_subject: s.b"))
        await publish(js, *["s.a"] * 6, *["s.b"] * taken)
        await take(js, "S", "c", taken)
        verdicts = await applied(js, tmp_path, text("interest", ", filter_subject: s.b"), "ST302")
        return verdicts["ST302"].quantities["messages"], await settled(js, "S", 6)

    assert talk(account, work) == (taken, 6)


@on_every_version
def test_interest_retention_keeps_what_is_there_while_a_mirror_takes_from_it(account: Account, tmp_path: Path) -> None:
    mirrored = "streams: {{S: {{subjects: [s.>], retention: {}}}, M: {{mirror: {{name: S}}}}}}"

    async def work(js: JetStream) -> tuple[int, int, int]:
        await applied(js, tmp_path, mirrored.format("limits"))
        await publish(js, *MIXED)
        async with asyncio.timeout(20):
            while (await state(js, "M"))["messages"] < len(MIXED):  # noqa: ASYNC110 - nothing announces it
                await asyncio.sleep(0.05)
        verdicts = await applied(js, tmp_path, mirrored.format("interest"), "ST302")
        stays = await settled(js, "S")
        await publish(js, "s.a")
        return verdicts["ST302"].quantities["messages"], stays, await settled(js, "S")

    assert talk(account, work) == (0, len(MIXED), len(MIXED) + 1)


FULL_GROUP = """streams:
  S:
    subjects: [s.*]
    retention: {}
    consumers: {{c: {{ack_policy: explicit}}}}
    groups:
      g:
        type: elastic
        max_members: 2
        members: [m]
        max_buffered_msg: 4
        partitioning_filters: [{{filter: s.*, partitioning_wildcards: [1]}}]
"""
FULL_MIRROR = """streams:
  S: {{subjects: [s.*], retention: {}, consumers: {{c: {{ack_policy: explicit}}}}}}
  S-g: {{mirror: {{name: S}}, max_msgs: 4, discard: new}}
"""


@on_every_version
@pytest.mark.parametrize("file", [FULL_GROUP, FULL_MIRROR], ids=["group", "mirror"])
def test_interest_retention_drops_as_said_what_a_full_copy_has_yet_to_take(
    account: Account, tmp_path: Path, file: str
) -> None:
    async def work(js: JetStream) -> tuple[Verdict, int]:
        await applied(js, tmp_path, file.format("limits"))
        await publish(js, *MIXED)
        await until(js, lambda info: info["state"]["messages"] == 4)
        await take(js, "S", "c", 10)
        verdicts = await applied(js, tmp_path, file.format("interest"), "ST302", "XX212")
        left = (await state(js, "S"))["messages"]
        return verdicts["ST302"], 10 - 4 - left

    said, lost = talk(account, work)
    assert 0 < lost <= said.quantities["uncopied"] <= 10
    assert "the server does not wait for streams that copy S: S-g" in said.message.replace("The", "the")


@on_every_version
def test_interest_retention_after_the_last_consumer_has_gone_in_the_same_plan(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, text("limits", ""))
        await publish(js, *MIXED)
        gone = "streams: {S: {subjects: [s.>], retention: interest}}\nremoved: [{address: consumer/S/c, reason: x}]"
        verdicts = await applied(js, tmp_path, gone, "ST302")
        predicted = verdicts["ST302"].quantities["messages"]
        return predicted, 10 - await settled(js, "S", 10 - predicted)

    assert talk(account, work) == ((10, 10) if account.minor == "2.15" else (0, 0))


@on_every_version
def test_what_a_removed_consumer_wanted_stays_where_the_stream_keeps_everything_by_then(
    account: Account, tmp_path: Path
) -> None:
    async def work(js: JetStream) -> int:
        await applied(js, tmp_path, text("interest", ""))
        await publish(js, *MIXED)
        gone = "streams: {S: {subjects: [s.>], retention: limits}}\nremoved: [{address: consumer/S/c, reason: x}]"
        verdicts = await applied(js, tmp_path, gone)
        assert "dropped" not in verdicts["CO310"].quantities
        return await settled(js, "S", len(MIXED))

    assert talk(account, work) == len(MIXED)


@on_every_version
def test_interest_retention_that_nobody_has_any_interest_in(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[int, int]:
        await make_stream(js, "S", subjects=["s.>"])
        await publish(js, *MIXED)
        verdicts = await planned(js, tmp_path, "streams: {S: {subjects: [s.>], retention: interest}}")
        done(await js.request("STREAM.UPDATE.S", {"name": "S", "subjects": ["s.>"], "retention": "interest"}))
        predicted = verdicts["ST302"].quantities["messages"]
        return predicted, 10 - await settled(js, "S", 10 - predicted)

    assert talk(account, work) == ((10, 10) if account.minor == "2.15" else (0, 0))


@on_every_version
def test_what_a_consumer_of_a_work_queue_leaves_goes_to_whom_the_plan_names(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, int]:
        await make_stream(js, "S", subjects=["s.>"], retention="workqueue")
        await make_consumer(js, "S", "a", filter_subject="s.a")
        await publish(js, *MIXED)
        await take(js, "S", "a", 2)
        first = "streams: {S: {subjects: [s.>], retention: workqueue, consumers: {a: {ack_policy: explicit, filter_subject: s.a}}}}"
        await applied(js, tmp_path, first)
        both = "{S: {subjects: [s.>], retention: workqueue, consumers: {b: {ack_policy: explicit}}}}"
        removed = f"streams: {both}\nremoved: [{{address: consumer/S/a, reason: b takes over}}]"
        verdicts = await applied(js, tmp_path, removed)
        return verdicts["CO310"].message, done(await js.request("CONSUMER.INFO.S.b"))["num_pending"]

    assert talk(account, work) == ("3 messages not yet delivered lose their reader: b takes them", 8)


async def two_of_four_delivered_twice(js: JetStream) -> None:
    """All four are in flight."""
    await publish(js, *["s.a"] * 2)
    for message in await pulled(js, 2):
        await js.pipeline.nc.publish(message.reply, b"-NAK")
    assert {message.metadata.num_delivered for message in await pulled(js, 2)} == {2}
    await publish(js, *["s.a"] * 2)
    await pulled(js, 2)


@on_every_version
def test_what_was_delivered_as_often_as_allowed_comes_again_when_more_is_allowed(
    account: Account, tmp_path: Path
) -> None:
    """Of four in flight, two were delivered twice, which was all."""

    async def work(js: JetStream) -> tuple[str, Amount, list[int]]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c", ack_wait=2_000_000_000, max_deliver=2)
        await two_of_four_delivered_twice(js)
        verdict = (await applied(js, tmp_path, text("limits", ", ack_wait: 2s, max_deliver: 5")))["CO605"]
        again = sorted(message.metadata.num_delivered for message in await pulled(js, 4))
        return verdict.message, verdict.bounds["redelivered"], again

    said, bounds, again = talk(account, work)
    assert "redelivers up to 2 of 4 messages in flight, which it has already delivered 2 times" in said
    assert (again, bounds.most) == ([2, 2, 3, 3], 2)


@on_every_version
def test_no_more_comes_again_than_may_still_be_delivered(account: Account, tmp_path: Path) -> None:
    """Of four in flight, two were delivered as often as they will ever be."""

    async def work(js: JetStream) -> tuple[Amount, int]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c", ack_wait=60_000_000_000)
        await two_of_four_delivered_twice(js)
        verdicts = await planned(js, tmp_path, text("limits", ", ack_wait: 1ms, max_deliver: 2"))
        await update_consumer(js, "c", ack_wait=100_000_000, max_deliver=2)
        again = [message.metadata.num_delivered for message in await pulled(js, 2)]
        assert again == [2, 2]
        return verdicts["CO605"].bounds["redelivered"], len(again) + len(await pulled(js, 1, within=1))

    said, came = talk(account, work)
    assert said.least == came < said.most


RENAMED = (
    "moved: [{from: consumer/S/old, to: consumer/S/new, reason: plainer}]\n"
    "streams: {S: {subjects: [s.>], consumers: {new: {ack_policy: explicit}}}}"
)
PUSHED = "streams: {S: {subjects: [s.>], consumers: {old: {ack_policy: explicit, deliver_subject: pushed}}}}"


@on_every_version
@pytest.mark.parametrize(
    ("after", "code", "words", "status"),
    [
        (RENAMED, "CO330", "later pulls on old get 503: clients must use new", "503"),
        (PUSHED, "CO109", "later ones get 409 Consumer is push based: messages are delivered to pushed", "409"),
    ],
    ids=["renamed", "pushed from then on"],
)
def test_a_pull_of_a_recreated_consumer_ends_with_409_and_what_later_ones_get_is_said(
    account: Account, tmp_path: Path, after: str, code: str, words: str, status: str
) -> None:
    async def work(js: JetStream) -> tuple[str, list[str]]:
        nc = js.pipeline.nc
        await applied(js, tmp_path, "streams: {S: {subjects: [s.>], consumers: {old: {ack_policy: explicit}}}}")
        answers = await nc.subscribe(inbox := nc.new_inbox())

        async def pull() -> None:
            await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.old", b'{"expires": 20000000000}', reply=inbox)

        async def answered() -> str:
            return ((await answers.next_msg(timeout=20)).headers or {}).get("Status", "")

        await pull()
        await nc.flush()
        made = await plan(read(tmp_path, after), js, RunOptions())
        said = [one.message for change in made.plan.changes for one in change.consequences]
        await applied(js, tmp_path, after, code)
        seen = [await answered()]
        await pull()
        return " ".join(said), [*seen, await answered()]

    said, seen = talk(account, work)
    assert f"The waiting pull ends with 409 Consumer Deleted, and {words}" in said
    assert seen == ["409", status]


PINNING = (
    "streams: {T: {subjects: [t]}, S: {subjects: [s.>], consumers: {old: {ack_policy: explicit, priority_policy: pinned_client, "
    "priority_groups: [a], priority_timeout: 1m}}}}"
)
GOES = (
    "streams: {T: {subjects: [t]}, S: {subjects: [s.>]}}\nremoved: [{address: consumer/S/old, reason: nobody uses it}]"
)
GOES_WITH_STREAM = (
    "streams: {T: {subjects: [t]}}\n"
    "removed: [{address: consumer/S/old, reason: nobody uses it}, {address: stream/S, reason: nobody uses it}]"
)


@on_every_version
@pytest.mark.parametrize("after", [GOES, GOES_WITH_STREAM], ids=["alone", "with its stream"])
def test_pulls_of_a_removed_consumer_get_409_and_then_503(account: Account, tmp_path: Path, after: str) -> None:
    async def work(js: JetStream) -> tuple[str, list[str]]:
        nc = js.pipeline.nc
        await applied(js, tmp_path, PINNING)
        await publish(js, "s.a")
        answers = await nc.subscribe(inbox := nc.new_inbox())

        async def answer_to_a_pull(**more: str) -> Msg:
            body = json.dumps({"expires": 20_000_000_000, "group": "a", **more}).encode()
            await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.old", body, reply=inbox)
            return await answers.next_msg(timeout=20)

        pinned = await answer_to_a_pull()
        await pinned.ack_sync(timeout=20)
        waiting = asyncio.create_task(answer_to_a_pull(id=(pinned.headers or {})["Nats-Pin-Id"]))
        await until(js, lambda info: info["num_waiting"] == 1, "CONSUMER.INFO.S.old")
        said = (await applied(js, tmp_path, after))["CO310"].message
        ends = [await waiting, await answer_to_a_pull()]
        return said, [(end.headers or {}).get("Status", "") for end in ends]

    said, seen = talk(account, work)
    assert said.startswith("one client is pinned for group a (for ")
    assert "; the waiting pull ends with 409 Consumer Deleted, and later pulls on old get 503" in said
    assert said.endswith(
        "its position, sequence 1, is lost: a consumer created later under this name begins as its file says"
    ) == (after == GOES)
    assert seen == ["409", "503"]


@on_every_version
@pytest.mark.parametrize("named", ["filter_subject: s.a", "filter_subjects: [s.a, s.x]"], ids=["one", "several"])
@pytest.mark.parametrize("pushed", ["", ", deliver_subject: pushed"], ids=["pulled", "pushed"])
def test_a_consumer_whose_filter_goes_is_woken_for_what_is_published_then(
    account: Account, tmp_path: Path, named: str, pushed: str
) -> None:
    """No server wakes a consumer that an update has left without a filter: the update writes one that takes everything."""
    bare = f"streams: {{S: {{subjects: [s.>], consumers: {{c: {{ack_policy: explicit{pushed}}}}}}}}}"

    async def work(js: JetStream) -> list[str]:
        nc = js.pipeline.nc
        answers = await nc.subscribe("pushed" if pushed else (inbox := nc.new_inbox()))
        await applied(js, tmp_path, bare.replace("explicit", f"explicit, {named}"))
        await applied(js, tmp_path, bare)
        if not pushed:
            body = b'{"batch": 2, "expires": 20000000000}'
            await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", body, reply=inbox)
            await until(js, lambda info: info["num_waiting"] == 1, "CONSUMER.INFO.S.c")
        await publish(js, "s.a", "s.b")
        got = [(await answers.next_msg(timeout=10)).subject for _ in range(2)]
        assert (await plan(read(tmp_path, bare), js, RunOptions())).plan.changes == ()
        return got

    assert talk(account, work) == ["s.a", "s.b"]


@on_every_version
def test_a_consumer_that_replays_at_the_original_pace_is_said_to_and_does(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, float]:
        await applied(js, tmp_path, text("limits", ""))
        await publish(js, "s.a")
        await asyncio.sleep(1.5)  # what is measured
        await publish(js, "s.a")
        wanted = read(tmp_path, text("limits", ", replay_policy: original"))
        made = await plan(wanted, js, RunOptions())
        said = [verdict.message for change in made.plan.changes for verdict in change.verdicts]
        await applied(js, tmp_path, text("limits", ", replay_policy: original"), "CO105")
        began = asyncio.get_running_loop().time()
        await take(js, "S", "c", 2)
        return " ".join(said), asyncio.get_running_loop().time() - began

    said, seconds = talk(account, work)
    assert "stored messages are delivered at the pace at which they were published, and 2 messages are pending" in said
    assert seconds > 1.2


@on_every_version
def test_what_is_in_flight_when_payloads_go_comes_again_without(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[str, list[bytes]]:
        await applied(js, tmp_path, text("limits", ", ack_wait: 1s"))
        await publish(js, *["s.a"] * 3)
        before = await pulled(js, 2)
        verdicts = await applied(js, tmp_path, text("limits", ", ack_wait: 1s, headers_only: true"))
        after = await pulled(js, 3)
        return verdicts["CO601"].message, [message.data for message in (*before, *after)]

    said, got = talk(account, work)
    assert "first 2 messages in flight, unless acknowledged in time, then 1 pending message" in said
    assert got == [b"0123456789"] * 2 + [b""] * 3


@on_every_version
@pytest.mark.parametrize("is_counted", [True, False])
def test_what_is_published_while_it_is_counted_hides_nothing_that_a_new_filter_leaves_out(
    account: Account, tmp_path: Path, is_counted: bool
) -> None:
    """An interest stream deletes it. Clients publish what the consumer keeps, between the look at it and the counting."""
    file = f"""
streams:
  S:
    subjects: [s.*]
    retention: interest
    allow_direct: {str(is_counted).lower()}
    consumers: {{c: {{ack_policy: explicit, filter_subject: s.a}}}}
"""

    async def work(js: JetStream) -> tuple[Verdict, Verdict]:
        await applied(js, tmp_path, file.replace(", filter_subject: s.a", ""))
        await publish(js, *["s.b"] * 3)
        before = await observe(js)
        await publish(js, *["s.a"] * 10)
        hidden = await planned_from(read(tmp_path, file), before, js)
        quiet = await planned_from(read(tmp_path, file), await observe(js), js)
        return hidden.plan.changes[0].verdicts[0], quiet.plan.changes[0].verdicts[0]

    hidden, quiet = talk(account, work)
    assert {(one.code, one.outcome) for one in (hidden, quiet)} == {("CO301", Outcome.NEEDS_CONSENT)}
    assert quiet.quantities["messages"] == 3
    assert hidden.quantities["messages"] >= 3


@on_every_version
def test_what_is_published_while_it_is_counted_is_all_that_a_consumer_may_lack(
    account: Account, tmp_path: Path
) -> None:
    """Without allow_direct, no server counts it; its numbers bound it."""

    async def publish_on(js: JetStream, sent: list[str]) -> None:
        while True:
            sent.append(f"m.{len(sent)}")
            await publish(js, sent[-1])

    async def work(js: JetStream) -> tuple[str, int]:
        shape = "streams: {E: {subjects: [%s], consumers: {c: {ack_policy: explicit, filter_subjects: [e.us.>, m.>]}}}}"
        await applied(js, tmp_path, shape % "e.>, m.>")
        await publish(js, *(f"m.old.{number}" for number in range(STORED)))
        await take(js, "E", "c", STORED)
        sent = list[str]()
        async with beside(publish_on(js, sent)):
            await until(js, lambda info: info["state"]["messages"] > STORED, "STREAM.INFO.E")
            return (await planned(js, tmp_path, shape % "e.>"))["ST303"].message, len(sent)

    said, sent = talk(account, work)
    lacking = re.search(r"c has not processed (?:up to |at least )?([\d_]+)(?: and at most ([\d_]+))? of them", said)
    assert lacking, said
    assert int((lacking[2] or lacking[1]).replace("_", "")) <= sent < STORED


@on_every_version
def test_a_narrower_filter_leaves_out_no_less_than_was_said(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[Amount, int]:
        await make_stream(js, "S", subjects=["s.>"])
        await make_consumer(js, "S", "c", filter_subjects=["s.a", "s.b"])
        await publish(js, *["s.a", "s.b", "s.a", "s.a"] * 5)
        await take(js, "S", "c", 4)
        verdict = (await planned(js, tmp_path, text("limits", ", filter_subject: s.b")))["CO301"]
        await update_consumer(js, "c", filter_subject="s.b")
        left = done(await js.request("CONSUMER.INFO.S.c"))["num_pending"]
        return verdict.bounds["skipped"], 16 - int(left)

    bounds, skipped = talk(account, work)
    assert skipped == 12
    assert 11 <= bounds.least <= skipped <= bounds.most
