"""Elastic groups made anew: killed at any write, and what becomes of it when the world has moved on meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.change import Action
from reconciler.changes.events import Finished
from reconciler.changes.plan import Plan
from reconciler.journeys.apply.apply import apply
from reconciler.journeys.drift.drift import Standing
from reconciler.journeys.drift.look import look
from reconciler.journeys.plan.plan import Planned, plan, predicted_forms
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.steps import Call
from reconciler.report.outcome import outcome_text
from reconciler.server.read.observe import observe
from reconciler.server.run.execute import execute
from reconciler.server.wire.answers import Stored
from reconciler.server.wire.api import JetStream
from tests.groups import making
from tests.replacement.consuming import OPTIONS
from tests.replacement.killing import killed, unlock
from tests.support.accounts import Account
from tests.support.jetstream import done, make_stream
from tests.support.topologies import read
from tests.support.versions import on_every_version

BEFORE_THE_MARKER, AFTER_IT, NOTED, DELETED, MADE, RECORDED = 2, 3, 6, 7, 8, 9
"""Cuts: after so many steps."""
KEY = b"$KV.elastic-consumer-groups.S.g "
WRITES = {
    "the note": (b"$KV.reconciler.intent.elastic_group.S.g ", 1),
    "the marker": (KEY, 1),
    "the resume point": (b"$KV.reconciler.intent.elastic_group.S.g ", 2),
    "the deletion": (b"$JS.API.STREAM.DELETE.S-g ", 1),
    "the creation": (b"$JS.API.STREAM.CREATE.S-g ", 1),
    "the record": (KEY, 2),
    "the settling": (b"$JS.API.STREAM.UPDATE.S-g ", 1),
    "what is remembered": (b"$KV.reconciler.owned.elastic_group.S.g ", 1),
    "the end": (b"$KV.reconciler.intent.elastic_group.S.g ", 3),
}
"""Every write, by its subject and how often that was written to before."""


def text(partitions: int, membership: str = "members: [a, b]", more: str = "") -> str:
    filters = "[{filter: s.*, partitioning_wildcards: [1]}]"
    group = f"{{type: elastic, max_members: {partitions}, partitioning_filters: {filters}, {membership}{more}}}"
    return f"streams: {{S: {{subjects: [s.*], groups: {{g: {group}}}}}}}"


def to(partitions: int) -> str:
    return f"allow: [{{code: EG101, to: {partitions}, reason: more of them}}]"


class Group:
    """A group with ten messages: five processed, the others waiting."""

    def __init__(self, js: JetStream, folder: Path) -> None:
        self.js, self.folder = js, folder
        self.old = self.file(text(4))
        self.wanted = self.file(text(6, more=f", {to(6)}"))
        self.waiting: set[str] = set()

    def file(self, sections: str, topology: str = "orders") -> Topology:
        return read(self.folder / str(len(list(self.folder.iterdir()))), sections, topology)

    async def begin(self) -> None:
        await self.applied(self.old)
        await self.publish(*range(10))
        await self.until(lambda state: state["last_seq"] == 10)
        done(await self.js.request("STREAM.PURGE.S-g", {"seq": 6}))
        self.waiting -= {str(number) for number in range(5)}

    async def publish(self, *numbers: int) -> None:
        for number in numbers:
            await self.js.pipeline.nc.request(f"s.k{number}", str(number).encode(), timeout=20)
            self.waiting.add(str(number))

    async def queue(self) -> Any:
        return done(await self.js.request("STREAM.INFO.S-g"))

    async def until(self, what: Callable[[Any], bool]) -> Any:
        """The state of the queue as soon as it is so; nothing announces what a queue takes in."""
        async with asyncio.timeout(60):
            while not what(state := (await self.queue())["state"]):  # noqa: ASYNC110 - see above
                await asyncio.sleep(0.01)
        return state

    async def plan(self, wanted: Topology) -> Planned:
        return await plan(wanted, self.js, OPTIONS)

    async def applied(self, wanted: Topology) -> Plan:
        planned = await self.plan(wanted)
        events = [event async for event in apply(planned, self.js) if isinstance(event, Finished)]
        assert events[-1].is_success, events[-1]
        return planned.plan

    async def cut(self, after: int) -> None:
        planned = await self.plan(self.wanted)
        async for event in execute(self.js, planned.plan.steps[:after], forms=predicted_forms(planned.snapshot)):
            assert not isinstance(event, Finished) or event.is_success, event

    async def holds(self, partitions: int) -> None:
        """What waited is there, once, in the partitions of this group; and nothing is left to do."""
        await self.publish(*range(90, 93))
        found: list[tuple[str, str]] = []
        state = await self.until(lambda state: state["messages"] >= len(self.waiting))
        for sequence in range(state["first_seq"], state["last_seq"] + 1):
            message = done(await self.js.request("STREAM.MSG.GET.S-g", {"seq": sequence}))["message"]
            found.append((message["data"], message["subject"].partition(".")[0]))
        assert sorted(number for number, _ in found) == sorted(_encoded(number) for number in self.waiting)
        assert {int(at) for _, at in found} <= set(range(partitions))
        config = (await self.queue())["config"]
        assert f"Partition({partitions}," in config["sources"][0]["subject_transforms"][0]["dest"]

    async def is_settled(self, wanted: Topology) -> None:
        await self.applied(wanted)
        assert (await self.plan(wanted)).plan.changes == ()
        assert "opt_start_seq" not in (await self.queue())["config"]["sources"][0]

    async def becomes(self, partitions: int) -> None:
        """One more apply makes it so, nothing is lost, and then nothing is left to do."""
        wanted = self.file(text(partitions, more=f", {to(partitions)}"))
        await self.applied(wanted)
        await self.holds(partitions)
        await self.is_settled(wanted)

    async def record(self) -> Any:
        entries = (await self.plan(self.wanted)).snapshot.entries["elastic-consumer-groups"]
        return None if entries["S.g"].deleted else json.loads(entries["S.g"].value)


def _encoded(number: str) -> str:
    import base64

    return base64.b64encode(number.encode()).decode()


Story = Callable[[Group], Awaitable[None]]


def played(account: Account, folder: Path, story: Story) -> None:
    async def run() -> None:
        nc = await account.connect()
        group = Group(await JetStream.open(nc), folder)
        await group.begin()
        await story(group)
        await group.js.close()
        await nc.close()

    asyncio.run(run())


@pytest.mark.parametrize("write", WRITES)
def test_killed_at_any_write_the_next_apply_finishes(account: Account, tmp_path: Path, write: str) -> None:
    """On the wire just so; `make drill` kills after each request that has been answered."""

    async def story(group: Group) -> None:
        (tmp_path / "topology.yaml").write_text(f"reconciler: 1\ntopology: orders\n{text(6, more=f', {to(6)}')}\n")
        await killed(tmp_path, account, "topology.yaml", WRITES[write], sent=True)
        await unlock(group.js)
        await group.publish(10)
        await group.becomes(6)

    played(account, tmp_path, story)


def test_who_applies_is_told_that_the_new_queue_still_waits_for_a_message(account: Account, tmp_path: Path) -> None:
    async def story(group: Group) -> None:
        done(await group.js.request("STREAM.PURGE.S-g"))
        events = [event async for event in apply(await group.plan(group.wanted), group.js)]
        finished = events[-1]
        assert isinstance(finished, Finished)
        assert [(one.code, one.address) for one in finished.warnings] == [("EG321", "elastic_group/S/g")]
        assert "resuming at message 11 of S" in outcome_text(finished)
        await group.publish(10)
        group.waiting = {"10"}
        await group.holds(6)
        await group.is_settled(group.wanted)

    played(account, tmp_path, story)


@on_every_version
def test_what_its_new_queue_still_needs_is_no_drift_but_left_to_the_next_apply(
    account: Account, tmp_path: Path
) -> None:
    async def looked(group: Group) -> tuple[int, list[tuple[Standing, str, str]]]:
        drift = look(group.wanted, await observe(group.js), RunOptions()).drift
        return drift.exit_code, [
            (item.standing, field.path, field.cause) for item in drift.items for field in item.fields
        ]

    async def story(group: Group) -> None:
        done(await group.js.request("STREAM.PURGE.S-g"))
        async for _event in apply(await group.plan(group.wanted), group.js):
            pass
        assert await looked(group) == (0, [])
        await group.publish(10)
        await group.until(lambda state: state["last_seq"])
        left = "left unfinished by an apply; the next one completes it"
        assert await looked(group) == (0, [(Standing.PENDING, "queue_stream", left)])
        group.waiting = {"10"}
        await group.applied(group.wanted)
        assert await looked(group) == (0, [])
        await group.is_settled(group.wanted)

    played(account, tmp_path, story)


@on_every_version
def test_members_that_are_back_are_not_waited_for_when_only_the_new_queue_is_settled(
    account: Account, tmp_path: Path
) -> None:
    """The apply was killed after it wrote the new record."""

    async def story(group: Group) -> None:
        await group.cut(RECORDED)
        await group.until(lambda state: state["last_seq"])
        for name, partitions in {"a": range(3), "b": range(3, 6)}.items():
            await making.consumer(group.js, name, [f"{number}.s.*" for number in partitions])
            await making.pull(group.js, name)
        planned = await group.plan(group.wanted)
        (change,) = planned.plan.changes
        assert [verdict.code for verdict in change.verdicts] == ["EG321"]
        assert change.consequences == ()
        assert {step.call for step in planned.plan.steps} == {Call.QUEUE_SETTLE, Call.ENTRY_PUT, Call.ENTRY_DELETE}

    played(account, tmp_path, story)


def test_its_start_sequence_is_told_apart_from_what_somebody_edits_meanwhile(account: Account, tmp_path: Path) -> None:
    async def story(group: Group) -> None:
        done(await group.js.request("STREAM.PURGE.S-g"))
        async for _event in apply(await group.plan(group.wanted), group.js):
            pass
        config = done(await group.js.read("STREAM.INFO.S-g"))["config"]
        done(await group.js.request("STREAM.UPDATE.S-g", {**config, "max_age": 3_600_000_000_000}))
        planned = await group.plan(group.wanted)
        (change,) = [one for one in planned.plan.changes if str(one.address) == "elastic_group/S/g"]
        said = {verdict.code: verdict.message for verdict in change.verdicts}
        assert "its stream S-g like this: max_age differs." in said["EG320"]
        assert said["EG321"] == "stream S-g still has the start sequence 11 of S, with which it was recreated"

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", range(1, NOTED + 1))
def test_not_wanted_any_more_while_the_old_queue_is_there_the_group_is_as_it_was(
    account: Account, tmp_path: Path, after: int
) -> None:
    async def story(group: Group) -> None:
        await group.cut(after)
        created = (await group.queue())["created"]
        await group.applied(group.old)
        assert (await group.queue())["created"] == created
        await group.holds(4)
        assert (await group.record())["max_members"] == 4
        await group.is_settled(group.old)

    played(account, tmp_path, story)


async def does_what_another_left(group: Group, second: Planned) -> None:
    """Another apply is done before this plan is carried out, of which only what comes later is left."""
    await group.applied(group.wanted)
    await group.publish(10)
    await group.until(lambda state: state["messages"] == 1)
    finished = [event async for event in apply(second, group.js)][-1]
    assert isinstance(finished, Finished)
    assert finished.is_success, finished
    assert [one.step.call for one in finished.done] == [Call.QUEUE_SETTLE]
    assert (await group.plan(group.wanted)).plan.changes == ()


def test_who_waited_for_another_apply_of_the_same_does_what_that_left_to_later(
    account: Account, tmp_path: Path
) -> None:
    """Not: somebody deleted the queue and made it anew."""

    async def story(group: Group) -> None:
        done(await group.js.request("STREAM.PURGE.S-g"))
        second = await group.plan(group.wanted)
        await does_what_another_left(group, second)

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", [DELETED, MADE, RECORDED])
def test_who_planned_while_another_apply_was_at_work_does_what_that_left_to_later(
    account: Account, tmp_path: Path, after: int
) -> None:
    """What it planned is the rest of the replacement, of which the other one has done all that could be done."""

    async def story(group: Group) -> None:
        done(await group.js.request("STREAM.PURGE.S-g"))
        await group.cut(after)
        second = await group.plan(group.wanted)
        await does_what_another_left(group, second)

    played(account, tmp_path, story)


@on_every_version
@pytest.mark.parametrize("after", [DELETED, MADE, RECORDED])
def test_not_wanted_any_more_when_it_is_gone_it_is_made_as_it_was_from_the_noted_place(
    account: Account, tmp_path: Path, after: int
) -> None:
    async def story(group: Group) -> None:
        await group.cut(after)
        await group.becomes(4)

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", [AFTER_IT, NOTED, DELETED, MADE])
def test_another_wish_is_made_from_the_same_place(account: Account, tmp_path: Path, after: int) -> None:
    async def story(group: Group) -> None:
        await group.cut(after)
        await group.becomes(8)

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", [BEFORE_THE_MARKER, AFTER_IT, NOTED, DELETED, MADE, RECORDED])
def test_removed_meanwhile_it_goes_whole(account: Account, tmp_path: Path, after: int) -> None:
    async def story(group: Group) -> None:
        await group.cut(after)
        removed = group.file(
            'streams: {S: {subjects: [s.*]}}\nremoved: [{address: elastic_group/S/g, reason: "nobody reads it"}]'
        )
        plan = await group.applied(removed)
        assert [(change.address, change.action) for change in plan.changes] == [("elastic_group/S/g", Action.DELETE)]
        assert "S-g" not in done(await group.js.request("STREAM.NAMES"))["streams"]
        assert not (await group.plan(removed)).plan.steps

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", [AFTER_IT, DELETED, MADE])
def test_no_longer_declared_nothing_is_done_and_its_queue_is_nobody_elses(
    account: Account, tmp_path: Path, after: int
) -> None:
    async def story(group: Group) -> None:
        await group.cut(after)
        plan = (await group.plan(group.file("streams: {S: {subjects: [s.*]}}"))).plan
        assert [(change.address, change.action) for change in plan.changes] == [("elastic_group/S/g", Action.ORPHAN)]
        assert (plan.steps, plan.unmanaged) == ((), ())

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", [AFTER_IT, NOTED, DELETED, MADE])
def test_a_membership_that_others_manage_survives_the_cut(account: Account, tmp_path: Path, after: int) -> None:
    async def story(group: Group) -> None:
        group.wanted = group.file(text(6, membership=to(6)))
        await group.cut(after)
        await group.applied(group.wanted)
        assert (await group.record())["members"] == ["a", "b"]
        await group.holds(6)

    played(account, tmp_path, story)


@pytest.mark.parametrize("after", [AFTER_IT, NOTED, DELETED, MADE])
def test_a_record_that_an_application_made_again_meanwhile_is_replaced(
    account: Account, tmp_path: Path, after: int
) -> None:
    """An application that creates its group at start-up, with the settings it knows."""

    async def story(group: Group) -> None:
        record = json.dumps(await group.record(), separators=(",", ":")).encode()
        await group.cut(after)
        said = await group.js.put_entry("elastic-consumer-groups", "S.g", record, expected_revision=None)
        assert isinstance(said, Stored)
        await group.becomes(6)

    played(account, tmp_path, story)


def test_a_queue_that_vanished_before_its_place_was_noted_is_not_made_from_nothing(
    account: Account, tmp_path: Path
) -> None:
    async def story(group: Group) -> None:
        await group.cut(AFTER_IT)
        done(await group.js.request("STREAM.DELETE.S-g"))
        (change,) = (await group.plan(group.wanted)).plan.changes
        assert (change.is_refused, "is gone" in change.verdicts[0].message) == (True, True)

    played(account, tmp_path, story)


def test_a_source_made_anew_is_not_resumed_from_the_old_ones_numbers(account: Account, tmp_path: Path) -> None:
    async def story(group: Group) -> None:
        done(await group.js.request("STREAM.DELETE.S"))
        await make_stream(group.js, "S", subjects=["s.*"])
        changes = {change.address: change for change in (await group.plan(group.wanted)).plan.changes}
        blocking = [verdict.code for verdict in changes["elastic_group/S/g"].verdicts if verdict.blocks]
        assert blocking == ["EG302"]
        assert (await group.record())["max_members"] == 4
        assert (await group.queue())["state"]["messages"] == 5

    played(account, tmp_path, story)


@pytest.mark.parametrize("record", [False, True], ids=["", "with the record back"])
def test_a_source_made_anew_after_the_cut_is_not_resumed_either(account: Account, tmp_path: Path, record: bool) -> None:
    async def story(group: Group) -> None:
        await group.cut(RECORDED if record else DELETED)
        if record:
            done(await group.js.request("STREAM.DELETE.S-g"))
        done(await group.js.request("STREAM.DELETE.S"))
        await make_stream(group.js, "S", subjects=["s.*"])
        await group.publish(90, 91)
        changes = {change.address: change for change in (await group.plan(group.wanted)).plan.changes}
        change = changes["elastic_group/S/g"]
        assert (
            change.is_refused,
            "the stream was replaced or lost its last messages" in change.verdicts[0].message,
        ) == (True, True)

    played(account, tmp_path, story)


@on_every_version
def test_other_filters_and_limits_are_consented_to_by_their_values(account: Account, tmp_path: Path) -> None:
    async def story(group: Group) -> None:
        filters = "[{filter: 's.>', partitioning_wildcards: []}, {filter: 't.*.*', partitioning_wildcards: [2, 1]}]"
        if account.minor == "2.11":
            filters = "[{filter: 't.*.*', partitioning_wildcards: [2, 1]}, {filter: s.*, partitioning_wildcards: [1]}]"
        consents = (
            f"allow: [{{code: EG101, to: {filters}, reason: by customer}}, {{code: EG101, to: 500, reason: bounded}}]"
        )
        body = f"type: elastic, max_members: 4, partitioning_filters: {filters}, max_buffered_msg: 500, members: [a]"
        wanted = group.file(f"streams: {{S: {{subjects: [s.*], groups: {{g: {{{body}, {consents}}}}}}}}}")
        planned = (await group.plan(wanted)).plan
        assert [(change.action, change.is_blocked) for change in planned.changes] == [(Action.REPLACE, False)]
        assert planned.diagnostics == ()
        await group.applied(wanted)
        await group.until(lambda state: state["messages"] >= 5)
        await group.is_settled(wanted)
        assert (await group.queue())["state"]["messages"] == 5

    played(account, tmp_path, story)


@on_every_version
def test_what_does_not_fit_into_a_smaller_buffer_waits_in_the_source(account: Account, tmp_path: Path) -> None:
    async def story(group: Group) -> None:
        wanted = group.file(text(4, more=", max_buffered_msg: 2, allow: [{code: EG101, to: 2, reason: less memory}]"))
        (change,) = (await group.applied(wanted)).changes
        said = "what is queued (5 now); it holds no more than 2 messages at a time: the rest waits in S, as long as S stores"
        assert said in change.verdicts[0].message
        taken: list[int] = []
        while len(taken) < 5:
            state = await group.until(lambda state: state["messages"] > 0)
            assert state["messages"] <= 2
            taken += range(state["first_seq"], state["last_seq"] + 1)
            done(await group.js.request("STREAM.PURGE.S-g", {"seq": state["last_seq"] + 1}))
        assert taken == [1, 2, 3, 4, 5]

    played(account, tmp_path, story)


@on_every_version
def test_messages_in_partitions_that_no_record_makes_reach_members_of_the_recreated_group(
    account: Account, tmp_path: Path
) -> None:
    """Somebody edited its queue in place and back, so that no member owned these (GR130)."""

    async def story(group: Group) -> None:
        config = (await group.queue())["config"]
        transform = config["sources"][0]["subject_transforms"][0]
        wider = {**transform, "dest": transform["dest"].replace("Partition(4,", "Partition(8,")}
        edited = {**config, "sources": [{**config["sources"][0], "subject_transforms": [wider]}]}
        done(await group.js.request("STREAM.UPDATE.S-g", edited))
        await group.publish(*range(10, 40))
        await group.until(lambda state: state["last_seq"] >= 40)
        done(await group.js.request("STREAM.UPDATE.S-g", config))
        subjects = done(await group.js.read("STREAM.INFO.S-g", {"subjects_filter": ">"}))["state"]["subjects"]
        assert {int(subject.partition(".")[0]) for subject in subjects} & {4, 5, 6, 7}
        wanted = group.file(text(6, more=f", {to(6)}"))
        await group.applied(wanted)
        await group.holds(6)

    played(account, tmp_path, story)
