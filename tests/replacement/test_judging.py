"""When a change replaces a consumer, what that costs, and when nobody may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan, PlannedChange
from reconciler.changes.verdict import Outcome
from reconciler.model.ledger.intents import Intent, encode_intent
from reconciler.model.wire.steps import Call, Step
from tests.support.topologies import scene

AT = "consumer/S/c"
HALF_WAY = {
    "delivered": {"consumer_seq": 20, "stream_seq": 90},
    "ack_floor": {"consumer_seq": 12, "stream_seq": 50},
    "num_ack_pending": 3,
}
TO_ALL = "{code: CO104, to: all, reason: batches}"


def stream(consumer: str, retention: str = "limits") -> str:
    return f"streams: {{S: {{subjects: [s.*], retention: {retention}, consumers: {{c: {{{consumer}}}}}}}}}"


def planned(
    folder: Path,
    then: str,
    first: str = "ack_policy: explicit",
    retention: str = "limits",
    info: dict[str, Any] | None = None,
    **said: Any,
) -> Plan:
    raw = {"consumers": {"S": {"c": HALF_WAY if info is None else info}}}
    return scene(folder, stream(then, retention), stream(first, retention), raw=raw, **said).plan()


def only(plan: Plan) -> PlannedChange:
    (change,) = plan.changes
    return change


def calls(plan: Plan) -> list[Call]:
    """Those made when nothing is refused."""
    return [step.call for step in plan.steps if step.undoes is None]


def step(plan: Plan, call: Call) -> Step:
    return next(step for step in plan.steps if step.call is call)


def test_without_consent_it_blocks_and_says_what_would_come_again(tmp_path: Path) -> None:
    change = only(planned(tmp_path, "ack_policy: all"))
    verdict, warning = change.verdicts
    assert (change.action, verdict.outcome, change.needs_consent) == (Action.REPLACE, Outcome.REPLACES, True)
    assert (warning.code, warning.blocks) == ("CO603", False)
    assert (
        "the server redelivers at least 3 and at most 8 messages, 3 in flight and the others acknowledged or terminated out of order"
        in verdict.message
    )
    assert verdict.quantities == {"redelivered": 8, "unacknowledged": 3}


def test_with_consent_it_is_noted_before_anything_is_deleted_and_the_note_goes_last(tmp_path: Path) -> None:
    plan = planned(tmp_path, f"ack_policy: all, allow: [{TO_ALL}]")
    assert plan.summary["replace"] == 1
    assert calls(plan) == [
        Call.ENTRY_PUT, Call.CONSUMER_READ, Call.CONSUMER_PAUSE, Call.CONSUMER_READ, Call.ENTRY_PUT,
        Call.CONSUMER_DELETE, Call.CONSUMER_CREATE, Call.ENTRY_PUT, Call.ENTRY_DELETE,
    ]  # fmt: skip
    row = [step for step in plan.steps if step.undoes is None]
    assert [one.after for one in row] == [(), *((before.id,) for before in row[:-1])]


def test_the_note_says_everything_another_run_needs(tmp_path: Path) -> None:
    intent = json.loads(step(planned(tmp_path, f"ack_policy: all, allow: [{TO_ALL}]"), Call.ENTRY_PUT).value or "")
    assert intent["topology"] == "orders"
    assert (intent["old"]["ack_policy"], intent["wanted"]["ack_policy"], intent["fields"]) == (
        "explicit",
        "all",
        ["ack_policy"],
    )
    assert intent["start"] == {"deliver_policy": "by_start_sequence", "opt_start_seq": 51, "opt_start_time": None}
    assert intent["allow"] == [{"code": "CO104", "to": "all", "reason": "batches"}]


def test_a_consumer_of_a_work_queue_starts_with_what_is_left(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, "ack_policy: explicit, max_waiting: 9, allow: [{code: CO106, to: 9, reason: few}]",
        "ack_policy: explicit, max_waiting: 8", "workqueue",
    )  # fmt: skip
    assert calls(plan) == [
        Call.ENTRY_PUT, Call.CONSUMER_DELETE, Call.CONSUMER_CREATE, Call.ENTRY_PUT, Call.ENTRY_DELETE,
    ]  # fmt: skip
    assert only(plan).verdicts[0].quantities == {"redelivered": 3, "unacknowledged": 3}
    assert "deliver_policy" not in step(plan, Call.CONSUMER_CREATE).body


def test_a_placeholder_with_the_same_filter_keeps_what_an_interest_stream_would_drop(tmp_path: Path) -> None:
    plan = planned(
        tmp_path, f"ack_policy: all, filter_subject: s.a, allow: [{TO_ALL}]",
        "ack_policy: explicit, filter_subject: s.a", "interest",
    )  # fmt: skip
    made, deleted = (
        [one for one in plan.steps if one.call is call] for call in (Call.CONSUMER_CREATE, Call.CONSUMER_DELETE)
    )
    assert made[0].on == deleted[-1].on != made[1].on == deleted[0].on
    assert made[0].body["filter_subject"] == "s.a"


def test_a_stream_that_becomes_one_of_interest_has_its_placeholder_as_well(tmp_path: Path) -> None:
    raw = {"consumers": {"S": {"c": HALF_WAY}}}
    then = stream(f"ack_policy: all, allow: [{TO_ALL}]", "interest")
    plan = scene(tmp_path, then, stream("ack_policy: explicit"), raw=raw).plan(
        allow=[("*", "*"), ("ST303", "*"), ("ST302", "*")]
    )
    assert "A placeholder" in " ".join(c.message for one in plan.changes for c in one.consequences if one.address == AT)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no acknowledgements": ({"first": "ack_policy: none", "then": "ack_policy: explicit"}, "no server knows what was processed"),
    "last per subject": (
        {"first": "ack_policy: explicit, deliver_policy: last_per_subject, filter_subject: s.a",
         "then": "ack_policy: all, deliver_policy: last_per_subject, filter_subject: s.a"},
        "its position is no sequence",
    ),
    "an old server before the first acknowledgement": (
        {"first": "ack_policy: explicit, deliver_policy: new", "then": "ack_policy: all, deliver_policy: new",
         "info": {"delivered": {"consumer_seq": 2, "stream_seq": 90}, "ack_floor": {"consumer_seq": 0, "stream_seq": 0}}},
        "until its first message is acknowledged",
    ),
    "no access to what we remember": (
        {"then": "ack_policy: all", "ledger_known": False},
        "bucket reconciler, which an interrupted replacement needs, could not be read here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_where_the_position_is_unknown_no_consent_helps(tmp_path: Path, why: str) -> None:
    said, words = REFUSED[why]
    allow = "allow: [{code: CO104, to: explicit, reason: r}, {code: CO104, to: all, reason: r}]"
    change = only(planned(tmp_path, **{**said, "then": f"{said['then']}, {allow}"}))
    assert (change.action, change.is_refused) == (Action.UPDATE, True)
    assert words in " ".join(verdict.message for verdict in change.verdicts)


def test_no_room_for_a_placeholder_is_said_before(tmp_path: Path) -> None:
    text = stream("ack_policy: {}", "interest").replace("subjects:", "max_consumers: 1, subjects:")
    raw = {"consumers": {"S": {"c": HALF_WAY}}}
    change = only(scene(tmp_path, text.replace("{}}", "all}"), text.replace("{}}", "explicit}"), raw=raw).plan())
    assert change.is_refused
    (verdict,) = change.verdicts
    assert "stream S has no room for one" in verdict.message
    assert verdict.fix == "let stream S have 2 consumers (max_consumers), or remove one in the same plan"


def test_a_replacement_that_is_refused_half_way_does_not_continue(tmp_path: Path) -> None:
    text = stream("ack_policy: {}", "interest").replace("subjects:", "max_consumers: 1, subjects:")
    begun = Intent(
        topology="orders", old={"ack_policy": "explicit"}, wanted={"ack_policy": "all"}, fields=("ack_policy",)
    )
    entry = {"intent.consumer.S.c": json.dumps(encode_intent(begun))}
    raw = {"consumers": {"S": {"c": HALF_WAY}}, "entries": {"reconciler": entry}}
    change = only(scene(tmp_path, text.replace("{}}", "all}"), text.replace("{}}", "explicit}"), raw=raw).plan())
    assert change.is_refused
    assert change.reason == "A run that was replacing this was interrupted."


@pytest.mark.parametrize(
    ("consent", "why"),
    [
        ("{code: CO104, to: all, reason: r, until: 2026-05-31}", "XX301"),
        ("{code: CO104, to: none, reason: r}", "XX303"),
        ("{code: CO104, reason: r}", "XX303"),
        ("{code: CO104, to: all, reason: r, upto: {redelivered: 7}}", "XX303"),
    ],
)
def test_a_consent_that_does_not_reach_blocks_and_says_why(tmp_path: Path, consent: str, why: str) -> None:
    plan = planned(tmp_path, f"ack_policy: all, allow: [{consent}]")
    assert only(plan).needs_consent
    assert [one.code for one in plan.diagnostics] == [why]
    assert not plan.steps


def test_a_protected_consumer_is_not_replaced_whatever_consent_says(tmp_path: Path) -> None:
    change = only(planned(tmp_path, f"ack_policy: all, protect: true, allow: [{TO_ALL}]"))
    assert [(v.code, v.refuses) for v in change.verdicts] == [("CO104", False), ("CO603", False), ("XX103", True)]


def test_a_consumer_that_was_never_ours_is_not_replaced(tmp_path: Path) -> None:
    change = next(
        c for c in planned(tmp_path, f"ack_policy: all, allow: [{TO_ALL}]", owner=None).changes if c.address == AT
    )
    assert [v.code for v in change.verdicts if v.refuses] == ["XX104"]


def test_every_change_that_replaces_needs_its_own_consent(tmp_path: Path) -> None:
    change = only(planned(tmp_path, f"ack_policy: all, replay_policy: original, allow: [{TO_ALL}]"))
    blocking = {v.code: v.blocks for v in change.verdicts}
    assert blocking == {"CO104": False, "CO105": True, "CO603": False, "CO608": False}


def test_what_follows_from_being_pushed_is_not_asked_about_by_itself(tmp_path: Path) -> None:
    change = only(
        planned(
            tmp_path, "ack_policy: explicit, deliver_subject: push", info={**HALF_WAY, "config": {"max_waiting": 512}}
        )
    )
    assert {v.code for v in change.verdicts} == {"CO109"}


def test_never_delivered_from_it_goes_on_where_it_would_have_started(tmp_path: Path) -> None:
    info = {"delivered": {"consumer_seq": 0, "stream_seq": 90}, "ack_floor": {"consumer_seq": 0, "stream_seq": 0}}
    change = only(
        planned(
            tmp_path, "ack_policy: all, deliver_policy: new", "ack_policy: explicit, deliver_policy: new", info=info
        )
    )
    assert change.verdicts[0].quantities["redelivered"] == 0
    assert "at stream sequence 91" in change.consequences[0].message


def test_a_pause_of_its_owner_is_left_alone(tmp_path: Path) -> None:
    until = "pause_until: '2099-01-01T00:00:00Z'"
    plan = planned(
        tmp_path, f"ack_policy: all, {until}, allow: [{TO_ALL}]", f"ack_policy: explicit, {until}",
        info={**HALF_WAY, "paused": True},
    )  # fmt: skip
    assert Call.CONSUMER_PAUSE not in calls(plan)
    assert step(plan, Call.CONSUMER_CREATE).body["pause_until"].startswith("2099")


def test_nothing_is_replaced_beside_a_refused_change_of_its_streams_retention(tmp_path: Path) -> None:
    """It was judged for the stream as that was to be."""
    live = stream("ack_policy: explicit", "workqueue")
    then = stream(f"ack_policy: all, allow: [{TO_ALL}]", "limits")
    plan = scene(tmp_path, then, live, raw={"consumers": {"S": {"c": HALF_WAY}}}).plan()
    assert {change.address: change.blocked_by for change in plan.changes} == {AT: "stream/S", "stream/S": None}
    assert not plan.steps
