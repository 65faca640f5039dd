"""Steps run as planned, each verified; what fails stops only what comes after it, and nothing is left unsaid."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from reconciler.changes.events import ChangedSince, Done, Event, Failed, Finished, Started, Waiting
from reconciler.model.diagnostic import Diagnostic, Severity
from reconciler.model.fields import FieldInfo
from reconciler.model.resource import Config
from reconciler.model.wire.snapshot import Entry
from reconciler.model.wire.steps import Call, Step
from reconciler.server.read.read_kv import entry
from reconciler.server.run import steps
from reconciler.server.run.execute import execute
from reconciler.server.run.handling import Forms, Result, RunContext
from reconciler.server.run.problems import Unsuccessful
from reconciler.server.wire.answers import Refusal
from reconciler.server.wire.api import JetStream
from tests.support.accounts import Account, connect
from tests.support.jetstream import done, make_bucket, make_consumer, make_stream, talk
from tests.support.lossy import losing
from tests.support.versions import on_every_version


def unlike(_step: Step, sent: Config, _before: Config | None, echo: Config) -> Sequence[str]:
    return [f"{k} is {echo.get(k)}, not {v}" for k, v in sent.items() if k != "metadata" and echo.get(k) != v]


def patch(raw: Config, fields: Config, unset: Iterable[str]) -> Config:
    metadata = {**raw.get("metadata", {}), **fields.get("metadata", {})}
    body = {**raw, **fields, "metadata": metadata}
    for path in unset:
        metadata.pop(path.removeprefix("metadata."), None)
        body.pop(path, None)
    return body


FORMS = Forms(patch=patch, wrong=unlike, fields=lambda _step: {"max_age": FieldInfo(unit="duration")})


async def run(js: JetStream, *steps: Step, **options: Any) -> Finished:
    return (await events(js, *steps, **options))[-1]  # type: ignore[return-value]


async def events(js: JetStream, *steps: Step, **options: Any) -> list[Event]:
    return [event async for event in execute(js, steps, forms=FORMS, **options)]


def stream(name: str, *after: str, **body: Any) -> Step:
    return Step(id=name, call=Call.STREAM_CREATE, on=(name,), address=f"stream/{name}", body=body, after=after)


def consumer(name: str, *after: str, on: str = "S", **body: Any) -> Step:
    config = {"ack_policy": "explicit", **body}
    return Step(
        id=name, call=Call.CONSUMER_CREATE, on=(on, name), address=f"consumer/{on}/{name}", body=config, after=after
    )


def update(name: str, *, before: Config | None = None, unset: tuple[str, ...] = (), **fields: Any) -> Step:
    return Step(
        id=f"u-{name}", call=Call.STREAM_UPDATE, on=(name,), address=f"stream/{name}", set=fields, unset=unset,
        before=before,
    )  # fmt: skip


def put(key: str, value: str, revision: int | None = 0, *after: str, bucket: str = "b") -> Step:
    return Step(
        id=f"put-{key}-{value}", call=Call.ENTRY_PUT, on=(bucket, key), address=f"static_group/S/{key}", value=value,
        revision=revision, after=after,
    )  # fmt: skip


def ids(outcomes: Sequence[Any]) -> list[str]:
    return [outcome.step.id for outcome in outcomes]


@on_every_version
def test_a_consumer_is_created_after_its_stream(account: Account) -> None:
    outcome = talk(account, lambda js: run(js, consumer("c", "S"), stream("S", subjects=["s.>"])))
    assert ids(outcome.done) == ["S", "c"]
    assert outcome.is_success


@on_every_version
def test_created_consumers_are_durable(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await run(js, stream("S"), consumer("c", "S"))
        return done(await js.request("CONSUMER.INFO.S.c"))["config"]

    assert talk(account, work)["durable_name"] == "c"


def test_independent_steps_go_on_when_one_fails(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await make_stream(js, "TAKEN", subjects=["x"])
        branch = stream("A", subjects=["x"]), consumer("c", "A", on="A"), consumer("d", "c", on="A")
        return await run(js, *branch, stream("B"))

    outcome = talk(account, work)
    assert ids(outcome.done) == ["B"]
    assert ids(outcome.failed) == ["A"]
    assert {s.step.id: s.because for s in outcome.skipped} == {
        "c": "the step to create stream A did not succeed",
        "d": "the step to create stream A did not succeed",
    }


def test_what_was_stopped_before_the_run_stays_so_when_what_comes_before_it_succeeds(account: Account) -> None:
    refused = consumer("c", "S")
    why = Diagnostic(severity=Severity.ERROR, code="AP202", name="more-than-consented", message="More.")
    known = [Failed(step=refused, reason=why, nothing_done=True)]
    outcome = talk(account, lambda js: run(js, stream("S"), refused, consumer("d", "c"), known=known))
    assert (ids(outcome.done), ids(outcome.failed), ids(outcome.skipped)) == (["S"], ["c"], ["d"])


def test_a_refusal_says_what_the_server_said(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await make_stream(js, "A", subjects=["x"])
        return await run(js, stream("A", subjects=["y"]))

    (failed,) = talk(account, work).failed
    assert failed.reason.message == (
        "The server refused to create stream A: stream name already in use with a different configuration (10058)."
    )
    assert failed.nothing_done


@on_every_version
def test_an_update_keeps_what_it_does_not_name(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_stream(js, "S", subjects=["s.>"], max_age=10**12, metadata={"team": "a", "tier": "1"})
        outcome = await run(js, update("S", max_msgs=7, metadata={"team": "b"}, unset=("max_age", "metadata.tier")))
        return outcome, done(await js.request("STREAM.INFO.S"))["config"]

    outcome, config = talk(account, work)
    assert outcome.is_success
    assert (config["subjects"], config["max_msgs"], config["max_age"]) == (["s.>"], 7, 0)
    assert {k: v for k, v in config["metadata"].items() if not k.startswith("_nats")} == {"team": "b"}


@on_every_version
def test_an_update_does_not_touch_what_changed_since_the_plan(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_stream(js, "S", max_msgs=5)
        outcome = await run(js, update("S", before={"max_msgs": 4, "description": None, "metadata": None}, max_msgs=9))
        return outcome, done(await js.request("STREAM.INFO.S"))["config"]["max_msgs"]

    outcome, live = talk(account, work)
    assert live == 5
    assert outcome.failed[0].reason.message == (
        "Did not update stream S, because it changed after the plan was made: max_msgs was 4 and is 5 now."
    )


def test_an_update_of_something_gone_says_so(account: Account) -> None:
    outcome = talk(account, lambda js: run(js, update("S", max_msgs=9)))
    assert "it existed then and is gone now" in outcome.failed[0].reason.message


@on_every_version
def test_an_update_never_creates_a_consumer(account: Account) -> None:
    gone = Step(id="u", call=Call.CONSUMER_UPDATE, on=("S", "c"), address="consumer/S/c", set={"description": "x"})

    async def work(js: JetStream) -> Any:
        await make_stream(js, "S")
        await run(js, gone)
        return await js.request("CONSUMER.INFO.S.c")

    assert isinstance(talk(account, work), Refusal)


@pytest.mark.parametrize("account", ["2.11"], indirect=True)
def test_a_field_dropped_without_a_word_is_noticed(account: Account) -> None:
    (failed,) = talk(account, lambda js: run(js, stream("S", allow_msg_schedules=True))).failed
    assert failed.reason.message == (
        "The server confirmed the attempt to create stream S, but allow_msg_schedules is None, not True."
    )
    assert not failed.nothing_done


@on_every_version
def test_deleting_what_is_gone_already_is_done(account: Account) -> None:
    gone = Step(id="d", call=Call.STREAM_DELETE, on=("S",), address="stream/S")
    assert talk(account, lambda js: run(js, gone)).is_success


def test_a_delete_spares_what_changed_since_the_plan(account: Account) -> None:
    """And says so in the words of a file."""
    day = 86_400_000_000_000
    delete = Step(id="d", call=Call.STREAM_DELETE, on=("S",), address="stream/S", before={"max_age": day})

    async def work(js: JetStream) -> Any:
        await make_stream(js, "S", max_age=2 * day)
        return await run(js, delete), done(await js.request("STREAM.INFO.S"))

    outcome, _ = talk(account, work)
    assert outcome.failed[0].reason.code == "AP103"
    assert "max_age was 1d and is 2d now" in outcome.failed[0].reason.message


@on_every_version
def test_a_consumer_is_paused_and_unpinned(account: Account) -> None:
    until = {"pause_until": "2099-01-01T00:00:00Z"}
    address, on = "consumer/S/c", ("S", "c")
    pause = Step(id="p", call=Call.CONSUMER_PAUSE, on=on, address=address, body=until)
    unpin = Step(id="u", call=Call.CONSUMER_UNPIN, on=on, address=address, body={"group": "g"}, after=("p",))

    async def work(js: JetStream) -> Any:
        await make_stream(js, "S")
        await make_consumer(js, "S", "c", priority_policy="pinned_client", priority_groups=["g"])
        return await run(js, pause, unpin), done(await js.request("CONSUMER.INFO.S.c"))

    outcome, info = talk(account, work)
    assert outcome.is_success
    assert info["paused"]


@on_every_version
def test_an_entry_written_twice_in_one_run_expects_its_own_revision(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_bucket(js, "b")
        return await run(js, put("k", "1"), put("k", "2", 0, "put-k-1")), await entry(js, "b", "k")

    outcome, last = talk(account, work)
    assert outcome.is_success
    assert last == Entry(b"2", 2)


def test_a_concurrent_write_of_an_entry_is_a_conflict(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await make_bucket(js, "b")
        await js.put_entry("b", "k", b"theirs", expected_revision=0)
        return await run(js, put("k", "ours"))

    (failed,) = talk(account, work).failed
    assert failed.reason.message == (
        "Did not write entry b/k, because it changed after the plan was made: record was absent and is theirs now."
    )
    assert failed.changed_since == (ChangedSince(path="record", now="theirs", wanted="ours"),)


def conflicting(account: Account, theirs: Sequence[bytes], *, deleted: bool = False) -> Failed:
    """Of a record with members a and b, to which c was to come; somebody writes `theirs` since that was planned."""
    first = b'{"max":4,"members":["a","b"]}'
    as_planned = Forms(patch=patch, stored=lambda _on: Entry(first, 1))

    async def work(js: JetStream) -> Finished:
        await make_bucket(js, "b")
        for revision, value in enumerate((first, *theirs)):
            marker = {"KV-Operation": "DEL"} if deleted and revision else None
            await js.put_entry("b", "k", value, expected_revision=revision, headers=marker)
        step = put("k", '{"max":4,"members":["a","b","c"]}', 1)
        return [e async for e in execute(js, [step], forms=as_planned) if isinstance(e, Finished)][-1]

    (failed,) = talk(account, work).failed
    return failed


def test_what_somebody_wrote_into_a_record_is_told_by_its_fields(account: Account) -> None:
    failed = conflicting(account, [b'{"max":4,"members":["a","x"]}'])
    assert failed.changed_since == (
        ChangedSince(path="members", planned=["a", "b"], now=["a", "x"], wanted=["a", "b", "c"]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("theirs", "deleted", "said"),
    [
        (b"", True, "it existed then and is gone now"),
        (b'{"max":4,"members":["a","b"]}', False, "expected revision 1, but wrong last sequence: 2"),
        (b"rubbish\xff", False, 'and is "rubbish\ufffd" now'),
    ],
    ids=["deleted", "written again in the same words", "no record any more"],
)
def test_a_record_that_has_no_other_fields_is_told_as_it_is(
    account: Account, theirs: bytes, deleted: bool, said: str
) -> None:
    failed = conflicting(account, [theirs], deleted=deleted)
    assert failed.reason.message.endswith(f"{said}."), failed.reason


def test_what_this_run_wrote_itself_is_nothing_the_plan_was_made_from(account: Account) -> None:
    async def work(js: JetStream) -> Result:
        await make_bucket(js, "b")
        await js.put_entry("b", "k", b"ours", expected_revision=0)
        await js.put_entry("b", "k", b"theirs", expected_revision=1)
        return await steps.put_entry(RunContext(js, FORMS, lambda *_: None, written={("b", "k"): 1}), put("k", "2"))

    failed = talk(account, work)
    assert isinstance(failed, Unsuccessful)
    assert "expected revision 1, but wrong last sequence: 2" in failed.reason.message


def test_what_is_new_on_a_consumer_is_seen_before_it_is_deleted(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await make_stream(js, "S", subjects=["s"])
        before = (await make_consumer(js, "S", "c"))["config"]
        body = {"stream_name": "S", "action": "update", "config": {**before, "description": "of somebody else"}}
        done(await js.request("CONSUMER.CREATE.S.c", body))
        step = Step(id="d", call=Call.CONSUMER_DELETE, on=("S", "c"), address="consumer/S/c", before=before)
        return await run(js, step)

    (failed,) = talk(account, work).failed
    assert failed.reason.code == "AP103"
    assert 'description was absent and is "of somebody else" now' in failed.reason.message


UNDO = Step(
    id="undo", call=Call.ENTRY_DELETE, on=("b", "k"), address="elastic_group/S/k", after=("put-k-1",), undoes="A"
)


@on_every_version
def test_a_record_is_taken_back_when_its_stream_is_refused(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_bucket(js, "b")
        await make_stream(js, "TAKEN", subjects=["x"])
        outcome = await run(js, put("k", "1"), stream("A", "put-k-1", subjects=["x"]), UNDO)
        return outcome, await entry(js, "b", "k")

    outcome, last = talk(account, work)
    assert ids(outcome.done) == ["put-k-1", "undo"]
    assert last == Entry(b"", 2, deleted=True)


def test_a_record_stays_when_its_stream_is_made(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_bucket(js, "b")
        outcome = await run(js, put("k", "1"), stream("A", "put-k-1"), UNDO)
        return outcome, await entry(js, "b", "k")

    outcome, last = talk(account, work)
    assert ids(outcome.not_needed) == ["undo"]
    assert outcome.is_success
    assert last == Entry(b"1", 1)


def test_a_record_of_others_is_never_taken_back(account: Account) -> None:
    async def work(js: JetStream) -> Any:
        await make_bucket(js, "b")
        await js.put_entry("b", "k", b"theirs", expected_revision=0)
        await make_stream(js, "TAKEN", subjects=["x"])
        outcome = await run(js, put("k", "1"), stream("A", subjects=["x"]), UNDO)
        return outcome, await entry(js, "b", "k")

    outcome, last = talk(account, work)
    assert ids(outcome.not_needed) == ["undo"]
    assert last == Entry(b"theirs", 1)


def gate(timeout: float) -> Step:
    body = {"names": ["m1", "m2"], "timeout": int(timeout * 1e9)}
    return Step(id="gate", call=Call.GATE_CONSUMERS_GONE, on=("S",), address="static_group/S/g", body=body)


@on_every_version
def test_a_gate_opens_when_the_members_have_left(account: Account) -> None:
    async def work(js: JetStream) -> list[Event]:
        await make_stream(js, "S")
        await make_consumer(js, "S", "m1")
        seen: list[Event] = []
        async for event in execute(js, [gate(10), stream("AFTER", "gate")], forms=FORMS):
            seen.append(event)
            if isinstance(event, Waiting):
                await js.request("CONSUMER.DELETE.S.m1")
        return seen

    seen = talk(account, work)
    assert [event.text for event in seen if isinstance(event, Waiting)] == ["waiting for m1 to leave"]
    assert [event.step.id for event in seen if isinstance(event, Done)] == ["gate", "AFTER"]


def test_a_gate_that_stays_shut_names_the_members(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await make_stream(js, "S")
        await make_consumer(js, "S", "m2")
        return await run(js, gate(0.1), stream("AFTER", "gate"))

    outcome = talk(account, work)
    assert "still consuming after 0.1 s: m2" in outcome.failed[0].reason.message
    assert ids(outcome.skipped) == ["AFTER"]


def drain(timeout: float) -> Step:
    body = {"timeout": int(timeout * 1e9)}
    return Step(id="drain", call=Call.GATE_IN_FLIGHT_DONE, on=("S", "c"), address="consumer/S/c", body=body)


async def one_in_flight(js: JetStream) -> str:
    """A consumer whose client has got a message; the subject to acknowledge it on."""
    nc = js.pipeline.nc
    await make_stream(js, "S", subjects=["s"])
    await make_consumer(js, "S", "c")
    await nc.request("s", b"m", timeout=20)
    inbox = nc.new_inbox()
    messages = await nc.subscribe(inbox)
    await nc.publish("$JS.API.CONSUMER.MSG.NEXT.S.c", b"1", reply=inbox)
    return str((await messages.next_msg(timeout=20)).reply)


@on_every_version
def test_what_is_in_flight_is_waited_for_until_it_is_acknowledged(account: Account) -> None:
    async def work(js: JetStream) -> list[Event]:
        acknowledgement = await one_in_flight(js)
        seen: list[Event] = []
        async for event in execute(js, [drain(30), stream("AFTER", "drain")], forms=FORMS):
            seen.append(event)
            if isinstance(event, Waiting):
                await js.pipeline.nc.publish(acknowledgement, b"+ACK")
        return seen

    seen = talk(account, work)
    assert [event.text for event in seen if isinstance(event, Waiting)] == [
        "waiting until the messages in flight on S/c are acknowledged (1 left)"
    ]
    assert [event.step.id for event in seen if isinstance(event, Done)] == ["drain", "AFTER"]


def test_what_nobody_acknowledges_is_not_waited_for_longer_than_it_may_take(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await one_in_flight(js)
        return await run(js, drain(0.1), stream("AFTER", "drain"))

    assert ids(talk(account, work).done) == ["drain", "AFTER"]


def lossy(account: Account, *lost: bytes, steps: Sequence[Step], prepare: Any = None, look: Any = None) -> Any:
    """Runs steps over a wire that loses the first answer containing each of `lost`."""

    async def session() -> Any:
        async with losing(account.server.port, *lost) as port:
            nc = await connect(f"nats://127.0.0.1:{port}", account.user, account.password)
            js = await JetStream.open(nc, within=1)
            if prepare:
                await prepare(js)
            outcome = await run(js, *steps)
            seen = await look(js) if look else None
            await nc.close()
            return outcome, seen

    return asyncio.run(session())


@on_every_version
def test_a_create_whose_answer_is_lost_is_found_to_be_done(account: Account) -> None:
    outcome, _ = lossy(account, b"stream_create_response", steps=[stream("S"), consumer("c", "S")])
    assert ids(outcome.done) == ["S", "c"]


@on_every_version
def test_an_update_whose_answer_is_lost_is_found_to_be_done(account: Account) -> None:
    outcome, _ = lossy(
        account, b"stream_update_response", steps=[update("S", max_msgs=3)], prepare=lambda js: make_stream(js, "S")
    )
    assert ids(outcome.done) == ["u-S"]


@on_every_version
def test_an_entry_whose_acknowledgement_is_lost_is_found_to_be_written(account: Account) -> None:
    outcome, last = lossy(
        account, b'"seq":1', steps=[put("k", "1")], prepare=lambda js: make_bucket(js, "b"),
        look=lambda js: entry(js, "b", "k"),
    )  # fmt: skip
    assert outcome.done[0].revision == 1
    assert last == Entry(b"1", 1)


def test_a_delete_whose_answer_is_lost_is_found_to_be_done(account: Account) -> None:
    delete = Step(id="d", call=Call.STREAM_DELETE, on=("S",), address="stream/S")
    outcome, _ = lossy(account, b"stream_delete_response", steps=[delete], prepare=lambda js: make_stream(js, "S"))
    assert outcome.is_success


def test_what_cannot_be_found_out_is_in_doubt(account: Account) -> None:
    unpin = Step(id="u", call=Call.CONSUMER_UNPIN, on=("S", "c"), address="consumer/S/c", body={"group": "g"})

    async def prepare(js: JetStream) -> None:
        await make_stream(js, "S")
        await make_consumer(js, "S", "c", priority_policy="pinned_client", priority_groups=["g"])

    outcome, _ = lossy(account, b"consumer_unpin_response", steps=[unpin], prepare=prepare)
    assert outcome.in_doubt[0].reason.message.startswith(
        "It is unknown whether the attempt to unpin consumer S/c succeeded: no answer in time"
    )


def test_stopping_starts_nothing_new_and_says_so(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        stop = asyncio.Event()
        steps = [stream(f"S{n}") for n in range(50)]
        async for event in execute(js, steps, forms=FORMS, window=4, stop=stop):
            if isinstance(event, Done):
                stop.set()
        assert isinstance(event, Finished)
        return event

    outcome = talk(account, work)
    assert outcome.stopped == "interrupted"
    assert len(outcome.done) + len(outcome.not_started) == 50
    assert len(outcome.not_started) > 30


def test_a_stop_does_not_wait_for_a_gate(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        stop = asyncio.Event()
        await make_stream(js, "S")
        await make_consumer(js, "S", "m1")
        async for event in execute(js, [gate(60)], forms=FORMS, stop=stop):
            if isinstance(event, Waiting):
                stop.set()
        assert isinstance(event, Finished)
        return event

    assert ids(talk(account, work).not_started) == ["gate"]


def test_nothing_is_written_once_writing_is_no_longer_allowed(account: Account) -> None:
    reasons = iter([None, None])  # asked before the step, and again before its write

    async def work(js: JetStream) -> Finished:
        steps = [stream("A"), stream("B", "A"), stream("C", "B")]
        return await run(js, *steps, may_write=lambda: next(reasons, "the lease was lost"))

    outcome = talk(account, work)
    assert outcome.stopped == "the lease was lost"
    assert ids(outcome.done) == ["A"]
    assert ids(outcome.not_started) == ["B", "C"]


def test_every_step_is_started_before_it_is_settled(account: Account) -> None:
    seen = talk(account, lambda js: events(js, stream("S"), consumer("c", "S")))
    assert [(type(e).__name__, e.step.id) for e in seen[:-1]] == [  # type: ignore[union-attr]
        ("Started", "S"), ("Done", "S"), ("Started", "c"), ("Done", "c"),
    ]  # fmt: skip
    assert isinstance(seen[0], Started)


def test_steps_that_wait_for_one_another_are_named(account: Account) -> None:
    outcome = talk(account, lambda js: run(js, stream("A", "B"), stream("B", "A")))
    assert {s.because for s in outcome.skipped} == {"its steps wait for each other in a circle"}


def test_a_step_after_one_that_is_not_in_the_plan_is_skipped(account: Account) -> None:
    (skipped,) = talk(account, lambda js: run(js, stream("A", "B"))).skipped
    assert skipped.because == "B is not part of this plan"


def test_an_empty_plan_finishes_at_once(account: Account) -> None:
    assert talk(account, run).is_success


def test_the_result_is_looked_at_once_more_afterwards(account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        async for event in execute(js, [stream("S"), stream("T", "S")], forms=FORMS):
            if isinstance(event, Done) and event.step.id == "S":
                await js.request("STREAM.DELETE.S")
        assert isinstance(event, Finished)
        return event

    outcome = talk(account, work)
    assert outcome.failed[0].reason.message == (
        "The server confirmed the attempt to create stream S, but a list read afterwards does not have it."
    )


@pytest.mark.parametrize("clustered_account", ["2.11", "2.15"], indirect=True)
def test_replicated_objects_are_made_and_verified_in_a_cluster(clustered_account: Account) -> None:
    async def work(js: JetStream) -> Finished:
        await make_stream(js, "WARM", num_replicas=3)
        bucket = stream("KV_b", subjects=["$KV.b.>"], num_replicas=3)
        return await run(js, bucket, put("k", "1", 0, "KV_b"), stream("S", num_replicas=3), consumer("c", "S"))

    outcome = talk(clustered_account, work)
    assert [f.reason.message for f in outcome.failed] == []
    assert len(outcome.done) == 4
