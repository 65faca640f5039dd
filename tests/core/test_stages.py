"""Rings: what no order of single steps can do is done by giving first and taking last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reconciler.changes.plan import Plan
from tests.core.test_order import before, steps, waiting
from tests.support.topologies import Scene

Compare = Callable[..., Scene]

SWAP = (
    "streams: {A: {subjects: [b]}, B: {subjects: [a]}}",
    "streams: {A: {subjects: [a]}, B: {subjects: [b]}}",
)


def subjects(plan: Plan, step: str) -> Any:
    return steps(plan)[step].set["subjects"]


def test_a_stream_that_gives_all_it_has_away_holds_a_subject_that_nobody_uses(compare: Compare) -> None:
    plan = compare(*SWAP).plan()
    assert subjects(plan, "update stream/A, first stage") == ["_parked.A"]
    assert before(plan, "update stream/B") == {"update stream/A, first stage"}
    assert before(plan, "update stream/A") == {"update stream/A, first stage", "update stream/B"}


def test_the_second_stage_expects_what_the_first_one_leaves(compare: Compare) -> None:
    plan = compare(*SWAP).plan()
    assert steps(plan)["update stream/A, first stage"].before == {"subjects": ["a"]}
    assert steps(plan)["update stream/A"].before == {"subjects": ["_parked.A"]}


def test_the_stream_that_keeps_something_is_the_one_to_let_go_first(compare: Compare) -> None:
    plan = compare(
        "streams: {A: {subjects: [b]}, B: {subjects: [a, mine]}}",
        "streams: {A: {subjects: [a]}, B: {subjects: [b, mine]}}",
    ).plan()
    assert subjects(plan, "update stream/B, first stage") == ["mine"]
    assert "update stream/A, first stage" not in steps(plan)


def test_what_stays_within_a_wider_or_narrower_subject_is_kept(compare: Compare) -> None:
    plan = compare(
        "streams: {A: {subjects: [a.one.>, b]}, B: {subjects: [a.two]}}",
        "streams: {A: {subjects: [a.>]}, B: {subjects: [b]}}",
    ).plan()
    assert subjects(plan, "update stream/A, first stage") == ["a.one.>"]


def test_a_parking_subject_that_somebody_captures_is_not_taken(compare: Compare) -> None:
    theirs: dict[str, Any] = {"streams": {"THEIRS": {"config": {"name": "THEIRS", "subjects": ["*.A", "_parked.>"]}}}}
    plan = compare(*SWAP, raw=theirs).plan()
    assert subjects(plan, "update stream/A, first stage") == ["_parked_.A._"]


def test_every_ring_is_opened_at_one_place(compare: Compare) -> None:
    live = (
        "streams: {A: {subjects: [a]}, B: {subjects: [b]}, C: {subjects: [c]}, D: {subjects: [d]}, E: {subjects: [e]}}"
    )
    plan = compare(
        "streams: {A: {subjects: [b]}, B: {subjects: [c]}, C: {subjects: [a]}, D: {subjects: [e]}, E: {subjects: [d]}}",
        live,
    ).plan()
    assert len([name for name in steps(plan) if "first stage" in name]) == 2


def test_who_exchanges_with_a_blocked_stream_waits_and_lets_go_of_nothing(compare: Compare) -> None:
    desired = "streams: {A: {subjects: [b]}, B: {subjects: [a], storage: memory}}"
    plan = compare(desired, SWAP[1]).plan()
    assert waiting(plan) == {"stream/A": "stream/B"}
    assert plan.steps == ()


@pytest.mark.parametrize("only", ["stream/A", "stream/B"])
def test_half_an_exchange_is_not_begun(compare: Compare, only: str) -> None:
    plan = compare(*SWAP).plan(only=[only])
    assert plan.steps == ()
    assert plan.exit_code != 0


def test_an_exchange_says_that_messages_of_a_moment_may_be_lost(compare: Compare) -> None:
    plan = compare(*SWAP).plan()
    said = {change.address: [one.message for one in change.consequences] for change in plan.changes}
    assert 'Publishers get "no responders" meanwhile' in said["stream/A"][0]


def test_consumers_are_lowered_before_their_stream_and_raised_after_it(compare: Compare) -> None:
    plan = compare(
        "streams: {S: {consumer_limits: {max_ack_pending: 10, inactive_threshold: 2h}, consumers: "
        "{low: {max_ack_pending: 5, inactive_threshold: 1h}, high: {max_ack_pending: 5, inactive_threshold: 110m}}}}",
        "streams: {S: {consumer_limits: {max_ack_pending: 50, inactive_threshold: 1h}, consumers: "
        "{low: {max_ack_pending: 40, inactive_threshold: 1h}, high: {max_ack_pending: 5, inactive_threshold: 1h}}}}",
    ).plan()
    assert "update consumer/S/low" in before(plan, "update stream/S")
    assert before(plan, "update consumer/S/high") & {"update stream/S", "update stream/S, first stage"}


def test_a_consumer_waits_when_its_stream_stays_a_work_queue(compare: Compare) -> None:
    live = "streams: {S: {retention: workqueue, consumers: {c: {ack_policy: explicit, filter_subject: a}}}}"
    desired = "streams: {S: {retention: limits, consumers: {c: {ack_policy: explicit}}}}"
    plan = compare(desired, live, server="2.14").plan()
    assert waiting(plan) == {"consumer/S/c": "stream/S"}


def test_a_placement_alone_waits_for_nothing(compare: Compare) -> None:
    placed: dict[str, Any] = {"streams": {"S": {"cluster": {"leader": "n1", "replicas": []}}}}
    live = "streams: {S: {subjects: [s], placement: {tags: [a]}}}"
    plan = compare("streams: {S: {subjects: [s], placement: {tags: [b]}}}", live, cluster="C1", raw=placed).plan()
    assert list(steps(plan)) == ["update stream/S"]


def test_more_replicas_come_after_the_new_placement_and_fewer_before(compare: Compare) -> None:
    small = "streams: {S: {subjects: [s], num_replicas: 1, placement: {tags: [a]}}}"
    large = "streams: {S: {subjects: [s], num_replicas: 3, placement: {tags: [b]}}}"
    grows, shrinks = compare(large, small, cluster="C1").plan(), compare(small, large, cluster="C1").plan()
    assert list(steps(grows)["update stream/S, first stage"].set) == ["placement"]
    assert list(shrinks.steps[-1].set) == ["placement"]
    assert "wait for replicas of stream/S" in before(grows, "update stream/S")


def test_a_move_that_still_runs_is_waited_for(compare: Compare) -> None:
    moving: dict[str, Any] = {"streams": {"S": {"cluster": {"leader": "n1", "replicas": [], "desired": {}}}}}
    live = "streams: {S: {subjects: [s]}}"
    plan = compare("streams: {S: {subjects: [s], num_replicas: 3}}", live, cluster="C1", raw=moving).plan()
    assert before(plan, "update stream/S") == {"wait for replicas of stream/S"}


CONSENTED = [("CO106", "*"), ("CO301", "*"), ("XX311", "*")]


def consumers(retention: str, a: str, b: str, most: int) -> str:
    """Two consumers, and what no update changes of them."""
    each = (
        f"{name}: {{ack_policy: explicit, max_waiting: {most}, filter_subject: {f}}}"
        for name, f in {"a": a, "b": b}.items()
    )
    more = "workqueue" if retention == "workqueue" else f"{retention}, num_replicas: 3"
    return f"streams: {{S: {{subjects: [s.*], retention: {more}, consumers: {{{', '.join(each)}}}}}}}"


def anew(compare: Compare, retention: str) -> Plan:
    scene = compare(consumers(retention, "s.2", "s.1", 64), consumers(retention, "s.1", "s.2", 512), cluster="C")
    return scene.plan(allow=CONSENTED)


@pytest.mark.parametrize(
    ("retention", "meanwhile"), [("interest", {"filter_subjects": ["s.2", "s.1"]}), ("workqueue", {"filter_subject": "_parked.a"})]
)  # fmt: skip
def test_who_exchanges_and_is_made_anew_gives_by_an_update_first(
    compare: Compare, retention: str, meanwhile: dict[str, Any]
) -> None:
    plan = anew(compare, retention)
    assert steps(plan)["update consumer/S/a, first stage"].set == meanwhile
    assert "update consumer/S/a, first stage" in before(plan, "delete consumer/S/b")
    assert "end the replacement of consumer/S/b" in before(plan, "delete consumer/S/a")
    was = steps(plan)["delete consumer/S/a"].before
    assert was is not None and was.items() >= meanwhile.items()


def test_a_placeholder_wants_what_its_consumer_took_in_the_first_stage(compare: Compare) -> None:
    placed = next(step for name, step in steps(anew(compare, "interest")).items() if "create consumer/S/a-" in name)
    assert placed.body["filter_subjects"] == ["s.2", "s.1"]


def test_who_is_made_anew_lets_go_when_every_server_knows_who_stays(compare: Compare) -> None:
    """As an apply leaves it that ended between an update and its gate."""
    replicas = [{"name": "N2", "current": True, "active": 5}, {"name": "N3", "current": False}]
    raw = {"consumers": {"S": {"b": {"cluster": {"leader": "N1", "replicas": replicas}}}}}
    stays = "b: {filter_subject: s.1}"
    live, then = (
        f"streams: {{S: {{subjects: [s.*], retention: interest, num_replicas: 3, consumers: {{{stays}, a: {{{a}}}}}}}}}"
        for a in ("ack_policy: explicit, filter_subject: s.1", "ack_policy: all, filter_subject: s.2")
    )
    plan = compare(then, live, cluster="C", raw=raw).plan(allow=[("CO104", "*"), ("CO301", "*")])
    (gone,) = (name for name in steps(plan) if name.startswith("delete consumer/S/a-"))
    assert before(plan, gone) > {"see consumer/S/b everywhere before others give up", "create consumer/S/a"}
