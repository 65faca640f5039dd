"""What is left of a saved plan, after whatever somebody did in between: a table of cases, without a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.plan import Plan
from reconciler.engine.compare import compare
from reconciler.engine.decide import decide
from reconciler.engine.pairing.identity import identities_touched
from reconciler.journeys.saved.comparison import Outlook, outlook
from reconciler.journeys.saved.saved_plan import AccountPlace, Saved
from reconciler.kinds import REGISTRY
from reconciler.memory import remembered
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Topology
from reconciler.model.wire.snapshot import Scope, Snapshot
from reconciler.testbed import imagined
from tests.support.topologies import TODAY, overlaid, read, target

BEFORE = """\
streams:
  S: {subjects: [s], max_age: 1h, consumers: {c: {ack_policy: explicit}, gone: {ack_policy: explicit}}}
  OLD: {subjects: [old]}
"""
WANTED = """\
streams:
  S: {subjects: [s], max_age: 2h, consumers: {c: {ack_policy: explicit, max_deliver: 5}}}
  NEW: {subjects: [new], consumers: {first: {ack_policy: explicit}}}
removed:
- {address: consumer/S/gone, reason: unused}
- {address: stream/OLD, reason: unused}
"""
STORED = 5
"""Messages in OLD when the plan is made; twice as many are consented to by default."""
ALL = ("consumer/NEW/first", "consumer/S/c", "consumer/S/gone", "stream/NEW", "stream/OLD", "stream/S")

Meanwhile = Callable[[Snapshot], Snapshot]


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What the outlook says, by address."""

    as_wanted: frozenset[str] = frozenset()
    stopped: Mapping[str, str]
    """The code of why."""


def planned(wanted: Topology, snapshot: Snapshot) -> Plan:
    options = RunOptions(today=TODAY)
    return decide(
        compare(wanted, snapshot, remembered.read_memory(snapshot, REGISTRY), REGISTRY, options), REGISTRY, options
    )


def applied(plan: Plan, snapshot: Snapshot, *addresses: str) -> Snapshot:
    """With what is remembered of it; no address stands for all."""
    steps = [step for step in plan.steps if not addresses or step.address in addresses]
    records = {address: one for address, one in plan.records.items() if not addresses or str(address) in addresses}
    return imagined.snapshot_with_records(imagined.snapshot_after_steps(snapshot, steps), records)


class Story:
    """A plan is made and kept, something happens, and it is looked at again."""

    def __init__(self, folder: Path, server: str = "2.14") -> None:
        before, self.wanted = read(folder / "before", BEFORE), read(folder / "wanted", WANTED)
        empty = Snapshot(target=target(server))
        self.start = stored("OLD", STORED)(applied(planned(before, empty), empty))
        self.plan = planned(self.wanted, self.start)
        assert not self.plan.blocked

    def then(self, *happened: Meanwhile) -> Outlook:
        now = self.start
        for one in happened:
            now = one(now)
        saved = Saved(
            plan=self.plan,
            place=AccountPlace.of(self.start),
            topology=self.wanted,
            seen=identities_touched(self.plan.steps, self.start),
        )
        again = planned(self.wanted, now)
        return outlook(saved, again, identities_touched((*self.plan.steps, *again.steps), now))

    def done(self, *addresses: str) -> Meanwhile:
        """Of this very plan, by an apply that was cut off."""
        return lambda snapshot: applied(self.plan, snapshot, *addresses)


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def written(**raw: Any) -> Meanwhile:
    """Pieces of the server's answers are others now."""
    return lambda snapshot: overlaid(snapshot, raw)


def stream(name: str, **config: Any) -> Meanwhile:
    return written(streams={name: {"config": config}})


def consumer(on: str, name: str, **config: Any) -> Meanwhile:
    return written(consumers={on: {name: {"config": config}}})


def stored(name: str, messages: int) -> Meanwhile:
    return written(streams={name: {"state": {"messages": messages, "last_seq": messages}}})


def without(name: str) -> Meanwhile:
    """A stream that somebody deleted, with its consumers."""
    return written(streams={name: None}, consumers={name: None})


def made(text: str, folder: Path) -> Meanwhile:
    """What somebody else makes, and nobody remembers."""

    def make(snapshot: Snapshot) -> Snapshot:
        return imagined.snapshot_after_steps(snapshot, planned(read(folder, text, "somebody"), snapshot).steps)

    return make


def left(found: Outlook) -> Left:
    return Left(
        as_wanted=frozenset(found.as_wanted),
        stopped={one.change.address: one.why.code for one in found.stopped_changes if one.why},
    )


def test_where_nothing_happened_all_of_it_is_to_be_done(story: Story) -> None:
    found = story.then()
    assert left(found) == Left(stopped={})
    assert found.plan.steps == story.plan.steps
    assert tuple(sorted(change.address for change in found.plan.changes)) == ALL


def test_what_was_done_already_is_not_done_again(story: Story) -> None:
    found = story.then(story.done())
    assert left(found) == Left(as_wanted=frozenset(ALL), stopped={})
    assert found.is_done and not found.plan.steps


@pytest.mark.parametrize("address", ALL)
def test_an_apply_that_was_cut_off_goes_on_with_the_rest(story: Story, address: str) -> None:
    """Whatever one change it had made: a consumer's stream goes before it."""
    above = {"consumer/NEW/first": ("stream/NEW",)}.get(address, ())
    found = story.then(story.done(address, *above))
    assert left(found) == Left(as_wanted=frozenset({address, *above}), stopped={})
    rest = [step.id for step in story.plan.steps if step.address not in (address, *above)]
    assert [step.id for step in found.plan.steps] == rest


def test_what_somebody_else_made_as_wanted_is_remembered(story: Story) -> None:
    found = story.then(stream("S", max_age=7_200_000_000_000))
    assert left(found) == Left(as_wanted=frozenset({"stream/S"}), stopped={})
    assert "stream/S" not in {step.address for step in found.plan.steps}
    [change] = [one for one in found.plan.changes if one.address == "stream/S"]
    assert change.record is not None


def test_another_value_of_the_same_field_stops_it(story: Story) -> None:
    found = story.then(stream("S", max_age=10_800_000_000_000))
    assert left(found).stopped == {"stream/S": "AP103"}
    [stopped] = found.stopped_changes
    assert [(one.path, one.planned, one.now, one.wanted) for one in stopped.changed_since] == [
        ("max_age", 3_600_000_000_000, 10_800_000_000_000, 7_200_000_000_000)
    ]


def test_another_field_of_the_same_object_stops_it(story: Story) -> None:
    found = story.then(consumer("S", "c", max_ack_pending=7))
    assert left(found).stopped == {"consumer/S/c": "AP103"}


def test_an_object_that_somebody_edits_is_not_deleted_by_the_plan_for_what_it_was(story: Story) -> None:
    found = story.then(stream("OLD", max_age=60_000_000_000))
    assert left(found).stopped == {"stream/OLD": "AP103"}


def test_an_object_that_is_gone_is_not_made_anew_by_a_plan_to_change_it(story: Story) -> None:
    found = story.then(written(consumers={"S": {"c": None}}))
    assert left(found).stopped == {"consumer/S/c": "AP103"}
    [stopped] = found.stopped_changes
    assert stopped.why is not None and "a plan made now would create it" in stopped.why.message


def test_an_object_made_anew_is_not_deleted_by_a_plan_for_the_one_before(story: Story) -> None:
    found = story.then(written(streams={"OLD": {"created": "later", "state": {"messages": 1, "last_seq": 1}}}))
    assert left(found).stopped == {"stream/OLD": "AP201"}


@pytest.mark.parametrize(("server", "stopped"), [("2.14", {}), ("2.15", {"stream/OLD": "AP201"})])
def test_the_time_of_creation_alone_tells_an_object_made_anew_where_it_outlives_restarts(
    tmp_path: Path, server: str, stopped: Mapping[str, str]
) -> None:
    found = Story(tmp_path, server).then(written(streams={"OLD": {"created": "later"}}))
    assert left(found).stopped == stopped


def test_what_is_gone_already_need_not_be_deleted(story: Story) -> None:
    found = story.then(without("OLD"))
    assert left(found).stopped == {}
    assert "stream/OLD" not in {step.address for step in found.plan.steps}


@pytest.mark.parametrize(("messages", "stopped"), [(10, {}), (11, {"stream/OLD": "AP202"})])
def test_more_than_was_consented_to_stops_it(story: Story, messages: int, stopped: Mapping[str, str]) -> None:
    found = story.then(stored("OLD", messages))
    assert left(found).stopped == stopped


def test_a_name_that_somebody_took_with_another_configuration_stops_what_makes_it(story: Story, tmp_path: Path) -> None:
    found = story.then(made("streams: {NEW: {subjects: [other]}}", tmp_path / "theirs"))
    assert left(found).stopped["stream/NEW"] == "AP103"


def test_what_somebody_created_was_not_there_when_the_plan_was_made(story: Story, tmp_path: Path) -> None:
    found = story.then(made("streams: {NEW: {subjects: [other]}}", tmp_path / "theirs"))
    [judged] = [stopped for stopped in found.stopped_changes if stopped.change.address == "stream/NEW"]
    assert judged.why is not None
    assert judged.why.message.startswith("Somebody created it after the plan was made")
    assert [(value.path, value.planned, value.now) for value in judged.changed_since] == [("subjects", None, ["other"])]


def test_subjects_that_somebody_took_stop_what_needs_them(story: Story, tmp_path: Path) -> None:
    found = story.then(made("streams: {THEIRS: {subjects: [new]}}", tmp_path / "theirs"))
    assert left(found).stopped == {"stream/NEW": "AP203", "consumer/NEW/first": "AP204"}


def test_what_nobody_can_look_at_stops_what_would_change_it(story: Story) -> None:
    found = story.then(without("S"), written(unknown={Scope.stream("S"): "no leader"}))
    assert left(found).stopped == dict.fromkeys(["stream/S", "consumer/S/c", "consumer/S/gone"], "AP204")


def test_what_is_stopped_stops_none_of_its_neighbours(story: Story) -> None:
    found = story.then(stream("S", max_age=10_800_000_000_000))
    going = {change.address for change in found.plan.changes}
    assert going == {*ALL} - {"stream/S"}
    assert [type(one).__name__ for one in found.stopped] == ["Failed"]


def test_only_what_changed_since_is_stopped_however_much_happened(story: Story) -> None:
    found = story.then(
        story.done("stream/OLD"), consumer("S", "c", max_ack_pending=7), written(consumers={"S": {"gone": None}})
    )
    assert left(found).as_wanted >= {"stream/OLD"}
    assert left(found).stopped == {"consumer/S/c": "AP103"}
