"""The order of steps, and what stops what."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from reconciler.changes.plan import Plan
from reconciler.model.wire.steps import Step
from tests.support.topologies import Scene

Compare = Callable[..., Scene]


def steps(plan: Plan) -> dict[str, Step]:
    return {step.id: step for step in plan.steps}


def before(plan: Plan, step: str) -> set[str]:
    """Everything that must have been done before this step, near and far."""
    every, found = steps(plan), set()
    todo = list(every[step].after)
    while todo:
        if (one := todo.pop()) not in found:
            found.add(one)
            todo.extend(every[one].after)
    return found


def waiting(plan: Plan) -> dict[str, str | None]:
    return {change.address: change.blocked_by for change in plan.changes if change.blocked_by}


def test_a_stream_is_made_before_its_consumers(compare: Compare) -> None:
    plan = compare("streams: {S: {subjects: [s], consumers: {c: {}}}}").plan()
    assert before(plan, "create consumer/S/c") == {"create stream/S"}


def test_deletions_run_in_reverse(compare: Compare) -> None:
    live = "streams: {S: {subjects: [s], groups: {g: {type: static, max_members: 1}}}}"
    plan = compare(
        "streams: {NEW: {}}\nremoved: [{address: stream/S, reason: r}, {address: static_group/S/g, reason: r}]", live
    ).plan()
    assert "delete entry/static-consumer-groups/S.g" in before(plan, "delete stream/S")


def test_a_consumer_goes_with_its_stream_in_one_step(compare: Compare) -> None:
    plan = compare(
        "guards: [{kind: stream, upto: 1, reason: r}]\n"
        "removed: [{address: stream/S, reason: r}, {address: consumer/S/c, reason: r}]",
        "streams: {S: {subjects: [s], consumers: {c: {}}}}",
    ).plan()
    assert list(steps(plan)) == ["delete stream/S"]
    assert [change.address for change in plan.changes] == ["consumer/S/c", "stream/S"]


def test_a_consumer_removed_alone_is_a_step_of_its_own(compare: Compare) -> None:
    plan = compare(
        "streams: {S: {subjects: [s]}}\nremoved: [{address: consumer/S/c, reason: r}]",
        "streams: {S: {subjects: [s], consumers: {c: {}}}}",
    ).plan()
    assert list(steps(plan)) == ["delete consumer/S/c"]


def test_an_origin_is_made_before_what_copies_it(compare: Compare) -> None:
    plan = compare("streams: {A: {sources: [{name: B}]}, B: {subjects: [b]}, C: {mirror: {name: A}}}").plan()
    assert before(plan, "create stream/C") == {"create stream/A", "create stream/B"}


def test_a_bucket_is_made_before_what_copies_it_by_its_streams_name(compare: Compare) -> None:
    buckets = "kv_buckets: {A: {mirror: {name: KV_Z}}, B: {sources: [{name: KV_Z}]}, Z: {}}\n"
    plan = compare(f"streams: {{C: {{mirror: {{name: KV_Z}}}}}}\n{buckets}").plan()
    made = {step.on[0]: step for step in plan.steps}
    assert {name: made[name].after for name in ("KV_A", "KV_B", "C")} == dict.fromkeys(
        ("KV_A", "KV_B", "C"), (made["KV_Z"].id,)
    )


def test_streams_that_source_each_other_in_a_ring_are_all_made(compare: Compare) -> None:
    ring = """
        streams:
          A: {sources: [{name: C, filter_subject: c}]}
          B: {sources: [{name: A, filter_subject: a}]}
          C: {sources: [{name: B, filter_subject: b}]}
    """
    plan = compare(ring).plan()
    assert set(steps(plan)) == {"create stream/A", "create stream/B", "create stream/C"}
    assert any(not step.after for step in plan.steps)


def test_a_stream_ceases_to_copy_before_another_copies_it_by_way_of_a_third(compare: Compare) -> None:
    """A server that met both would call it a circle."""
    between = "BETWEEN: {subjects: [between], sources: [{name: GIVER}]}"
    plan = compare(
        f"streams: {{GIVER: {{subjects: [g]}}, TAKER: {{subjects: [t], sources: [{{name: BETWEEN}}]}}, {between}}}",
        f"streams: {{GIVER: {{subjects: [g], sources: [{{name: TAKER}}]}}, TAKER: {{subjects: [t]}}, {between}}}",
    ).plan()
    assert before(plan, "update stream/TAKER") == {"update stream/GIVER"}


def test_a_subject_is_let_go_before_another_stream_takes_it(compare: Compare) -> None:
    plan = compare(
        "streams: {A: {subjects: [b]}, B: {subjects: [c]}}", "streams: {A: {subjects: [a]}, B: {subjects: [b]}}"
    ).plan()
    assert before(plan, "update stream/A") == {"update stream/B"}


def test_a_removed_stream_is_gone_before_another_takes_its_subjects(compare: Compare) -> None:
    plan = compare(
        "streams: {NEW: {subjects: [s.>]}}\nremoved: [{address: stream/OLD, reason: r}]",
        "streams: {OLD: {subjects: [s.*]}}",
    ).plan()
    assert before(plan, "create stream/NEW") == {"delete stream/OLD"}


def test_the_bucket_that_groups_share_is_made_once_and_first(compare: Compare) -> None:
    group = "{type: static, max_members: 1}"
    plan = compare(f"streams: {{S: {{subjects: [s], groups: {{g: {group}, h: {group}}}}}}}").plan()
    bucket = "create stream/KV_static-consumer-groups"
    assert [step.id for step in plan.steps].count(bucket) == 1
    assert bucket in before(plan, "put entry/static-consumer-groups/S.g")
    assert bucket in before(plan, "put entry/static-consumer-groups/S.h")


def test_steps_stand_in_an_order_that_works(compare: Compare) -> None:
    plan = compare(
        "streams: {A: {sources: [{name: B}], consumers: {c: {}}}, "
        "B: {subjects: [b], groups: {g: {type: elastic, max_members: 2}}}}"
    ).plan()
    seen: set[str] = set()
    for step in plan.steps:
        assert set(step.after) <= seen
        seen.add(step.id)


def test_a_blocked_create_stops_its_children(compare: Compare) -> None:
    plan = compare("streams: {S: {subjects: [s], sealed: true, consumers: {c: {}}}}").plan()
    assert waiting(plan) == {"consumer/S/c": "stream/S"}
    assert plan.steps == ()


def test_a_blocked_update_does_not_stop_its_children(compare: Compare) -> None:
    desired = "streams: {S: {subjects: [s], storage: memory, consumers: {c: {}}}}"
    plan = compare(desired, "streams: {S: {subjects: [s]}}").plan()
    assert waiting(plan) == {}
    assert list(steps(plan)) == ["create consumer/S/c"]


def test_a_blocked_handover_stops_who_takes_the_subject(compare: Compare) -> None:
    plan = compare(
        "streams: {A: {subjects: [b]}, B: {subjects: [c], storage: memory}}",
        "streams: {A: {subjects: [a]}, B: {subjects: [b]}}",
    ).plan()
    assert waiting(plan) == {"stream/A": "stream/B"}


def test_what_is_judged_as_deleted_with_its_parent_is_not_deleted_without_it(compare: Compare) -> None:
    """Another stream mirrors this one, so the plan refuses its deletion; or somebody chose the consumer alone."""
    live = "streams: {S: {subjects: [s], consumers: {c: {}}, groups: {g: {type: elastic, max_members: 1}}}"
    gone = ("stream/S", "consumer/S/c", "elastic_group/S/g")
    removed = "removed: [" + ", ".join(f"{{address: {address}, reason: r}}" for address in gone) + "]\n"
    guards = "guards: [{kind: stream, upto: 1, reason: r}]\n"
    mirror = "M: {mirror: {name: S}}"
    scene = compare(f"{guards}{removed}streams: {{{mirror}}}", f"{live}, {mirror}}}")
    plan = scene.plan()
    assert waiting(plan) == dict.fromkeys(gone[1:], "stream/S")
    assert plan.steps == ()
    assert scene.plan(only=["consumer/S/c"]).steps == ()
    allowed = scene.plan(allow=[("*", "*"), ("XX231", "*"), ("EG310", "*")])
    assert "delete stream/S" in steps(allowed)


def test_what_waits_for_what_waits_names_the_culprit(compare: Compare) -> None:
    plan = compare("streams: {A: {subjects: [a], sealed: true}, B: {sources: [{name: A}], consumers: {c: {}}}}").plan()
    assert waiting(plan) == {"stream/B": "stream/A", "consumer/B/c": "stream/A"}


UNSEEN: dict[str, Any] = {"unknown": {"stream/A": "its leader is not known"}}
COPYING = "streams: {A: {subjects: [a]}, B: {sources: [{name: A}]%s}}"


def test_an_unknown_stream_stops_what_copies_it(compare: Compare) -> None:
    plan = compare(COPYING % "", raw=UNSEEN).plan()
    assert (waiting(plan), plan.steps) == ({"stream/B": "stream/A"}, ())
    added = compare(COPYING % "", "streams: {B: {}}", raw=UNSEEN).plan()
    assert (waiting(added), added.steps) == ({"stream/B": "stream/A"}, ())


def test_an_unknown_stream_stops_its_groups(compare: Compare) -> None:
    groups = "g: {type: elastic, max_members: 2}, s: {type: static, max_members: 2, members: [m]}"
    plan = compare(f"streams: {{A: {{subjects: [a], groups: {{{groups}}}}}}}", raw=UNSEEN).plan()
    assert waiting(plan) == {"elastic_group/A/g": "stream/A", "static_group/A/s": "stream/A"}
    assert plan.steps == ()


def test_what_copies_a_stream_already_does_not_wait_until_that_is_seen(compare: Compare) -> None:
    gone = {**UNSEEN, "streams": {"A": None}}
    plan = compare(COPYING % ", description: x", COPYING % "", raw=gone).plan()
    assert (waiting(plan), list(steps(plan))) == ({}, ["update stream/B"])


def test_an_elastic_group_is_made_record_first_and_taken_back_if_its_stream_is_refused(compare: Compare) -> None:
    plan = compare("streams: {S: {subjects: [s], groups: {g: {type: elastic, max_members: 2}}}}").plan()
    assert "put entry/elastic-consumer-groups/S.g" in before(plan, "create stream/S-g")
    assert steps(plan)["undo put entry/elastic-consumer-groups/S.g"].undoes == "create stream/S-g"


def test_an_elastic_group_is_ended_before_its_queue_goes(compare: Compare) -> None:
    live = "streams: {S: {subjects: [s], groups: {g: {type: elastic, max_members: 2}}}}"
    plan = compare("streams: {S: {subjects: [s]}}\nremoved: [{address: elastic_group/S/g, reason: r}]", live).plan()
    assert before(plan, "delete stream/S-g") == {
        "stop copying into stream/S-g", "wait for members of S-g", "delete entry/elastic-consumer-groups/S.g",
    }  # fmt: skip
    assert before(plan, "stop copying into stream/S-g") == {"delete entry/elastic-consumer-groups/S.g"}


@pytest.mark.parametrize(("server", "retention"), [("2.11", "workqueue"), ("2.15", "workqueue"), ("2.15", "interest")])
def test_consumers_come_before_a_copy_of_a_stream_that_deletes_what_is_copied(
    compare: Compare, server: str, retention: str
) -> None:
    queue = f"Q: {{subjects: [q.>], retention: {retention}%s}}"
    consumers = (
        ", consumers: {a: {ack_policy: explicit, filter_subject: q.a}, b: {ack_policy: explicit, filter_subject: q.b}}"
    )
    copy = "A: {sources: [{name: Q, filter_subject: q.a}], allow: [{code: XX212, reason: r}]}"
    wanted = f"streams: {{{queue % consumers}, {copy}}}"
    plan = compare(wanted, f"streams: {{{queue % ''}}}", server=server).plan()
    assert "create consumer/Q/a" in before(plan, "create stream/A")
    assert "create consumer/Q/b" not in before(plan, "create stream/A")


TAKING_OVER = "removed: [{address: consumer/S/a, reason: r}]"


def streams(consumer: str, more: str = "") -> str:
    return f"streams: {{S: {{subjects: [s], {more}consumers: {{{consumer}: {{}}}}}}}}\n"


def test_who_comes_to_an_interest_stream_is_there_before_anybody_goes(compare: Compare) -> None:
    interest = "retention: interest, "
    plan = compare(streams("b", interest) + TAKING_OVER, streams("a", interest)).plan()
    assert before(plan, "delete consumer/S/a") == {"create consumer/S/b"}


def test_who_goes_waits_until_whoever_takes_over_is_on_every_server(compare: Compare) -> None:
    interest = "retention: interest, num_replicas: 3, "
    plan = compare(streams("b", interest) + TAKING_OVER, streams("a", interest), cluster="C").plan()
    assert before(plan, "delete consumer/S/a") == {"create consumer/S/b", "see consumer/S/b everywhere"}


def test_who_goes_waits_for_a_server_that_may_not_know_who_stays(compare: Compare) -> None:
    """As an apply that ended between a creation and its gate leaves it; two that go share the one wait."""
    interest = "retention: interest, num_replicas: 3, "
    gone = "removed: [{address: consumer/S/a, reason: r}, {address: consumer/S/b, reason: r}]"
    live = f"streams: {{S: {{subjects: [s], {interest}consumers: {{a: {{}}, b: {{}}, c: {{}}}}}}}}"

    def waited(**peer: Any) -> list[str]:
        replicas = [{"name": "N2", "current": True, "active": 5}, {"name": "N3", **peer}]
        raw = {"consumers": {"S": {"c": {"cluster": {"leader": "N1", "replicas": replicas}}}}}
        plan = compare(streams("c", interest) + gone, live, cluster="C", raw=raw).plan()
        assert before(plan, "delete consumer/S/a") == before(plan, "delete consumer/S/b")
        return sorted(before(plan, "delete consumer/S/a"))

    assert waited(current=False, active=0) == ["see consumer/S/c everywhere before others give up"]
    assert waited(current=True, active=4_000_000_000) == waited(current=False, active=0)
    assert waited(current=True, active=900_000_000) == []


def filtered(retention: str = "interest", **filters: str) -> str:
    """A stream whose consumers filter by these subjects, and whose others are removed."""
    consumers = ", ".join(f"{name}: {{filter_subjects: [{subjects}]}}" for name, subjects in filters.items())
    more = f"retention: {retention}, num_replicas: 3" if retention == "interest" else f"retention: {retention}"
    return f"streams: {{S: {{subjects: [s.*], {more}, consumers: {{{consumers}}}}}}}\n"


def test_a_consumer_of_an_interest_stream_lets_go_when_somebody_takes(compare: Compare) -> None:
    plan = compare(filtered(a="s.2", b="s.1, s.3"), filtered(a="s.1, s.2"), cluster="C").plan()
    assert before(plan, "update consumer/S/a") == {"create consumer/S/b", "see consumer/S/b everywhere"}
    assert before(plan, "create consumer/S/b") == set()


def test_what_a_removed_consumer_took_is_taken_before_it_goes(compare: Compare) -> None:
    removed = "removed: [{address: consumer/S/a, reason: r}]"
    plan = compare(filtered(b="s.1, s.2") + removed, filtered(a="s.1", b="s.2"), cluster="C").plan()
    assert before(plan, "delete consumer/S/a") == {"update consumer/S/b", "see consumer/S/b everywhere"}


def test_consumers_of_an_interest_stream_that_exchange_subjects_have_both_for_a_moment(compare: Compare) -> None:
    plan = compare(filtered(a="s.2", b="s.1"), filtered(a="s.1", b="s.2"), cluster="C").plan()
    made = steps(plan)
    assert list(made) == [
        "update consumer/S/a, first stage",
        "see consumer/S/a everywhere, first stage",
        "update consumer/S/b",
        "see consumer/S/b everywhere",
        "update consumer/S/a",
    ]
    assert made["update consumer/S/a, first stage"].set == {"filter_subjects": ["s.2", "s.1"]}
    assert all(before(plan, then) >= {first} for first, then in pairwise(made))


def test_subjects_that_nobody_takes_are_let_go_without_waiting(compare: Compare) -> None:
    plan = compare(filtered(a="s.2", b="s.3"), filtered(a="s.1, s.2"), cluster="C").plan()
    assert before(plan, "update consumer/S/a") == before(plan, "create consumer/S/b") == set()
    limits = compare(filtered("limits", a="s.2", b="s.1"), filtered("limits", a="s.1"), cluster="C").plan()
    assert before(limits, "update consumer/S/a") == set()


def test_without_room_for_both_one_goes_before_the_other_comes(compare: Compare) -> None:
    interest = "retention: interest, max_consumers: 1, "
    plan = compare(streams("b", interest) + TAKING_OVER, streams("a", interest)).plan()
    assert before(plan, "create consumer/S/b") == {"delete consumer/S/a"}


FEWER = "streams: {S: {retention: interest, max_consumers: 3, consumers: {a: {ack_policy: explicit%s}, b: {ack_policy: explicit%s}%s}}}"


def test_consumers_that_apply_recreates_take_turns_in_the_last_place(compare: Compare) -> None:
    """An interest stream keeps the messages of each for a placeholder meanwhile."""
    wanted = FEWER % (", max_waiting: 9", ", max_waiting: 9", ", c: {ack_policy: explicit}")
    plan = compare(wanted, FEWER % ("", "", ""), server="2.15").plan(allow=[("CO106", "*")])
    first, then = (
        next(step.id for step in plan.steps if step.on[-1].startswith(f"{name}-") and step.id.startswith("create"))
        for name in "ab"
    )
    assert "end the replacement of consumer/S/a" in before(plan, then)
    assert "end the replacement of consumer/S/b" in before(plan, "create consumer/S/c")
    assert first in before(plan, then)


def test_consumers_are_recreated_while_their_stream_has_most_places(compare: Compare) -> None:
    few, many = (
        f"streams: {{S: {{retention: interest, max_consumers: {most}, consumers: {{a: {{ack_policy: explicit%s}}}}}}}}"
        for most in (1, 2)
    )
    done, recreated = "end the replacement of consumer/S/a", "delete consumer/S/a"
    fewer = compare(few % ", max_waiting: 9", many % "", server="2.15").plan(allow=[("CO106", "*")])
    assert done in before(fewer, "update stream/S")
    more = compare(many % ", max_waiting: 9", few % "", server="2.15").plan(allow=[("CO106", "*")])
    assert "update stream/S" in before(more, recreated)


def test_who_comes_is_there_before_a_stream_begins_to_drop_what_nobody_wants(compare: Compare) -> None:
    wanted = streams("b", "num_replicas: 3, retention: interest, ")
    plan = compare(wanted, streams("a", "num_replicas: 3, "), cluster="C").plan()
    assert before(plan, "update stream/S") == {"create consumer/S/b", "see consumer/S/b everywhere"}


def test_a_stream_gives_room_before_who_comes_and_begins_to_drop_after(compare: Compare) -> None:
    live = "streams: {S: {consumer_limits: {max_ack_pending: 10}}}"
    wanted = "streams: {S: {consumer_limits: {max_ack_pending: 50}, retention: interest, consumers: {b: {max_ack_pending: 40}}}}"
    plan = compare(wanted, live).plan()
    assert before(plan, "create consumer/S/b") == {"update stream/S, first stage"}
    assert before(plan, "update stream/S") == {"update stream/S, first stage", "create consumer/S/b"}
    assert steps(plan)["update stream/S"].set == {"retention": "interest"}


def test_a_default_that_follows_from_a_limit_is_the_new_one_also_where_retention_changes(compare: Compare) -> None:
    live = "streams: {S: {consumer_limits: {max_ack_pending: 10}}}"
    wanted = "streams: {S: {consumer_limits: {max_ack_pending: 5}, retention: interest, consumers: {b: {}}}}"
    plan = compare(wanted, live).plan()
    assert before(plan, "create consumer/S/b") == {"update stream/S, first stage"}
    assert steps(plan)["update stream/S, first stage"].set == {"consumer_limits": {"max_ack_pending": 5}}
    assert before(plan, "update stream/S") == {"update stream/S, first stage", "create consumer/S/b"}


def test_who_goes_or_lets_go_waits_until_a_stream_keeps_everything(compare: Compare) -> None:
    interest, limits = filtered(a="s.1", b="s.2"), filtered(b="s.1").replace("interest", "limits")
    plan = compare(limits + TAKING_OVER, interest, cluster="C").plan()
    assert before(plan, "delete consumer/S/a") == before(plan, "update consumer/S/b") == {"update stream/S"}


def test_elsewhere_nothing_is_lost_in_either_order(compare: Compare) -> None:
    plan = compare(streams("b") + TAKING_OVER, streams("a")).plan()
    assert before(plan, "delete consumer/S/a") == before(plan, "create consumer/S/b") == set()


TIERED = {
    "owner": "orders",
    "cluster": "C1",
    "usage": {"tiers": {"R1": {"limits": {"max_streams": 2}}, "R3": {"limits": {}}}},
}
LEDGER = {"streams": {"KV_reconciler": {"config": {"name": "KV_reconciler", "num_replicas": 3}}}}


def test_a_new_stream_waits_for_who_leaves_its_tier(compare: Compare) -> None:
    live = "streams: {A: {}, Z: {}}\n"
    plan = compare("streams: {A: {}, B: {}, Z: {num_replicas: 3}}\n", live, raw=LEDGER, **TIERED).plan()
    assert "update stream/Z" in before(plan, "create stream/B")


def test_a_tier_with_room_makes_nobody_wait(compare: Compare) -> None:
    live = "streams: {Z: {}}\n"
    plan = compare("streams: {B: {}, Z: {num_replicas: 3}}\n", live, raw=LEDGER, **TIERED).plan()
    assert "update stream/Z" not in before(plan, "create stream/B")


def test_bytes_of_a_tier_are_reserved_once_they_are_free_there(compare: Compare) -> None:
    usage = {"tiers": {"R1": {"limits": {"max_storage": 100}, "reserved_storage": 100}, "R3": {"limits": {}}}}
    live = "streams: {Z: {max_bytes: 100}}\n"
    wanted = "streams: {B: {max_bytes: 100}, Z: {max_bytes: 100, num_replicas: 3}}\n"
    plan = compare(wanted, live, raw=LEDGER, **{**TIERED, "usage": usage}).plan()
    assert "update stream/Z" in before(plan, "create stream/B")
