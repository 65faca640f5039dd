"""What a source copies at once when it is added or becomes another one is what the plan said, message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from nats.aio.msg import Msg

from reconciler.changes.amount import Amount, exactly
from reconciler.changes.events import Finished
from reconciler.changes.plan import PlannedChange
from reconciler.changes.verdict import Verdict
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.plan.plan import plan
from reconciler.kinds.fields.words import amount
from reconciler.model.run_options import RunOptions
from reconciler.model.wire.version import Version
from reconciler.server.read import queues
from reconciler.server.read.observe import observe
from reconciler.server.wire.api import JetStream
from tests.groups.making import until
from tests.quantities.losing import applied, publish, settled, state, take, times
from tests.support.accounts import Account
from tests.support.jetstream import done, make_consumer, make_stream, talk
from tests.support.topologies import read
from tests.support.versions import on_every_version

A, B, EVERYTHING = {"name": "O", "filter_subject": "o.a"}, {"name": "O", "filter_subject": "o.b"}, {"name": "O"}
OWN: Mapping[str, Any] = {"name": "P"}


ONCE = "; of those with the same `Nats-Msg-Id` it stores the first"


def copying(change: PlannedChange) -> list[str]:
    """What a plan says of a source that begins, without what 2.12 does with ids that nobody gave here."""
    return [one.message.replace(ONCE, "") for one in change.consequences if one.code == "ST304"]


class Scene(NamedTuple):
    """Sources one after the other, each until it has what there is, and what more comes before the last one."""

    sources: Sequence[Sequence[Mapping[str, Any]]]
    again: Amount = exactly(0)
    """What the plan says of messages that come once more."""
    left_out: int = 0
    keeps: int | None = None
    """So many of its newest messages the stream has left then."""
    comes: int = 0


SCENES = {
    "an origin that was not there": Scene([[OWN], [OWN, EVERYTHING]], comes=10),
    "a part that was not taken": Scene([[A], [B]], comes=5),
    "everything instead of a part": Scene([[A], [EVERYTHING]], again=exactly(5), comes=10),
    "everything instead of two parts": Scene([[A], [B], [EVERYTHING]], again=Amount(5, 10), comes=10),
    "a part of everything that was taken off": Scene([[EVERYTHING], [OWN], [OWN, A]], again=Amount(0, 5), comes=5),
    "the one of before last": Scene([[A], [B], [A]], comes=0),
    "the one of before last, with a start": Scene([[A], [B], [{**A, "opt_start_seq": 1}]], comes=0),
    "a stream that has lost its first messages": Scene([[OWN], [OWN, EVERYTHING]], keeps=2, left_out=10, comes=0),
    "a stream that has lost all messages": Scene([[OWN], [OWN, EVERYTHING]], keeps=0, left_out=10, comes=0),
    "another filter where the first messages are lost": Scene([[OWN, A], [OWN, EVERYTHING]], keeps=2, left_out=10, comes=0),
    "a start where the first messages are lost": Scene([[OWN], [OWN, {**EVERYTHING, "opt_start_seq": 1}]], keeps=2, comes=10),
}  # fmt: skip


def file(sources: Sequence[Mapping[str, Any]]) -> str:
    said = ", ".join("{" + ", ".join(f"{key}: {value}" for key, value in one.items()) + "}" for one in sources)
    return f"streams: {{O: {{subjects: [o.>]}}, P: {{subjects: [p.>]}}, ALL: {{sources: [{said}]}}}}"


async def rests(js: JetStream, expected: int = 0, stream: str = "ALL") -> int:
    """The last sequence once nothing comes any more; while less came than expected, the server may not have come to it."""
    before, now, loop = -1, int((await state(js, stream))["last_seq"]), asyncio.get_running_loop()
    deadline = loop.time() + 15
    while before != now or (now < expected and loop.time() < deadline):
        await asyncio.sleep(0.3)
        before, now = now, int((await state(js, stream))["last_seq"])
    return now


@on_every_version
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_what_a_source_copies_is_what_was_said(account: Account, tmp_path: Path, scene: Scene) -> None:
    *earlier, last = scene.sources

    async def work(js: JetStream) -> tuple[dict[str, Verdict], list[str], int]:
        await make_stream(js, "O", subjects=["o.>"])
        await make_stream(js, "P", subjects=["p.>"])
        await publish(js, *["o.a", "o.b"] * 5)
        await make_stream(js, "ALL", sources=earlier[0])
        await publish(js, *["p.x"] * 3)
        for sources in earlier[1:]:
            await rests(js)
            config = done(await js.request("STREAM.INFO.ALL"))["config"]
            done(await js.request("STREAM.UPDATE.ALL", {**config, "sources": sources}))
        before = await rests(js, 3 if OWN in earlier[-1] else 5)
        if scene.keeps is not None:
            done(await js.request("STREAM.PURGE.ALL", {"keep": scene.keeps} if scene.keeps else None))
        await applied(js, tmp_path, file(earlier[-1]))
        found = await plan(read(tmp_path, file(last)), js, RunOptions(allow=(("ST304", "*"),)))
        assert not found.plan.blocked, found.plan.blocked
        events = [event async for event in apply(found, js)]
        assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]
        (change,) = (one for one in found.plan.changes if one.address == "stream/ALL")
        notes = copying(change)
        return {one.code: one for one in change.verdicts}, notes, await rests(js, before + scene.comes) - before

    verdicts, notes, came = talk(account, work)
    assert came == scene.comes
    assert notes == ([f"the server at once copies {came} messages that O stores (ST304)"] if came else [])
    assert _said(verdicts.get("ST304"), "messages") == scene.again
    assert _said(verdicts.get("ST305"), "left_out") == exactly(scene.left_out)


@on_every_version
def test_what_a_copy_may_be_too_small_for_is_a_bound(account: Account, tmp_path: Path) -> None:
    """The first message of ten does not fit: 2.11 leaves that one out, and other servers copy nothing."""
    file = "streams: {{O: {{subjects: [o]}}, ALL: {{max_msg_size: {}, subjects: [all]{}}}}}"

    async def work(js: JetStream) -> list[str]:
        said = []
        for most in (200, 2_000):
            await applied(js, tmp_path, file.format(most, ""))
            if most == 200:
                done(json.loads((await js.pipeline.nc.request("o", b"x" * 300, timeout=5)).data))
                await publish(js, *["o"] * 9)
            found = (await plan(read(tmp_path, file.format(most, ", sources: [{name: O}]")), js, RunOptions())).plan
            said += [
                one.message
                for change in found.changes
                for one in change.consequences
                if "at once copies" in one.message
            ]
        return said

    assert [one.partition(" that")[0] for one in talk(account, work)] == [
        "the server at once copies up to 10 messages"
    ] * 2


def _said(verdict: Verdict | None, quantity: str) -> Amount:
    if verdict is None:
        return exactly(0)
    return verdict.bounds.get(quantity, exactly(verdict.quantities[quantity]))


SHRINKING = {
    "fewer messages": ("max_msgs: 4", EVERYTHING, 4, exactly(4)),
    "fewer bytes": ("max_bytes: 200", EVERYTHING, 4, exactly(4)),
    "a part, counted": ("allow_direct: true, max_msgs: 4", A, 2, exactly(2)),
    "a part, in bounds": ("max_msgs: 4", A, 2, Amount(0, 4)),
    "behind a start, counted": ("allow_direct: true, max_msgs: 4", {**EVERYTHING, "opt_start_seq": 8}, 3, exactly(3)),
    "behind a start, in bounds": ("max_msgs: 4", {**EVERYTHING, "opt_start_seq": 3}, 4, Amount(0, 4)),
    "far behind a start, in bounds": ("max_msgs: 8", {**EVERYTHING, "opt_start_seq": 9}, 2, Amount(0, 2)),
    "fewer for each subject": ("max_msgs_per_subject: 2", A, 2, exactly(2)),
    "two limits": ("max_msgs: 4, max_msgs_per_subject: 4", EVERYTHING, 4, exactly(4)),
}  # fmt: skip
"""What the file lowers of the origin, the source, how many come and what is said of that."""


@on_every_version
@pytest.mark.parametrize(("limits", "source", "comes", "said"), SHRINKING.values(), ids=SHRINKING.keys())
def test_what_goes_from_an_origin_in_the_same_plan_is_not_copied(
    account: Account, tmp_path: Path, limits: str, source: Mapping[str, Any], comes: int, said: Amount
) -> None:
    def limited(sources: Sequence[Mapping[str, Any]], limits: str) -> str:
        return file(sources).replace("O: {", f"O: {{{limits}, ")

    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(
            js, tmp_path, limited([OWN], f"allow_direct: {str('direct' in limits).lower()}, max_msgs_per_subject: 100")
        )
        await publish(js, *["o.a", "o.b"] * 5, "p.x")
        there = await rests(js, 1)
        found = await plan(read(tmp_path, limited([OWN, source], limits)), js, RunOptions(allow=(("ST301", "*"),)))
        assert not found.plan.blocked, found.plan.blocked
        events = [event async for event in apply(found, js)]
        assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]
        notes = [note for change in found.plan.changes for note in copying(change)]
        return notes, await rests(js, there + comes) - there

    notes, came = talk(account, work)
    assert came == comes and said.least <= came <= said.most
    assert notes == [f"the server at once copies {amount(said, 'message')} that O stores (ST304)"]


LOSING = {
    "the oldest": ("max_msgs: 3", Amount(0, 0)),
    "some of each subject": ("max_msgs_per_subject: 2", Amount(0, 4)),
    "none": ("max_msgs: 100", Amount(4, 4)),
}


@on_every_version
@pytest.mark.parametrize(("limit", "said"), LOSING.values(), ids=LOSING)
def test_a_stream_that_loses_its_first_messages_in_the_same_change_copies_none_that_were_stored_before(
    account: Account, tmp_path: Path, limit: str, said: Amount
) -> None:
    both = "streams: {O: {subjects: [o]}, ALL: {subjects: [p]%s}}"

    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, both % "")
        await publish(js, *["o"] * 4, *["p"] * 5)
        text = both % f", {limit}, sources: [{{name: O}}]"
        found = await plan(read(tmp_path, text), js, RunOptions(allow=(("ST301", "*"), ("ST305", "*"), ("ST307", "*"))))
        assert not found.plan.blocked, [one.code for change in found.plan.blocked for one in change.verdicts]
        events = [event async for event in apply(found, js)]
        assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]
        (change,) = (one for one in found.plan.changes if one.address == "stream/ALL")
        codes = {one.code: one for one in change.verdicts}
        told = int(_said(codes["ST305"], "left_out").most) if "ST305" in codes else 0
        await publish(js, "o")  # which comes in any case
        return told, await rests(js, 5 + said.least + 1) - 5 - 1

    left_out, came = talk(account, work)
    assert said.least <= came <= said.most
    assert left_out == (4 if "max_msgs: 3" in limit else 0)


LATER = "2200-01-01T00:00:00Z"


@on_every_version
@pytest.mark.parametrize(("key", "start"), [("opt_start_time", LATER), ("opt_start_seq", "11")])
def test_a_source_that_starts_after_what_is_stored_is_said_to_copy_none_of_it(
    account: Account, tmp_path: Path, key: str, start: str
) -> None:
    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, file([OWN]))
        await publish(js, *["o.a", "o.b"] * 5, "p.x")
        there = await rests(js, 1)
        found = await plan(
            read(tmp_path, file([OWN, {**EVERYTHING, key: f"'{start}'" if start == LATER else start}])),
            js,
            RunOptions(),
        )
        async for _ in apply(found, js):
            pass
        notes = [note for change in found.plan.changes for note in copying(change)]
        return notes, await rests(js) - there

    notes, came = talk(account, work)
    assert notes == [
        f"the server copies none of the 10 messages that O stores: its start, {start}, comes after them (ST304)"
    ]
    assert came == 0


@on_every_version
def test_consumers_that_read_what_a_new_source_brings_are_named(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[list[str], dict[str, int]]:
        await applied(js, tmp_path, file([OWN]))
        await publish(js, *["o.a", "o.b"] * 5, "p.x")
        await rests(js, 1)
        made = {"all": {}, "east": {"filter_subject": "o.a"}, "own": {"filter_subject": "p.>"}, "narrowed": {}}
        for name, config in made.items():
            await make_consumer(js, "ALL", name, **config)
        narrowed = "consumers: {narrowed: {ack_policy: explicit, filter_subject: p.>}}"
        desired = file([OWN, EVERYTHING]).removesuffix("}}") + f", {narrowed}}}}}"
        found = await plan(read(tmp_path, desired), js, RunOptions())
        pending = {name: await waiting(js, name) for name in made}
        async for _ in apply(found, js):
            pass
        await rests(js, 11)
        notes = [note for change in found.plan.changes for note in copying(change)]
        return notes, {name: await waiting(js, name) - before for name, before in pending.items()}

    notes, more = talk(account, work)
    assert notes == ["the server at once copies 10 messages that O stores; all and east read them here (ST304)"]
    assert more == {"all": 10, "east": 5, "own": 0, "narrowed": 0}


@on_every_version
def test_a_start_that_copies_again_what_an_earlier_source_copied_says_so(account: Account, tmp_path: Path) -> None:
    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, file([A]))
        await publish(js, *["o.a", "o.b"] * 5)
        there = await rests(js, 5)
        found = await plan(read(tmp_path, file([{**EVERYTHING, "opt_start_seq": 5}])), js, RunOptions())
        async for _ in apply(found, js):
            pass
        notes = [note for change in found.plan.changes for note in copying(change)]
        return notes, await rests(js, there + 6) - there

    notes, came = talk(account, work)
    assert came == 6
    assert [note.partition(", and ")[2] for note in notes] == [
        "may have up to 5 of them already, through an earlier source (ST304)"
    ]


async def waiting(js: JetStream, consumer: str) -> int:
    return int(done(await js.request(f"CONSUMER.INFO.ALL.{consumer}"))["num_pending"])


HIDDEN = {
    "of another origin": ([OWN], "p.x", True, "the server at once copies 10 messages that O stores (ST304)"),
    "through another filter": (
        [A], "o.a", True,
        "the server at once copies up to 310 messages that O stores; fewer if an earlier source had the same filter and transforms, "
        "which could not be determined (ST304)",
    ),
    "of another origin, where the first one has lost some": (
        [OWN], "p.x", False,
        "the server at once copies up to 9 messages that O stores; fewer if an earlier source had the same filter and transforms, "
        "which could not be determined (ST304)",
    ),
}  # fmt: skip
"""What fills the stream before, on which subject, whether the origin keeps everything, and what is said then."""


@on_every_version
@pytest.mark.parametrize(("before", "subject", "is_whole", "said"), HIDDEN.values(), ids=HIDDEN.keys())
def test_a_source_beside_many_newer_messages_is_counted_where_these_cannot_be_its_copies(
    account: Account, tmp_path: Path, before: Sequence[Mapping[str, Any]], subject: str, is_whole: bool, said: str
) -> None:
    after = [*(one for one in before if one == OWN), EVERYTHING]

    async def work(js: JetStream) -> tuple[list[str], int]:
        await applied(js, tmp_path, file(before))
        await publish(js, *["o.b"] * 10, *[subject] * 300)
        for sequence in [] if is_whole else [1]:
            done(await js.request("STREAM.MSG.DELETE.O", {"seq": sequence}))
        there = await rests(js, 300)
        found = await plan(read(tmp_path, file(after)), js, RunOptions())
        notes = [note for change in found.plan.changes for note in copying(change)]
        return notes, there

    notes, there = talk(account, work)
    assert there == 300
    assert notes == [said]


PART, ALL_OF_IT = "{name: Q, filter_subject: q.a}", "{name: Q}"
DRAINING = {
    "a new stream": (f"sources: [{PART}]", False, 4), "a new mirror": (f"mirror: {PART}", False, 4),
    "a mirror of all of it": (f"mirror: {ALL_OF_IT}", False, 6), "a stream that is there": (f"sources: [{PART}]", True, 4),
    "one that takes all": (f"sources: [{ALL_OF_IT}]", True, 6),
}  # fmt: skip


@on_every_version
@pytest.mark.parametrize(("copy", "is_there", "goes"), DRAINING.values(), ids=DRAINING.keys())
def test_what_is_copied_from_a_work_queue_leaves_it_as_said(
    account: Account, tmp_path: Path, copy: str, is_there: bool, goes: int
) -> None:
    queue = "Q: {subjects: [q.>], retention: workqueue}"

    async def work(js: JetStream) -> tuple[int, int]:
        there = f"streams: {{{queue}, ALL: {{subjects: [all]}}}}" if is_there else f"streams: {{{queue}}}"
        await applied(js, tmp_path, there)
        await publish(js, *["q.a", "q.b", "q.a"] * 2)
        verdicts = await applied(js, tmp_path, f"streams: {{{queue}, ALL: {{{'subjects: [all], ' * is_there}{copy}}}}}")
        said = verdicts["XX209"].quantities["messages"]
        return said, 6 - await settled(js, "Q", 6 - said)

    assert talk(account, work) == (goes, goes)


@on_every_version
@pytest.mark.parametrize("copy", ["sources: [{name: Q}]", "mirror: {name: Q}"], ids=["sources", "mirror"])
def test_a_consumer_and_a_copy_of_a_work_queue_both_get_everything(account: Account, tmp_path: Path, copy: str) -> None:
    """What nobody else wants is deleted at once, as said; the consumer loses nothing."""
    queue = "Q: {subjects: [q.>], retention: workqueue, consumers: {c: {ack_policy: explicit, filter_subject: q.a}}}"

    async def work(js: JetStream) -> tuple[Any, list[int], list[str], int]:
        await applied(js, tmp_path, f"streams: {{{queue}}}")
        await publish(js, *["q.a", "q.b", "q.a"] * 4)
        await take(js, "Q", "c", 2)
        await take(js, "Q", "c", 1, acknowledge=False)
        verdicts = await applied(js, tmp_path, f"streams: {{{queue}, ALL: {{{copy}}}}}")
        left = await settled(js, "Q", 6)
        await publish(js, *["q.a", "q.b"] * 2)
        stays = await settled(js, "Q", 8)
        delivered = await take(js, "Q", "c", 7)
        return verdicts["XX209"].quantities["messages"], [left, stays], delivered, await rests(js, 14)

    goes, left, delivered, copied = talk(account, work)
    assert (goes, left, delivered) == (4, [6, 8], ["q.a"] * 7)
    assert copied == (14 if "sources" in copy else 16)


@on_every_version
@pytest.mark.parametrize("retention", ["interest", "workqueue"])
@pytest.mark.parametrize(
    ("was", "becomes"), [("o.a", ""), ("", "o.a"), ("o.a", "o.b")], ids=["wider", "narrower", "another"]
)
def test_another_filter_of_the_only_source_from_a_stream_that_feeds_it_durably(
    account: Account, tmp_path: Path, retention: str, was: str, becomes: str
) -> None:
    """From 2.14 on the server goes on where it is: nothing is copied again, and what lies before is left out."""
    origin = f"O: {{subjects: [o.>], allow_direct: true, retention: {retention}, consumers: {{all: {{ack_policy: explicit}}}}}}"

    def filtered(subject: str) -> str:
        said = f", filter_subject: {subject}" if subject else ""
        return f"streams: {{{origin}, ALL: {{subjects: [all], sources: [{{name: O{said}}}]}}}}"

    async def work(js: JetStream) -> tuple[dict[str, Verdict], list[str], int]:
        await applied(js, tmp_path, f"streams: {{{origin}}}")
        await applied(js, tmp_path, filtered(was), "XX212")
        await publish(js, *["o.a", "o.b", "o.b"] * 4)
        before = await rests(js, 4 if was else 12)
        if Version.parse(account.version) >= (2, 14):
            (feeder,) = (await observe(js)).copiers["O"]
            await until(js, lambda info: info["num_ack_pending"] == 0, f"CONSUMER.INFO.O.{feeder}")
        allowed = tuple((code, "*") for code in ("ST304", "ST305", "XX212"))
        found = await plan(read(tmp_path, filtered(becomes)), js, RunOptions(allow=allowed))
        assert not found.plan.blocked, found.plan.blocked
        events = [event async for event in apply(found, js)]
        assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]
        (change,) = (one for one in found.plan.changes if one.address == "stream/ALL")
        said = copying(change)
        number = int(said[0].split(" messages")[0].rsplit(" ", 1)[-1]) if said else 0
        return {one.code: one for one in change.verdicts}, said, await rests(js, before + number) - before

    verdicts, notes, came = talk(account, work)
    if Version.parse(account.version) < (2, 14):
        assert notes == [f"the server at once copies {came} messages that O stores (ST304)"]
        return
    assert _said(verdicts.get("ST304"), "messages") == exactly(0)
    if retention == "workqueue" and becomes:
        assert verdicts["ST305"].message == (
            "the server feeds this source through a consumer of its own, and all takes some of the same messages of work queue O: it "
            "refuses the new filter there (10100), and copies nothing more of O"
        )
        assert (notes, came) == ([], 0)
        assert talk(account, why_nothing_comes) == 10100
        return
    left_out, comes = (6, 2) if was == "o.a" else (0, 0)
    assert notes == ([f"the server at once copies {comes} messages that O stores (ST304)"] if comes else [])
    assert came == comes
    assert _said(verdicts.get("ST305"), "left_out") == exactly(left_out)


async def why_nothing_comes(js: JetStream) -> int:
    """What the server says of the source, once it has tried again for a new message."""
    await publish(js, "o.a", "o.b")
    await until(js, lambda info: bool(info["sources"][0].get("error")), "STREAM.INFO.ALL")
    found: int = done(await js.request("STREAM.INFO.ALL"))["sources"][0]["error"]["err_code"]
    return found


@on_every_version
def test_consumers_of_a_work_queue_come_before_a_copy_of_it(account: Account, tmp_path: Path) -> None:
    """Servers up to 2.12 refuse a consumer beside a copy, and every server would delete what it was to get."""
    queue = "Q: {subjects: [q.>], retention: workqueue%s}"
    consumers = (
        ", consumers: {a: {ack_policy: explicit, filter_subject: q.a}, b: {ack_policy: explicit, filter_subject: q.b}}"
    )

    async def work(js: JetStream) -> tuple[int, int]:
        await applied(js, tmp_path, f"streams: {{{queue % ''}}}")
        await publish(js, *["q.a", "q.b"] * 3)
        await applied(js, tmp_path, f"streams: {{{queue % consumers}, A: {{sources: [{{name: Q}}]}}}}")
        await rests(js, 6, "A")
        return await settled(js, "Q", 6), len(await take(js, "Q", "a", 3))

    assert talk(account, work) == (6, 3)


@pytest.mark.parametrize("account", ["2.12", "2.14", "2.15"], indirect=True)
def test_a_stream_does_with_copies_what_it_does_with_every_message(account: Account, tmp_path: Path) -> None:
    """It knows message ids, stores what its consumers want, and republishes."""
    fields = ("{subjects: [e], republish: {src: '>', dest: 'out.>'}%s}", "{subjects: [f], retention: interest%s}")
    before, after = (
        f"streams: {{O: {{subjects: [o.>], allow_msg_ttl: true}}, E: {fields[0] % more}, F: {fields[1] % more}}}"
        for more in ("", ", sources: [{name: O}]")
    )

    async def work(js: JetStream) -> tuple[dict[str, str], list[int], int]:
        nc, heard = js.pipeline.nc, list[str]()

        async def hear(message: Msg) -> None:
            heard.append(message.subject)

        await nc.subscribe("out.>", cb=hear)
        await applied(js, tmp_path, before)
        window = done(await js.request("STREAM.INFO.O"))["config"] | {"duplicate_window": 100_000_000}
        done(await js.write("STREAM.UPDATE.O", window))
        for _ in range(3):
            await nc.jetstream().publish("o.a", b"x", headers={"Nats-Msg-Id": "one"})
            await asyncio.sleep(0.2)  # the window has to pass
        await nc.jetstream().publish("o.a", b"x", headers={"Nats-TTL": "1s"})
        await publish(js, "o.b")
        await make_consumer(js, "F", "b", filter_subject="o.b")
        found = await plan(read(tmp_path, after.replace("O: {", "O: {duplicate_window: 100ms, ")), js, RunOptions())
        async for _ in apply(found, js):
            pass
        said = {
            str(one.address): note.message
            for one in found.plan.changes
            for note in one.consequences
            if note.code == "ST304"
        }
        await rests(js, 3, "E")
        await asyncio.sleep(1.5)  # the origin's own has ended by then
        await rests(js, 1, "F")
        return said, [int((await state(js, name))["messages"]) for name in ("E", "F")], len(heard)

    said, stored, heard = talk(account, work)
    first = (
        "the server at once copies 5 messages that O stores"
        + ONCE
        + "; times to live of their own (`Nats-TTL`) do not count here"
    )
    assert said == {
        "stream/E": f"{first}; subscribers of its republish get them, too (ST304)",
        "stream/F": f"{first}; it keeps those that a consumer here wants; b may read them here (ST304)",
    }
    assert (stored, heard) == ([3, 1], 3)


@on_every_version
@pytest.mark.parametrize("stored", [0, 4])
def test_a_source_that_comes_back_says_what_it_skips_of_a_new_stream_of_its_name(
    account: Account, tmp_path: Path, stored: int
) -> None:
    """The origin comes back in the same plan, or is there already and stores something."""
    origin, copy = "O: {subjects: [o.>]}", "ALL: {subjects: [all], sources: [{name: O}]}"

    async def work(js: JetStream) -> tuple[Verdict | None, int]:
        await applied(js, tmp_path, f"streams: {{{origin}, {copy}}}")
        await publish(js, *["o.a"] * 10)
        await rests(js, 10)
        gone = "removed: [{address: stream/O, reason: r}]"
        await applied(
            js, tmp_path, f"streams: {{{copy.replace(', sources: [{name: O}]', '')}}}\n{gone}", "ST310", "ST305"
        )
        if stored:
            await applied(js, tmp_path, f"streams: {{{origin}, {copy.replace(', sources: [{name: O}]', '')}}}")
            await publish(js, *["o.b"] * stored)
        said = await applied(js, tmp_path, f"streams: {{{origin}, {copy}}}", "ST305")
        await publish(js, *["o.c"] * (20 - stored), "o.last")
        await until(js, lambda info: info["state"]["messages"] >= 11, "STREAM.INFO.ALL")
        async with asyncio.timeout(60):
            while (await last_of(js))["subject"] != "o.last":  # noqa: ASYNC110 - the server announces nothing
                await asyncio.sleep(0.02)
        return said.get("ST305"), 10 + 20 + 1 - (await state(js, "ALL"))["messages"]

    said, missed = talk(account, work)
    if said is None:
        assert missed == 0
        assert Version.parse(account.server.version) >= Version(2, 15)
        return
    assert Version.parse(account.server.version) < Version(2, 15)
    assert said.quantities == {"left_out": 10}
    assert missed <= 10, "less if the server began to copy while the new one was shorter"
    skips = (
        f"what the new one stores and up to its next {10 - stored} messages are not copied"
        if stored
        else "up to the first 10 messages of the new one are not copied"
    )
    assert said.message == (
        f"the server continues with this source after message 10, the last one that this stream copied from an earlier O: {skips}"
    )


@on_every_version
@pytest.mark.parametrize("is_widened", [False, True])
def test_a_source_that_comes_back_behind_many_messages_says_that_it_skips_some(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_widened: bool
) -> None:
    """Its last copy lies further back than the plan reads. It is found where the origin stores its messages now, or nowhere."""
    monkeypatch.setattr(queues, "READ", 3)
    origin, copy = "O: {subjects: [o.>]}", "ALL: {subjects: [all], sources: [{name: O}]}"
    alone = copy.replace(", sources: [{name: O}]", "")

    async def work(js: JetStream) -> tuple[Verdict | None, int]:
        await applied(js, tmp_path, f"streams: {{{alone}}}")
        await publish(js, "all")
        await applied(js, tmp_path, f"streams: {{{origin}, {copy}}}")
        await publish(js, *["o.a"] * 10)
        await until(js, lambda info: info["state"]["messages"] == 11, "STREAM.INFO.ALL")
        await applied(
            js, tmp_path, f"streams: {{{alone}}}\nremoved: [{{address: stream/O, reason: r}}]", "ST310", "ST305"
        )
        await publish(js, *["all"] * 5)
        again = origin.replace("o.>", "p.>") if is_widened else origin
        said = await applied(js, tmp_path, f"streams: {{{again}, {copy}}}", "ST305")
        first = "p.a" if is_widened else "o.a"
        await publish(js, *[first] * 20, f"{first[0]}.last")
        async with asyncio.timeout(60):
            while not (await last_of(js))["subject"].endswith(".last"):  # noqa: ASYNC110 - the server announces nothing
                await asyncio.sleep(0.02)
        return said.get("ST305"), 16 + 21 - (await state(js, "ALL"))["messages"]

    said, missed = talk(account, work)
    if Version.parse(account.server.version) >= Version(2, 15):
        assert (said, missed) == (None, 0)
        return
    assert said is not None
    assert said.consented
    assert missed, "the server continues after message 10, or a little before"
    assert said.message.startswith(
        "if this stream copied from an earlier O, the server continues with this source after the last message"
        if is_widened
        else "the server continues with this source after the last message that this stream copied from an earlier O, 10 or a later one:"
    )


async def last_of(js: JetStream) -> Mapping[str, Any]:
    found: Mapping[str, Any] = done(await js.request("STREAM.MSG.GET.ALL", {"last_by_subj": ">"}))["message"]
    return found


class Late(NamedTuple):
    """A source that shall start before the newest message of the stream that gets it."""

    source: Mapping[str, Any]
    limits: str = ""
    starts_with: int = 1
    """The message of its origin whose time is the start; 0: long before them all."""
    purged: int | None = None
    hole: int = 0
    """A message of the origin that is deleted."""
    comes: int = 3
    said: Amount = exactly(0)


LATE = {
    "long before": Late(EVERYTHING, starts_with=0, said=exactly(10)),
    "between": Late(EVERYTHING, starts_with=5, said=exactly(6)),
    "between, counted": Late(EVERYTHING, "allow_direct: true, ", starts_with=5, said=exactly(6)),
    "a part, counted": Late(A, "allow_direct: true, ", starts_with=5, comes=2, said=exactly(3)),
    "a part, in bounds": Late(A, starts_with=5, comes=2, said=Amount(0, 6)),
    "with a gap": Late(EVERYTHING, starts_with=5, hole=7, said=Amount(5, 6)),
    "with a gap, counted": Late(EVERYTHING, "allow_direct: true, ", starts_with=5, hole=7, said=exactly(5)),
    "long before a gap": Late(EVERYTHING, starts_with=0, hole=7, said=Amount(9, 10)),
    "where all messages are gone": Late(EVERYTHING, starts_with=0, purged=0, said=exactly(10)),
    "where the first messages are gone": Late(EVERYTHING, starts_with=5, purged=1, said=exactly(6)),
    "with the last ones": Late(EVERYTHING, starts_with=11, said=exactly(0)),
}  # fmt: skip


@on_every_version
@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
def test_what_a_start_before_the_newest_message_leaves_out_is_counted(
    account: Account, tmp_path: Path, late: Late
) -> None:
    async def work(js: JetStream) -> tuple[Verdict | None, int]:
        both = "streams: {O: {%ssubjects: [o.>]}, ALL: {subjects: [all]%s}}"
        await applied(js, tmp_path, both % (late.limits, ""))
        await publish(js, *["o.a", "o.b"] * 5, "all", "all", *["o.a", "o.b", "o.a"])
        stored = await times(js, "O")
        if late.hole:
            done(await js.request("STREAM.MSG.DELETE.O", {"seq": late.hole}))
        if late.purged is not None:
            done(await js.request("STREAM.PURGE.ALL", {"keep": late.purged} if late.purged else None))
        start = stored[late.starts_with - 1] if late.starts_with else "2020-01-01T00:00:00Z"
        before = (await state(js, "ALL"))["last_seq"]
        source = file([{**late.source, "opt_start_time": f"'{start}'"}]).partition("sources: ")[2].removesuffix("}}")
        found = await plan(read(tmp_path, both % (late.limits, f", sources: {source}")), js, RunOptions())
        events = [event async for event in apply(found, js)]
        assert isinstance(events[-1], Finished) and events[-1].is_success, events[-1]
        said = [one for change in found.plan.changes for one in change.verdicts if one.code == "ST305"]
        return next(iter(said), None), await rests(js, before + late.comes) - before

    verdict, came = talk(account, work)
    assert came == late.comes
    assert _said(verdict, "left_out") == late.said
