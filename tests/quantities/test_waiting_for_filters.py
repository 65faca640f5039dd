"""Apply waits for what a consumer of a work queue has in flight only where another takes its subjects, and says so before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from reconciler.changes.plan import Plan
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.steps import Call
from reconciler.server.wire.api import JetStream
from tests.quantities.losing import applied, publish, take
from tests.support.accounts import Account
from tests.support.jetstream import done, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version


def queue(one: str, two: str) -> str:
    explicit = "ack_policy: explicit, ack_wait: 45s"
    return (
        f"streams: {{S: {{subjects: [s.>], retention: workqueue, consumers: {{one: {{{explicit}, filter_subjects: {one}}}, "
        f"two: {{{explicit}, filter_subjects: {two}}}}}}}}}"
    )


def said_of_one(found: Plan) -> list[str]:
    return [one.message for change in found.changes if change.address.endswith("one") for one in change.consequences]


@on_every_version
@pytest.mark.parametrize(
    ("taken", "waits"), [("[s.c, s.d]", False), ("[s.c, s.b]", True)], ids=["from nobody", "from it"]
)
def test_it_waits_where_another_takes_what_it_gives_up(
    account: Account, tmp_path: Path, taken: str, waits: bool
) -> None:
    async def work(js: JetStream) -> tuple[bool, list[str]]:
        await applied(js, tmp_path, queue("[s.a, s.b]", "[s.c]"))
        await publish(js, *["s.a"] * 4)
        await take(js, "S", "one", 4, acknowledge=False)
        found = (await plan(read(tmp_path, queue("[s.a]", taken)), js, RunOptions(allow=(("XX311", "*"),)))).plan
        gates = [step for step in found.steps if step.call is Call.GATE_IN_FLIGHT_DONE and step.on == ("S", "one")]
        return bool(gates), [one for one in said_of_one(found) if "apply waits" in one]

    told = (
        "Another consumer takes what it gives up, so apply waits until clients have acknowledged what is in flight of that (up to "
        "4 messages), at most its ack_wait of 45s; what a client holds longer is delivered to clients of both"
    )
    assert talk(account, work) == (waits, [told] if waits else [])


@on_every_version
def test_it_does_not_wait_for_what_the_first_one_keeps(account: Account, tmp_path: Path) -> None:
    """All four in flight stay with the first, and its client holds them all the time."""

    async def work(js: JetStream) -> int:
        await applied(js, tmp_path, queue("[s.a, s.b]", "[s.c]"))
        await publish(js, *["s.b"] * 3)
        await take(js, "S", "one", 3)
        await publish(js, *["s.a"] * 4, "s.b")
        await take(js, "S", "one", 4, acknowledge=False)
        async with asyncio.timeout(20):
            await applied(js, tmp_path, queue("[s.a]", "[s.b, s.c]"), "XX311")
        return int(done(await js.request("CONSUMER.INFO.S.two"))["num_pending"])

    assert talk(account, work) == 1


@on_every_version
def test_what_a_client_holds_longer_than_ack_wait_is_delivered_to_both(account: Account, tmp_path: Path) -> None:
    """Two of four messages lie on the subject that moves."""
    short = "ack_policy: explicit, ack_wait: 1s"

    def file(one: str, two: str) -> str:
        both = f"one: {{{short}, filter_subjects: {one}}}, two: {{{short}, filter_subjects: {two}}}"
        return f"streams: {{S: {{subjects: [s.>], retention: workqueue, consumers: {{{both}}}}}}}"

    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, file("[s.a, s.b]", "[s.c]"))
        await publish(js, *["s.a", "s.b"] * 2)
        held = await take(js, "S", "one", 4, acknowledge=False)
        await applied(js, tmp_path, file("[s.a]", "[s.b, s.c]"), "XX311")
        return len(held), len(await take(js, "S", "two", 2))

    assert talk(account, work) == (4, 2)


FLYING = (
    "apply waits until clients have acknowledged the 4 messages that are in flight, at most its ack_wait of 45s; then it "
    "starts over with what is still stored"
)
IDLE = "apply gives it what is still stored, from the first message on"


@on_every_version
@pytest.mark.parametrize(("in_flight", "told"), [(4, FLYING), (0, IDLE)])
def test_it_waits_before_a_consumer_takes_more(account: Account, tmp_path: Path, in_flight: int, told: str) -> None:
    async def work(js: JetStream) -> list[str]:
        await applied(js, tmp_path, queue("[s.a, s.b]", "[s.c]"))
        await publish(js, *["s.a"] * 6)
        await take(js, "S", "one", in_flight, acknowledge=False)
        options = RunOptions(allow=(("XX311", "*"),))
        return said_of_one((await plan(read(tmp_path, queue("[s.a, s.b, s.d]", "[s.c]")), js, options)).plan)

    *_, last = talk(account, work)
    assert last == f"it takes other subjects of a work queue, and delivers nothing until it has them: {told}"


@on_every_version
def test_it_also_waits_where_the_server_is_to_deliver_less_often(account: Account, tmp_path: Path) -> None:
    """With the new values alone, the server would give up after a second what the client holds."""

    def file(one: str, others: str = "") -> str:
        both = f"one: {{ack_policy: explicit, {one}}}{others}"
        return f"streams: {{S: {{subjects: [s.>], retention: workqueue, consumers: {{{both}}}}}}}"

    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, file("filter_subjects: [s.a, s.b], ack_wait: 45s, max_deliver: 5"))
        await publish(js, *["s.a", "s.b"] * 2)
        one = await js.pipeline.nc.jetstream().pull_subscribe_bind("one", stream="S")
        held = await one.fetch(4, timeout=20)
        split = file(
            "filter_subject: s.a, ack_wait: 1s, max_deliver: 1", ", two: {ack_policy: explicit, filter_subject: s.b}"
        )
        applying = asyncio.create_task(applied(js, tmp_path, split, "CO603"))
        await asyncio.wait([applying], timeout=3)
        for message in held:
            await message.ack_sync(timeout=20)
        await applying
        two = done(await js.request("CONSUMER.INFO.S.two"))
        return two["num_pending"], done(await js.request("CONSUMER.INFO.S.one"))["config"]["max_deliver"]

    assert talk(account, work) == (0, 1)


@on_every_version
@pytest.mark.parametrize("taken", ["s.a", "s.>"], ids=["the same subjects", "more subjects"])
def test_what_is_delivered_anew_is_not_said_to_be_given_up(account: Account, tmp_path: Path, taken: str) -> None:
    """A consumer that takes more starts over, also with what it would have given up."""

    def file(filter_: str, deliveries: int) -> str:
        one = f"one: {{ack_policy: explicit, ack_wait: 1s, filter_subject: '{filter_}', max_deliver: {deliveries}}}"
        return f"streams: {{S: {{subjects: [s.>], retention: workqueue, consumers: {{{one}}}}}}}"

    async def work(js: JetStream) -> tuple[bool, int]:
        await applied(js, tmp_path, file("s.a", 5))
        await publish(js, *["s.a"] * 4)
        await take(js, "S", "one", 2, acknowledge=False)
        found = await applied(js, tmp_path, file(taken, 1), "CO603", "XX311")
        return "CO603" in found, len(await take(js, "S", "one", 2 if taken == "s.a" else 4))

    assert talk(account, work) == ((True, 2) if taken == "s.a" else (False, 4))


@on_every_version
@pytest.mark.parametrize("retention", ["limits", "workqueue"])
def test_a_filter_that_apply_takes_away_is_said_to_show_as_everything(
    account: Account, tmp_path: Path, retention: str
) -> None:
    """An application that asks for the consumer as the file has it is refused, unless it may update the one that exists. Before 2.14
    a consumer of a work queue is recreated instead, and shows nothing."""
    shape = "streams: {S: {subjects: [s.>], retention: %s, consumers: {c: {ack_policy: explicit%s}}}}"

    async def work(js: JetStream) -> tuple[list[str], list[object]]:
        await applied(js, tmp_path, shape % (retention, ", filter_subject: s.a"))
        found = await plan(read(tmp_path, shape % (retention, "")), js, RunOptions())
        await applied(js, tmp_path, shape % (retention, ""), "XX311")
        config = {"durable_name": "c", "name": "c", "ack_policy": "explicit", "deliver_policy": "all"}
        answers = [
            await js.request("CONSUMER.CREATE.S.c", {"stream_name": "S", "config": config, **action})
            for action in ({"action": "create"}, {})
        ]
        said = [one.message for change in found.plan.changes for one in change.consequences if "10148" in one.message]
        return said, [getattr(one, "err_code", None) for one in answers]

    said, refused = talk(account, work)
    assert all(one.startswith("The server then shows filter `>`, which counts as none here") for one in said)
    is_recreated = retention == "workqueue" and account.minor in ("2.11", "2.12")
    assert (len(said), refused) == ((0, [None, None]) if is_recreated else (1, [10148, None]))
