"""What a plan holds: what is selected, what is consented, what is remembered; and whether this is the right place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from reconciler.changes.change import Action
from reconciler.changes.plan import Plan
from reconciler.engine.compare import target_mismatches
from reconciler.engine.pairing import take_over as handover
from reconciler.model.ledger.records import Owned
from reconciler.model.run_options import RunOptions
from reconciler.model.topology import Expect
from reconciler.model.wire.snapshot import Target
from reconciler.model.wire.version import Version
from tests.support.topologies import TODAY, Scene

Compare = Callable[..., Scene]

TWO = "streams: {A: {subjects: [a], labels: {team: x}}, B: {subjects: [b], labels: {team: z}, consumers: {c: {}}}}"


def addresses(plan: Plan) -> list[str]:
    return [change.address for change in plan.changes]


def record(plan: Plan) -> Owned:
    (change,) = plan.changes
    assert change.record is not None
    return change.record


def test_changes_stand_ordered_by_address(compare: Compare) -> None:
    assert addresses(compare(TWO).plan()) == ["consumer/B/c", "stream/A", "stream/B"]


def test_only_what_matches_a_pattern_is_planned_and_the_rest_is_counted(compare: Compare) -> None:
    plan = compare(TWO).plan(only=["stream/A"])
    assert (addresses(plan), plan.hidden) == (["stream/A"], 2)


def test_excluded_changes_are_counted_and_not_done(compare: Compare) -> None:
    plan = compare(TWO).plan(exclude=["stream/A"])
    assert (addresses(plan), plan.hidden) == (["consumer/B/c", "stream/B"], 1)
    assert "create stream/A" not in [step.id for step in plan.steps]


def test_a_label_selects_what_carries_it(compare: Compare) -> None:
    assert addresses(compare(TWO).plan(only=["team=x"])) == ["stream/A"]


def test_what_a_selected_change_needs_and_does_not_select_makes_it_wait(compare: Compare) -> None:
    (change,) = compare(TWO).plan(only=["consumer/*"]).changes
    assert change.blocked_by == "stream/B"


def test_hidden_refusals_do_not_make_the_plan_fail(compare: Compare) -> None:
    plan = compare("streams: {A: {subjects: [a]}, B: {subjects: [b], sealed: true}}").plan(only=["stream/A"])
    assert plan.exit_code == 0


def test_what_is_kept_is_only_counted(compare: Compare) -> None:
    plan = compare(TWO, TWO).plan()
    assert (plan.changes, plan.kept, plan.is_empty) == ((), 3, True)


def test_a_plan_with_a_refusal_ends_with_4(compare: Compare) -> None:
    assert compare("streams: {A: {subjects: [a], sealed: true}}").plan().exit_code == 4


def test_a_plan_with_something_unknown_ends_with_1_even_beside_a_refusal(compare: Compare) -> None:
    desired = "streams: {A: {subjects: [a], sealed: true}, B: {subjects: [b]}}"
    assert compare(desired, raw={"unknown": {"stream/B": "timeout"}}).plan().exit_code == 1


def test_a_refused_change_counts_as_refused_alone(compare: Compare) -> None:
    summary = compare("streams: {A: {subjects: [a], sealed: true}}").plan().summary
    assert (summary["refused"], summary["create"]) == (1, 0)


LIVE = "streams: {A: {subjects: [a]}}"
SEAL = "streams: {A: {subjects: [a], deny_purge: true%s}}"


def test_consent_in_the_file_lets_the_change_go(compare: Compare) -> None:
    plan = compare(SEAL % ", allow: [{code: ST206, to: true, reason: audit}]", LIVE).plan()
    assert [step.id for step in plan.steps] == ["update stream/A"]
    assert plan.diagnostics == ()


def test_consent_for_one_run_lets_the_change_go(compare: Compare) -> None:
    plan = compare(SEAL % "", LIVE).plan(allow=[("ST206", "stream/*")])
    assert [step.id for step in plan.steps] == ["update stream/A"]


def test_consent_for_one_run_covers_only_the_addresses_it_names(compare: Compare) -> None:
    assert compare(SEAL % "", LIVE).plan(allow=[("ST206", "stream/B")]).steps == ()


def test_a_command_line_cannot_allow_what_is_refused_for_good(compare: Compare) -> None:
    plan = compare("streams: {A: {subjects: [a], sealed: true}}").plan(allow=[("ST108", "stream/A")])
    assert plan.exit_code == 4


def test_consent_that_nothing_needs_is_a_warning_at_its_place(compare: Compare) -> None:
    (found,) = (
        compare("streams:\n  A:\n    subjects: [a]\n    allow:\n    - {code: ST101, reason: r}", LIVE)
        .plan()
        .diagnostics
    )
    assert found.code == "XX302"
    assert found.span is not None
    assert found.span.line == 5


def test_what_is_remembered_is_what_the_file_manages(compare: Compare) -> None:
    desired = (
        "streams: {A: {subjects: [a], max_age: 7d, placement: {cluster: C}, unmanaged: [placement], protect: true}}"
    )
    found = record(compare(desired, source="git.example.org/orders").plan())
    assert found.fields == {"subjects": ["a"], "max_age": 604_800_000_000_000}
    assert (found.filled, found.left) == ({"duplicate_window": 120_000_000_000}, ("placement",))
    assert (found.topology, found.source, found.protected) == ("orders", "git.example.org/orders", True)
    assert found.expected == {}, "the stock default is what nobody has to explain"


def test_what_explains_a_filled_value_is_remembered_with_it(compare: Compare) -> None:
    found = record(compare("streams: {A: {subjects: [a], max_age: 1m}}").plan())
    assert (found.filled, found.expected) == ({"duplicate_window": 60_000_000_000},) * 2


FROM = {"stream/A": {"source": "git.example.org/orders"}}
EDITED = "streams: {A: {subjects: [a], max_age: 7d}}"


def test_where_git_says_nothing_it_is_still_known_where_it_was_applied_from(compare: Compare) -> None:
    assert record(compare(EDITED, LIVE, records=FROM).plan()).source == "git.example.org/orders"


def test_what_is_taken_over_no_longer_comes_from_where_it_did(compare: Compare) -> None:
    said = compare(EDITED, LIVE, records=FROM)
    ledger = handover.take_over_records(
        said.desired, said.ledger, RunOptions(take_over=("git.example.org/orders",), today=TODAY)
    )
    assert record(replace(said, ledger=ledger).plan()).source is None


def test_of_metadata_only_the_files_own_keys_are_remembered(compare: Compare) -> None:
    raw = {"streams": {"A": {"config": {"metadata": {"theirs": "x"}}}}}
    desired = "streams: {A: {subjects: [a], metadata: {ours: z}}}"
    assert record(compare(desired, LIVE, raw=raw).plan()).fields["metadata"] == {"ours": "z"}


def test_a_metadata_key_left_as_found_is_not_remembered(compare: Compare) -> None:
    desired = "streams: {A: {subjects: [a], metadata: {ours: z, app.io/name: a}, unmanaged: [metadata.app.io/name]}}"
    assert record(compare(desired).plan()).fields["metadata"] == {"ours": "z"}


def test_nothing_is_remembered_of_someone_elses_stream(compare: Compare) -> None:
    plan = compare("streams: {A: {external: true}}").plan()
    assert [change.record for change in plan.changes] == [None]


def test_nothing_is_remembered_of_what_is_removed(compare: Compare) -> None:
    plan = compare(
        "guards: [{kind: stream, upto: 1, reason: r}]\nremoved: [{address: stream/A, reason: r}]", LIVE
    ).plan()
    assert [(change.action, change.record) for change in plan.changes] == [(Action.DELETE, None)]


def test_a_change_of_what_is_not_yet_ours_says_that_it_adopts(compare: Compare) -> None:
    (change,) = compare("streams: {A: {subjects: [a], max_age: 1d}}", LIVE, owner=None).plan().changes
    assert (change.action, change.adopts) == (Action.UPDATE, True)


HERE = Target(version=Version(2, 12, 3), account="ORDERS", cluster="prod-eu", domain="hub")


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ({}, []),
        ({"cluster": "prod-eu", "domain": "hub", "account": "ORDERS", "min_server": "2.12"}, []),
        ({"cluster": "prod-us"}, ["cluster"]),
        ({"account": "SHOP", "domain": "leaf"}, ["domain", "account"]),
        ({"min_server": "2.12.4"}, ["min_server"]),
    ],
)
def test_a_place_that_is_not_as_expected_is_wrong(expected: dict[str, str], wrong: list[str]) -> None:
    assert [key for key, _ in target_mismatches(Expect(**expected), HERE)] == wrong


def test_what_is_wrong_names_what_was_expected_and_what_answered() -> None:
    ((_, message),) = target_mismatches(Expect(cluster="prod-us"), HERE)
    assert message == "expected cluster `prod-us`, but `prod-eu` answered"
