"""Too much at once: bounds per kind, files that declare nothing, and the entry that lets it pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from reconciler.changes.kind import ANY
from reconciler.changes.plan import Plan
from reconciler.changes.verdict import Verdict
from reconciler.kinds import REGISTRY
from reconciler.model.diagnostic import Severity
from reconciler.report.codec.json import plan_json
from tests.support.plans import plan_from_json
from tests.support.topologies import Scene, scene

Compare = Callable[..., Scene]


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    return lambda desired, live=None, **more: scene(tmp_path, desired, live, **more)


def streams(number: int) -> str:
    return "streams:\n" + "".join(f"  S{n}: {{subjects: [s{n}]}}\n" for n in range(number))


def without(number: int, of: int, *, more: str = "") -> str:
    gone = "".join(f"- {{address: stream/S{n}, reason: retired}}\n" for n in range(of - number, of))
    return f"{more}{streams(of - number) if of > number else ''}removed:\n{gone}"


def codes(plan: Plan) -> set[str]:
    return {verdict.code for change in plan.changes for verdict in change.verdicts if verdict.blocks}


def warned(plan: Plan) -> list[str]:
    return [one.code for one in plan.diagnostics]


def guard(upto: int, **more: str) -> str:
    said = "".join(f", {key}: {value}" for key, value in more.items())
    return f"guards: [{{kind: stream, upto: {upto}, reason: retired{said}}}]\n"


def with_consumers(bodies: Iterable[str], beside: str = "") -> str:
    """Consumers c0, c1, … of stream S."""
    listed = ", ".join(f"c{n}: {body}" for n, body in enumerate(bodies))
    return f"streams: {{{beside}S: {{consumers: {{{listed}}}}}}}"


def test_every_kind_has_a_bound() -> None:
    assert [kind.name for kind in REGISTRY.kinds if kind.bound == ANY] == []


def test_a_few_may_always_go(compare: Compare) -> None:
    plan = compare(without(5, 6), streams(6)).plan()
    assert (codes(plan), plan.summary["delete"], len(plan.steps)) == (set(), 5, 5)


def test_more_than_that_and_than_a_share_is_refused(compare: Compare) -> None:
    plan = compare(without(6, 10), streams(10)).plan()
    assert (codes(plan), plan.summary["refused"], plan.steps, plan.exit_code) == ({"XX108"}, 6, (), 4)


def test_a_share_of_many_may_go(compare: Compare) -> None:
    assert codes(compare(without(8, 40), streams(40)).plan()) == set()
    assert codes(compare(without(9, 40), streams(40)).plan()) == {"XX108"}


def test_what_another_topology_owns_makes_no_share_larger(compare: Compare) -> None:
    """Nothing of ours is among the forty."""
    assert "XX108" in codes(compare(without(8, 40), streams(40), owner="others").plan())


def test_the_file_lets_it_pass_up_to_a_number(compare: Compare) -> None:
    assert codes(compare(without(6, 10, more=guard(6)), streams(10)).plan()) == set()
    assert codes(compare(without(7, 10, more=guard(6)), streams(10)).plan()) == {"XX108"}


def test_no_option_lets_it_pass(compare: Compare) -> None:
    plan = compare(without(6, 10), streams(10)).plan(allow=[("XX108", "stream/*")])
    assert codes(plan) == {"XX108"}


def test_a_selection_counts_what_it_selects(compare: Compare) -> None:
    found = compare(without(6, 10), streams(10))
    assert codes(found.plan(only=["stream/S5", "stream/S6"])) == set()


def test_a_guard_that_has_ended_guards_nothing_and_says_so(compare: Compare) -> None:
    plan = compare(without(6, 10, more=guard(6, until="2026-05-31")), streams(10)).plan()
    assert (codes(plan), warned(plan)) == ({"XX108"}, ["XX301"])


def test_a_guard_counts_on_its_last_day(compare: Compare) -> None:
    plan = compare(without(6, 10, more=guard(6, until="2026-06-01")), streams(10)).plan()
    assert (codes(plan), warned(plan)) == (set(), [])


def test_a_guard_that_nothing_needs_is_said(compare: Compare) -> None:
    assert warned(compare(guard(6) + streams(3), streams(3)).plan()) == ["XX302"]


def test_a_guard_that_ends_by_itself_may_wait_until_then(compare: Compare) -> None:
    assert warned(compare(guard(6, until="2026-06-30") + streams(3), streams(3)).plan()) == []


def refusals(plan: Plan) -> list[Verdict]:
    return [verdict for change in plan.changes for verdict in change.verdicts if verdict.refuses]


def test_the_refusal_says_how_many_go_where_it_is_written_and_what_to_write(compare: Compare) -> None:
    first, *_ = refusals(compare(without(7, 10, more=guard(6)), streams(10)).plan())
    assert (first.code, first.name, first.address, first.quantities) == (
        "XX108", "mass-change", "stream/S3", {"going": 7, "owned": 10},
    )  # fmt: skip
    assert (
        first.message
        == "this would delete or replace 7 of 10 owned resources of kind stream at once, and 6 are allowed"
    )
    assert first.span is not None
    assert first.span.line == 7
    assert first.fix == (
        "check the path, the branch and the account, or take fewer in each run with --only; if it is meant, write into the file\n"
        "  guards: [{kind: stream, upto: 7, reason: …}]"
    )


def test_the_refusal_of_files_that_declare_nothing_offers_no_selection(compare: Compare) -> None:
    (only,) = refusals(compare(without(1, 1), streams(1)).plan())
    assert (only.code, only.name) == ("XX109", "nothing-declared")
    assert only.message.endswith("this would delete or replace 1 of 1 owned resources of kind stream at once")
    assert only.fix == (
        "check the path, the branch and the account; if it is meant, write into the file\n"
        "  guards: [{kind: stream, upto: 1, reason: …}]"
    )


def test_of_two_guards_the_one_that_allows_more_counts(compare: Compare) -> None:
    entry = "{{kind: stream, upto: {}, reason: retired}}"
    for first, second in ((6, 7), (7, 6)):
        both = f"guards: [{entry.format(first)}, {entry.format(second)}]\n"
        assert codes(compare(without(7, 10, more=both), streams(10)).plan()) == set()


def test_a_guard_that_allows_what_may_go_anyway_is_not_needed(compare: Compare) -> None:
    assert warned(compare(without(5, 10, more=guard(6)), streams(10)).plan()) == ["XX302"]
    assert warned(compare(without(6, 10, more=guard(6)), streams(10)).plan()) == []


def test_a_leftover_says_what_it_was_for_and_where_it_stands(compare: Compare) -> None:
    (ended,) = compare(guard(6, until="2026-05-31") + streams(3), streams(3)).plan().diagnostics
    (unused,) = compare(guard(1_200) + streams(3), streams(3)).plan().diagnostics
    assert (ended.name, ended.message) == (
        "consent-expired", "the guard of kind stream ended on 2026-05-31",
    )  # fmt: skip
    assert (unused.name, unused.message) == (
        "consent-unused", "the guard of kind stream allows 1_200 at once, and this plan destroys no more than usual",
    )  # fmt: skip
    for one in (ended, unused):
        assert one.severity is Severity.WARNING
        assert one.fix == "remove it, so that it never covers a change nobody thought of"
        assert one.span is not None
        assert (one.span.line, one.span.column) == (1, 10)


LOSSY = "streams: {S: {subjects: [s], max_msgs: 10, allow: [{code: ST301, to: 10, reason: r}]}}"
STORED = {"streams": {"S": {"state": {"messages": 50, "first_seq": 1, "last_seq": 50}}}}


def test_consent_takes_nothing_from_what_is_not_ours(compare: Compare) -> None:
    """Nor does it stop what takes nothing, or what is ours."""
    live, harmless = "streams: {S: {subjects: [s]}}", "streams: {S: {subjects: [s], max_msgs: 100, description: d}}"
    (refused,) = refusals(compare(LOSSY, live, raw=STORED, owner=None).plan())
    assert (refused.code, refused.name, refused.address, refused.path) == (
        "XX104", "removal-of-unowned", "stream/S", "max_msgs",
    )  # fmt: skip
    assert refused.message == (
        "this topology does not own it, and apply deletes no messages or positions of what a topology does not own (ST301)"
    )
    assert refused.fix == "declare it as it is and apply once to adopt it; then change it"
    assert refused.span is not None
    assert refusals(compare(LOSSY, live, raw=STORED).plan()) == []
    assert refusals(compare(harmless, live, raw=STORED, owner=None).plan()) == []


def test_where_nobody_can_read_who_owns_it_that_is_the_reason(compare: Compare) -> None:
    found = compare(LOSSY, "streams: {S: {subjects: [s]}}", raw=STORED, owner=None, ledger_known=False)
    (refused,) = refusals(found.plan())
    assert refused.message.startswith("its owner could not be read (no access to bucket reconciler)")
    assert refused.fix == "plan and apply as a user who may use bucket reconciler"


def test_what_declares_nothing_deletes_nothing(compare: Compare) -> None:
    plan = compare(without(1, 1), streams(1)).plan()
    assert (codes(plan), plan.steps) == ({"XX109"}, ())


def test_emptied_sections_delete_nothing_and_list_what_is_kept(compare: Compare) -> None:
    plan = compare("streams:\n", streams(3)).plan()
    assert (plan.summary["orphan"], plan.steps, plan.records) == (3, (), {})


def test_a_topology_is_taken_down_by_saying_so(compare: Compare) -> None:
    plan = compare(without(2, 2, more=guard(2)), streams(2)).plan()
    assert (codes(plan), plan.summary["delete"]) == (set(), 2)


LIVE = with_consumers(["{}"] * 25, "A: {}, ")
GONE = "".join(f"- {{address: consumer/S/c{n}, reason: r}}\n" for n in range(25))


def test_consumers_that_go_with_their_stream_are_that_one_stream(compare: Compare) -> None:
    plan = compare(f"streams: {{A: {{}}}}\nremoved:\n- {{address: stream/S, reason: r}}\n{GONE}", LIVE).plan()
    assert (codes(plan), [step.id for step in plan.steps]) == (set(), ["delete stream/S"])


def test_consumers_by_themselves_have_a_bound_of_their_own(compare: Compare) -> None:
    assert codes(compare(f"streams: {{A: {{}}, S: {{}}}}\nremoved:\n{GONE}", LIVE).plan()) == {"XX108"}


def test_replacements_count(compare: Compare) -> None:
    """Each with the consent it needs."""
    many = range(21)
    live = with_consumers(["{ack_policy: explicit}"] * 21)
    wanted = with_consumers(["{ack_policy: all, allow: [{code: CO104, to: all, reason: r}]}"] * 21)
    raw = {
        "consumers": {"S": {f"c{n}": {"ack_floor": {"stream_seq": 1}, "delivered": {"stream_seq": 1}} for n in many}}
    }
    plan = compare(wanted, live, raw=raw, server="2.14").plan()
    assert "XX108" in codes(plan), [v.message for c in plan.changes for v in c.verdicts]


@pytest.mark.parametrize(("declared", "why"), [("", "XX109"), ("streams: {A: {}}\n", "XX103")])
def test_what_goes_along_with_what_is_refused_waits(compare: Compare, declared: str, why: str) -> None:
    """Under --partial it would otherwise be deleted alone, or forgotten."""
    gone = f"{declared}removed: [{{address: stream/S, reason: r}}, {{address: consumer/S/c, reason: r}}]"
    live = (
        "streams: {A: {}, S: {protect: true, consumers: {c: {}}}}" if declared else "streams: {S: {consumers: {c: {}}}}"
    )
    plan = compare(gone, live).plan()
    refused = {
        change.address: [verdict.code for verdict in change.verdicts if verdict.blocks] for change in plan.changes
    }
    assert refused == {"stream/S": [why], "consumer/S/c": []}
    assert {change.address: change.blocked_by for change in plan.changes}["consumer/S/c"] == "stream/S"
    assert (plan.steps, plan.records) == ((), {})


def test_a_plan_with_such_a_refusal_comes_back_from_json(compare: Compare) -> None:
    text = plan_json(compare(without(6, 10), streams(10)).plan())
    assert plan_json(plan_from_json(text)) == text
