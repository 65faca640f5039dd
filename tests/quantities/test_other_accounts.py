"""What the pages of ST303, ST310 and XX231 say of readers in other accounts and domains: no server lists them to the owner of a
stream, unless it is a work queue or an interest stream, and both servers are 2.14 or newer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from reconciler.changes.events import Finished
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.drift.look import look
from reconciler.journeys.plan.plan import plan
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.snapshot import hears_origin
from reconciler.server.read.observe import observe
from reconciler.server.wire.answers import TAKEN_ELSEWHERE
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import applied, planned, publish
from tests.server.test_observe_elsewhere import leaf_and_hub
from tests.support.accounts import User, connect
from tests.support.binaries import MINORS
from tests.support.jetstream import done, make_stream
from tests.support.servers import NatsServer
from tests.support.topologies import read

ACCOUNTS = """
accounts {
  ORDERS: {jetstream: enabled, users: [{user: o, password: o}], exports: [{service: "$JS.API.>", response: stream}, {stream: "copied.>"}]}
  BILLING: {
    jetstream: enabled, users: [{user: b, password: b}]
    imports: [{service: {account: ORDERS, subject: "$JS.API.>"}, to: "orders.API.>"}, {stream: {account: ORDERS, subject: "copied.>"}}]
  }
}
"""
SOURCE = {"name": "ORDERS", "external": {"api": "orders.API", "deliver": "copied.here"}}


@pytest.mark.parametrize("minor", MINORS)
def test_a_source_in_another_account_is_seen_by_nobody_who_owns_the_stream(minor: str, tmp_path: Path) -> None:
    async def story(url: str) -> None:
        ours, theirs = await connect(url, "o", "o"), await connect(url, "b", "b")
        js, others = await JetStream.open(ours), await JetStream.open(theirs)
        await make_stream(js, "ORDERS", subjects=["orders.*"])
        for _ in range(3):
            await ours.request("orders.x", b"", timeout=20)
        await make_stream(others, "COPY", subjects=[], sources=[SOURCE])
        await until(others, lambda info: info["state"]["messages"] == 3, "STREAM.INFO.COPY")
        seen = await observe(js)
        assert (seen.state_of("ORDERS")["consumer_count"], seen.consumers, seen.copiers) == (0, {}, {})
        said = await planned(js, tmp_path, "streams: {ORDERS: {subjects: [orders.new]}}")
        assert "COPY" not in str(said)
        for client in (js, others):
            await client.close()
        for connection in (ours, theirs):
            await connection.close()

    with NatsServer(minor, config=ACCOUNTS) as server:
        asyncio.run(story(server.url))


HUB = {"api": "$JS.hub.API"}


@pytest.mark.parametrize(
    ("leaf", "hub", "retention"),
    [
        ("2.11", "2.11", "workqueue"),
        ("2.11", "2.15", "workqueue"),
        ("2.11", "2.15", "limits"),
        ("2.15", "2.15", "limits"),
    ],
)
def test_a_mirror_in_another_domain_is_in_no_plan_and_continues_with_what_it_has(
    tmp_path: Path, leaf: str, hub: str, retention: str
) -> None:
    async def work(js: JetStream, far: JetStream) -> None:
        await applied(js, tmp_path, f"streams: {{OTHER: {{}}, S: {{subjects: [s.*], retention: {retention}}}}}")
        await make_stream(far, "S", subjects=[], mirror={"name": "S", "external": HUB})
        await publish(js, *["s.old"] * 3)
        await until(far, lambda info: info["state"]["messages"] == 3, "STREAM.INFO.S")
        assert "XX231" not in await planned(
            js, tmp_path, "streams: {OTHER: {}}\nremoved: [{address: stream/S, reason: over}]"
        )
        config = done(await js.request("STREAM.INFO.S"))["config"]
        done(await js.request("STREAM.DELETE.S"))
        done(await js.request("STREAM.CREATE.S", config))
        await publish(js, *["s.new"] * 4)
        await until(far, lambda info: info["state"]["last_seq"] == 4, "STREAM.INFO.S")
        stored = done(await far.request("STREAM.INFO.S", {"subjects_filter": ">"}))["state"]["subjects"]
        assert stored == {"s.old": 3, "s.new": 1}

    with leaf_and_hub(leaf, hub) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
@pytest.mark.parametrize("copied", ["sources: [{0}]", "mirror: {0}"])
def test_drift_names_a_copy_whose_origin_is_misspelt(tmp_path: Path, minor: str, copied: str) -> None:
    async def work(js: JetStream, far: JetStream) -> None:
        await make_stream(far, "O", subjects=["o"])
        await publish(far, "o")
        right, wrong = (
            copied.format(f"{{name: O, external: {{api: $JS.{domain}.API}}}}") for domain in ("leaf", "leav")
        )
        text = f"streams: {{RIGHT: {{{right}}}, WRONG: {{{wrong}}}}}"
        await applied(js, tmp_path, text)
        await until(js, lambda info: info["state"]["messages"] == 1, "STREAM.INFO.RIGHT")
        drift = look(read(tmp_path, text), await observe(js)).drift
        assert [(found.code, found.address, found.message, found.is_error) for found in drift.diagnostics] == [
            (
                "DR104",
                "stream/WRONG",
                "WRONG copies nothing from O behind $JS.leav.API: its server has not heard it yet",
                False,
            )
        ]
        assert (drift.exit_code, drift.items) == (0, ())

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_a_plan_says_whether_anybody_answers_for_what_is_copied_from_another_domain(tmp_path: Path, minor: str) -> None:
    async def said(js: JetStream, text: str) -> list[str]:
        changes = (await plan(read(tmp_path, text), js, RunOptions())).plan.changes
        return [note.message.rpartition(", ")[2] for change in changes for note in change.consequences]

    async def work(js: JetStream, far: JetStream) -> None:
        await make_stream(far, "O", subjects=["o"])
        here = "{sources: [{name: O, external: {api: $JS.%s.API}}]}"
        texts = {domain: f"streams: {{S: {here % domain}}}" for domain in ("leaf", "leav")}
        assert await said(js, texts["leaf"]) == ["which this plan does not see"]
        assert await said(js, texts["leav"]) == ["where nobody answers now"]
        assert await said(js, texts["leaf"].replace("name: O", "name: OTHER")) == ["which does not exist there now"]
        await make_stream(js, "S", subjects=["s"])
        added = texts["leav"].replace("{sources", "{subjects: [s], sources")
        assert "where nobody answers now (ST304)" in await said(js, added)

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


ALL_OF = "sources: [{name: %s, external: {api: $JS.leaf.API}}]"


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_a_source_that_moves_to_another_stream_of_another_domain_copies_all_of_it(tmp_path: Path, minor: str) -> None:
    async def said(js: JetStream, text: str) -> list[str]:
        (change,) = (await plan(read(tmp_path, text), js, RunOptions())).plan.changes
        return [note.message for note in change.consequences]

    async def work(js: JetStream, far: JetStream) -> None:
        for name, number in (("OLD", 2), ("NEW", 3)):
            await make_stream(far, name, subjects=[name])
            await publish(far, *[name] * number)
        before, after = (f"streams: {{S: {{{ALL_OF % name}}}}}" for name in ("OLD", "NEW"))
        assert await said(js, before) == ["It copies from OLD behind $JS.leaf.API, which this plan does not see"]
        await applied(js, tmp_path, before)
        await until(js, lambda info: info["state"]["messages"] == 2, "STREAM.INFO.S")
        assert await said(js, after) == [
            "the server at once copies what NEW behind $JS.leaf.API stores, which this plan does not see (ST304)",
            "from then on the stream does not copy new messages of OLD behind $JS.leaf.API (ST305)",
        ]
        await applied(js, tmp_path, after)
        await until(js, lambda info: info["state"]["messages"] == 5, "STREAM.INFO.S")

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


@pytest.mark.parametrize(("taken", "wanted"), [(None, "s.a"), ("s.a", "s.a"), (None, None)])
def test_a_consumer_that_a_copy_of_a_queue_elsewhere_keeps_out_is_told_of_such_copies(
    tmp_path: Path, taken: str | None, wanted: str | None
) -> None:
    async def work(js: JetStream, far: JetStream) -> None:
        await make_stream(js, "Q", subjects=["s.*"], retention="workqueue")
        source = {"name": "Q", "external": HUB, **({"filter_subject": taken} if taken else {})}
        await make_stream(far, "COPY", subjects=[], sources=[source])
        await publish(js, "s.a")
        await until(far, lambda info: info["state"]["messages"] == 1, "STREAM.INFO.COPY")
        filtered = f", filter_subject: {wanted}" if wanted else ""
        text = f"streams: {{Q: {{subjects: [s.*], retention: workqueue, consumers: {{c: {{ack_policy: explicit{filtered}}}}}}}}}"
        events = [event async for event in apply(await plan(read(tmp_path, text), js), js)]
        assert isinstance(finished := events[-1], Finished)
        assert [one.reason.fix for one in finished.failed] == [TAKEN_ELSEWHERE]

    with leaf_and_hub("2.12", "2.12") as (near, top):
        asyncio.run(at_both_ends(top, near, work))


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_a_source_that_is_removed_while_its_domain_is_away_is_said_to_leave_an_unknown_rest(
    tmp_path: Path, minor: str
) -> None:
    sourced, gone = f"streams: {{S: {{subjects: [s], {ALL_OF % 'FAR'}}}}}", "streams: {S: {subjects: [s]}}"

    async def while_there(js: JetStream, far: JetStream) -> None:
        await make_stream(far, "FAR", subjects=["far"])
        await publish(far, *["far"] * 2)
        await applied(js, tmp_path, sourced)
        await until(js, lambda info: info["state"]["messages"] == 2, "STREAM.INFO.S")
        await until(js, lambda info: info["sources"][0]["active"] >= 0, "STREAM.INFO.S")
        assert "ST305" not in await planned(js, tmp_path, gone)

    async def while_away(js: JetStream, _js: JetStream) -> None:
        await until(js, lambda info: not hears_origin(info["sources"][0]), "STREAM.INFO.S")
        assert "hears nothing from it" in (await planned(js, tmp_path, gone))["ST305"].message

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, while_there))
        near.stop()
        asyncio.run(at_both_ends(top, top, while_away))


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_a_copy_that_asks_at_the_prefix_of_its_own_domain_stays_empty_as_its_plan_says(
    tmp_path: Path, minor: str
) -> None:
    text = "streams: {O: {}, FED: {mirror: {name: O}}, M: {mirror: {name: O, external: {api: $JS.hub.API}}}}"

    async def work(js: JetStream, _far: JetStream) -> None:
        assert (await planned(js, tmp_path, text))["XX228"].message.startswith("the server copies nothing of O: ")
        await applied(js, tmp_path, text)
        await publish(js, "O")
        await until(js, lambda info: info["state"]["messages"] == 1, "STREAM.INFO.FED")
        await asyncio.sleep(5)  # a copy that is fed begins within two
        assert done(await js.request("STREAM.INFO.M"))["state"]["messages"] == 0

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


@pytest.mark.parametrize("minor", [MINORS[0], MINORS[-1]])
def test_whoever_adopts_a_copy_that_is_not_fed_is_told(tmp_path: Path, minor: str) -> None:
    text = """streams:
  O: {}
  FED: {mirror: {name: O}}
  LOST: {sources: [{name: NOWHERE}]}
  M: {mirror: {name: O, external: {api: NOBODY.API, deliver: d}}}
"""

    async def work(js: JetStream, _far: JetStream) -> None:
        await make_stream(js, "O")
        await make_stream(js, "FED", subjects=[], mirror={"name": "O"})
        await make_stream(js, "LOST", subjects=[], sources=[{"name": "NOWHERE"}])
        await make_stream(js, "M", subjects=[], mirror={"name": "O", "external": {"api": "NOBODY.API", "deliver": "d"}})
        await until(js, lambda info: hears_origin(info["mirror"]), "STREAM.INFO.FED")
        await until(js, lambda info: "error" in info["sources"][0], "STREAM.INFO.LOST")
        made = (await plan(read(tmp_path, text), js)).plan
        assert {change.address: [verdict.message for verdict in change.verdicts] for change in made.changes} == {
            "stream/FED": [], "stream/O": [],
            "stream/LOST": ["the server copies nothing of NOWHERE: stream not found (10059)"],
            "stream/M": ["the server copies nothing of O: nothing has answered at NOBODY.API since the server started"],
        }  # fmt: skip

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


@pytest.mark.parametrize("retention", ["workqueue", "interest"])
@pytest.mark.parametrize("minor", ["2.14", "2.15"])
def test_newer_servers_say_which_stream_of_another_domain_copies_a_queue(
    tmp_path: Path, minor: str, retention: str
) -> None:
    async def work(js: JetStream, far: JetStream) -> None:
        await applied(js, tmp_path, f"streams: {{OTHER: {{}}, S: {{subjects: [s.*], retention: {retention}}}}}")
        await make_stream(js, "HERE", subjects=[], mirror={"name": "S", "filter_subject": "s.here"})
        await make_stream(far, "S", subjects=[], mirror={"name": "S", "external": HUB, "filter_subject": "s.far"})
        await until(js, lambda info: info["state"]["consumer_count"] == 2, "STREAM.INFO.S")
        said = await planned(js, tmp_path, "streams: {OTHER: {}}\nremoved: [{address: stream/S, reason: over}]")
        assert said["XX231"].message.startswith(
            "2 readers get nothing more from it: mirror HERE, stream S (domain leaf)"
        )

    with leaf_and_hub(minor, minor) as (near, top):
        asyncio.run(at_both_ends(top, near, work))


async def at_both_ends(
    hub: NatsServer, leaf: NatsServer, work: Callable[[JetStream, JetStream], Awaitable[None]]
) -> None:
    connections = [await User(server, "u").connect() for server in (hub, leaf)]
    clients = [await JetStream.open(connection) for connection in connections]
    await work(*clients)
    for client in clients:
        await client.close()
    for connection in connections:
        await connection.close()
