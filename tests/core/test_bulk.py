"""Entries of `removed` and `forget` that are about many: what they match, how many that may be, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date

import pytest

from reconciler.changes.change import Action
from reconciler.model.ledger.records import BUCKET
from reconciler.model.resource import Address
from reconciler.model.wire.snapshot import Entry
from tests.support.topologies import Scene

Compare = Callable[..., Scene]

LIVE = """
streams:
  KEPT: {subjects: [kept.>]}
  OLD_1: {subjects: [old.1], labels: {tenant: t17}, consumers: {c: {labels: {tenant: t17}}}}
  OLD_2: {subjects: [old.2], labels: {tenant: t18}}
  OLD_3: {subjects: [old.3], labels: {tenant: t17}}
kv_buckets:
  OLD_4: {labels: {tenant: t17}}
"""
KEPT = "streams: {KEPT: {subjects: [kept.>]}}\n"
NEW = "streams: {NEW: {subjects: [new.>]}}\n"
OLD = ["stream/OLD_1", "stream/OLD_2", "stream/OLD_3"]


def removed(on: str, upto: int = 9, more: str = "") -> str:
    return f"removed: [{{on: '{on}', upto: {upto}, reason: they left{more}}}]\n"


def forget(on: str, upto: int = 9) -> str:
    return f"forget: [{{on: '{on}', upto: {upto}}}]\n"


def with_(action: Action, scene: Scene) -> list[str]:
    return sorted(str(address) for address, change in scene.view().changes.items() if change.action is action)


def deleted(scene: Scene) -> list[str]:
    return with_(Action.DELETE, scene)


def refused(scene: Scene) -> dict[str, set[str]]:
    codes = {one.address: {v.code for v in one.verdicts if v.refuses} for one in scene.plan().changes}
    return {address: found for address, found in codes.items() if found}


def told(scene: Scene) -> list[tuple[str, str]]:
    return [(one.severity.value, one.message) for one in scene.plan().diagnostics if one.code == "XX916"]


@pytest.mark.parametrize(
    ("on", "gone"),
    [
        ("stream/OLD_*", OLD),
        ("stream/OLD_?", OLD),
        ("stream/OLD_[12]", OLD[:2]),
        ("stream/OLD_[!1]", OLD[1:]),
        ("*/OLD_*", ["consumer/OLD_1/c", "kv_bucket/OLD_4", *OLD]),
        ("*/*", ["consumer/OLD_1/c", "kv_bucket/OLD_4", *OLD]),
        ("consumer/*/c", ["consumer/OLD_1/c"]),
        ("tenant=t17", ["consumer/OLD_1/c", "kv_bucket/OLD_4", "stream/OLD_1", "stream/OLD_3"]),
        ("stream/OLD_2", ["stream/OLD_2"]),
    ],
)  # fmt: skip
def test_what_a_pattern_or_label_matches_is_deleted(compare: Compare, on: str, gone: list[str]) -> None:
    assert deleted(compare(KEPT + removed(on), LIVE)) == gone


def test_an_entry_of_forget_gives_up_what_it_matches(compare: Compare) -> None:
    scene = compare(KEPT + forget("stream/OLD_*"), LIVE)
    assert (with_(Action.FORGET, scene), deleted(scene)) == (OLD, [])


def test_the_reason_stands_at_each_object(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*"), LIVE)
    changes = [one for one in scene.plan().changes if one.action is Action.DELETE]
    assert [(one.reason, one.span and (one.span.line, one.span.column)) for one in changes] == [
        ("they left", (2, 11))
    ] * 3


def test_what_is_declared_is_never_matched(compare: Compare) -> None:
    scene = compare(LIVE + removed("*/*"), LIVE)
    assert (deleted(scene), scene.plan().is_empty) == ([], True)


def test_what_is_declared_as_external_is_never_deleted(compare: Compare) -> None:
    scene = compare("streams: {KEPT: {subjects: [kept.>]}, OLD_1: {external: true}}\n" + removed("stream/*"), LIVE)
    assert deleted(scene) == OLD[1:]


def test_what_is_declared_as_another_kind_is_never_deleted(compare: Compare) -> None:
    live = "streams: {KV_C: {subjects: ['$KV.C.>'], allow_rollup_hdrs: true, max_msgs_per_subject: 1}}"
    scene = compare("kv_buckets: {C: {}}\n" + removed("stream/*"), live)
    assert deleted(scene) == []
    assert with_(Action.FORGET, scene) == ["stream/KV_C"]
    beside = compare("kv_buckets: {C: {}}\n" + removed("stream/*", 1), live.replace("}}", "}, OLD: {subjects: [old]}}"))
    assert (deleted(beside), refused(beside)) == (["stream/OLD"], {})


def test_what_another_topology_owns_is_never_matched(compare: Compare) -> None:
    for owner in ("billing", None):
        scene = compare(NEW + removed("*/*", 99), LIVE, owner=owner)
        assert (deleted(scene), refused(scene)) == ([], {})


def test_what_another_topology_owns_beside_is_left_to_it(compare: Compare) -> None:
    theirs = {"stream/OLD_2": {"topology": "billing"}}
    assert deleted(compare(KEPT + removed("stream/OLD_*", 2), LIVE, records=theirs)) == [OLD[0], OLD[2]]


def test_to_take_over_an_owner_makes_no_pattern_reach_what_is_its(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*"), LIVE, owner="billing")
    options = replace(scene.options, take_over=("billing",))
    view = scene.view(options)
    assert not any(one.action is Action.DELETE for one in view.changes.values())


def test_what_belonged_to_a_former_name_of_this_topology_is_matched(compare: Compare) -> None:
    moved = "moved: [{from: topology/store, to: topology/orders}]\n"
    assert deleted(compare(KEPT + moved + removed("stream/OLD_*"), LIVE, owner="store")) == OLD


def test_another_repository_of_the_same_name_deletes_nothing_by_a_pattern(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*"), LIVE, owner_source="git@a:orders", source="git@b:orders")
    assert refused(scene).keys() >= set(OLD)
    assert all("XX102" in codes for codes in refused(scene).values())


def test_a_repository_that_was_taken_over_from_is_this_one(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_[23]"), LIVE, owner_source="git@a:orders", source="git@b:orders")
    changes = scene.view(replace(scene.options, take_over=("git@a:orders",))).changes
    gone = [change for change in changes.values() if change.action is Action.DELETE]
    assert [(str(one.address), one.owned and one.owned.taken_from) for one in gone] == [
        ("stream/OLD_2", "git@a:orders"), ("stream/OLD_3", "git@a:orders"),
    ]  # fmt: skip


def test_as_many_as_upto_says_may_go(compare: Compare) -> None:
    plan = compare(KEPT + removed("stream/OLD_[23]", 2), LIVE).plan()
    assert (plan.exit_code, len(plan.steps)) == (0, 2)


def test_of_more_than_upto_says_none_goes(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*", 2), LIVE)
    plan = scene.plan()
    assert (refused(scene), plan.steps, plan.exit_code) == ({one: {"XX111"} for one in OLD}, (), 4)
    (verdict, *_) = (v for one in plan.changes for v in one.verdicts if v.code == "XX111")
    assert verdict.message == (
        "`stream/OLD_*` in `removed` matches 3 objects, and its `upto` is 2: stream/OLD_1, stream/OLD_2, stream/OLD_3"
    )
    assert verdict.fix == "write a narrower `on`; if every one of them is meant, write upto: 3"
    assert str(verdict.span and verdict.span.line) + f":{verdict.span and verdict.span.column}" == "2:38"


def test_a_selection_makes_no_entry_match_less(compare: Compare) -> None:
    plan = compare(KEPT + removed("stream/OLD_*", 2), LIVE).plan(only=["stream/OLD_2"])
    assert (plan.steps, plan.exit_code) == ((), 4)


def test_no_consent_of_a_run_lifts_upto(compare: Compare) -> None:
    plan = compare(KEPT + removed("stream/OLD_*", 2), LIVE).plan(allow=[("XX111", "*")])
    assert (plan.steps, plan.exit_code) == ((), 4)


def test_of_more_than_upto_says_none_is_forgotten(compare: Compare) -> None:
    scene = compare(KEPT + forget("stream/OLD_*", 2), LIVE)
    assert refused(scene) == {one: {"XX111"} for one in OLD}


def test_each_entry_counts_for_itself(compare: Compare) -> None:
    two = "removed: [{on: stream/OLD_1, upto: 1, reason: r}, {on: 'stream/OLD_*', upto: 2, reason: r}]\n"
    assert set(refused(compare(KEPT + two, LIVE))) == set(OLD)
    assert refused(compare(KEPT + two.replace("upto: 2", "upto: 3"), LIVE)) == {}


def test_a_message_names_the_first_of_very_many(compare: Compare) -> None:
    live = "streams: {" + ", ".join(f"S{n:02}: {{subjects: [s.{n}]}}" for n in range(30)) + "}"
    first, *others = [
        v.message
        for one in compare(KEPT + removed("stream/S*", 7), live).plan().changes
        for v in one.verdicts
        if v.code == "XX111"
    ]
    assert first.endswith("`upto` is 7: stream/S00, stream/S01, stream/S02, stream/S03, stream/S04 and 25 more")
    assert (len(others), {one.partition("`upto` is 7")[2] for one in others}) == (29, {""})


def test_an_entry_for_the_very_object_goes_before(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*", 2) + "forget: [stream/OLD_2]\n", LIVE)
    assert (deleted(scene), with_(Action.FORGET, scene), refused(scene)) == ([OLD[0], OLD[2]], ["stream/OLD_2"], {})
    scene = compare(KEPT + "removed: [{address: stream/OLD_2, reason: r}]\n" + forget("stream/OLD_*", 2), LIVE)
    assert (deleted(scene), with_(Action.FORGET, scene)) == (["stream/OLD_2"], [OLD[0], OLD[2]])


def test_what_is_removed_and_forgotten_by_patterns_is_neither(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*") + forget("tenant=t18"), LIVE)
    assert refused(scene) == {"stream/OLD_2": {"XX112"}}
    (verdict,) = (v for one in scene.plan().changes for v in one.verdicts if v.code == "XX112")
    assert verdict.message.startswith(
        "`stream/OLD_*` in `removed` matches it, and so does `tenant=t18` in `forget` ("
    ), verdict


def test_what_has_another_name_now_is_not_removed_by_its_old_one(compare: Compare) -> None:
    live = "streams: {S: {subjects: [s], consumers: {old: {}}}}"
    moved = "streams: {S: {subjects: [s], consumers: {new: {}}}}\nmoved: [{from: consumer/S/old, to: consumer/S/new, reason: r}]\n"
    scene = compare(moved + removed("consumer/*/*"), live)
    assert deleted(scene) == []
    renamed = "streams: {NEW: {subjects: [old.2]}}\nmoved: [{from: stream/OLD_2, to: stream/NEW}]\n"
    assert "stream/OLD_2" not in deleted(compare(renamed + removed("stream/OLD_*"), LIVE))


def test_an_entry_ends_with_its_last_day(compare: Compare) -> None:
    late = compare(KEPT + removed("stream/OLD_*", 1, ", until: 2026-05-31"), LIVE)
    assert (deleted(late), refused(late)) == ([], {})
    assert late.desired.bulk[0].until == date(2026, 5, 31)
    reasons = {one.reason for one in late.plan().changes if one.address in OLD}
    assert reasons == {"its entry in `removed` ended on 2026-05-31"}
    assert deleted(compare(KEPT + removed("stream/OLD_*", 3, ", until: 2026-06-01"), LIVE)) == OLD


def test_an_entry_that_has_ended_stands_in_no_ones_way(compare: Compare) -> None:
    ended = removed("stream/OLD_*", 1, ", until: 2026-05-31").replace(
        "]\n", ", {on: tenant=t18, upto: 1, reason: r}]\n"
    )
    scene = compare(KEPT + ended, LIVE)
    assert (deleted(scene), refused(scene)) == (["stream/OLD_2"], {})


def test_of_what_is_gone_the_record_goes(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_*", 3), LIVE, raw={"streams": {"OLD_1": None}})
    assert (deleted(scene), with_(Action.FORGET, scene)) == (OLD[1:], ["stream/OLD_1"])


def test_what_nobody_can_see_is_unknown(compare: Compare) -> None:
    raw = {"streams": {"OLD_1": None}, "unknown": {"stream/OLD_1": "no leader"}}
    assert with_(Action.UNKNOWN, compare(KEPT + removed("stream/OLD_*"), LIVE, raw=raw))[-1] == "stream/OLD_1"


def test_protection_is_kept_from_patterns_too(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/OLD_2"), LIVE.replace("OLD_2: {", "OLD_2: {protect: true, "))
    assert refused(scene) == {"stream/OLD_2": {"XX103"}}


def test_consumers_that_no_entry_matches_need_consent_as_ever(compare: Compare) -> None:
    plan = compare(KEPT + removed("stream/OLD_1"), LIVE).plan()
    assert [v.code for one in plan.changes for v in one.verdicts if v.blocks] == ["ST310"]
    assert compare(KEPT + removed("*/OLD_1*"), LIVE).plan().exit_code == 0


def test_consent_to_many_reaches_what_an_entry_matches(compare: Compare) -> None:
    allow = "allow: [{code: ST310, on: tenant=t17, reason: r}]\n"
    plan = compare(KEPT + removed("stream/OLD_1") + allow, LIVE).plan()
    assert (plan.exit_code, [one.code for one in plan.diagnostics]) == (0, [])


def test_more_at_once_than_usual_needs_a_guard_as_ever(compare: Compare) -> None:
    live = "streams: {" + ", ".join(f"S{n}: {{subjects: [s.{n}]}}" for n in range(9)) + "}"
    assert {"XX108"} in refused(compare(KEPT + removed("stream/S*", 9), live)).values()


# What matches nothing


def marks(scene: Scene, *keys: str) -> Scene:
    entries = {BUCKET: {key: Entry(b"", 7, deleted=True) for key in keys}}
    return replace(scene, snapshot=replace(scene.snapshot, entries=entries))


def test_a_misspelt_pattern_is_an_error(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/ODL_*"), LIVE)
    assert told(scene) == [
        ("error", "`removed` names `stream/ODL_*`, which matches nothing that this topology owns and no longer declares; "
         "did you mean `stream/OLD_*`?"),
    ]  # fmt: skip
    assert scene.plan().exit_code == 1


def test_a_pattern_that_has_done_its_work_is_told_by_the_mark_of_a_record(compare: Compare) -> None:
    assert told(marks(compare(KEPT + removed("stream/ODL_*"), LIVE), "owned.stream.ODL_7")) == []


def test_a_misspelt_label_is_a_warning_for_it_may_be_one_that_has_done_its_work(compare: Compare) -> None:
    assert told(compare(KEPT + removed("tenat=t17"), LIVE)) == [
        ("warning", "`removed` names `tenat=t17`, which matches nothing that this topology owns and no longer declares; "
         "did you mean `tenant=t17`?"),
    ]  # fmt: skip


def test_when_everything_is_gone_nothing_is_said(compare: Compare) -> None:
    for on in ("stream/OLD_*", "tenant=t17", "*/NEVER"):
        assert told(compare(KEPT + removed(on) + forget(on), KEPT)) == []


def test_what_is_live_and_nobodys_is_named(compare: Compare) -> None:
    assert told(compare(KEPT + removed("stream/OLD_*"), LIVE, owner=None)) == [
        ("warning", "`removed` names `stream/OLD_*`, which matches nothing that this topology owns: stream/OLD_1 and 2 more may be "
         "another's"),
    ]  # fmt: skip


def test_where_a_pattern_matches_only_what_is_declared_that_is_said(compare: Compare) -> None:
    assert told(compare(LIVE + removed("stream/OLD_*"), LIVE)) == [
        ("warning", "`removed` names `stream/OLD_*`, which matches only what the files declare, such as stream/OLD_1, and leaves "
         "that alone"),
    ]  # fmt: skip


def test_where_nobody_can_read_who_owns_what_that_is_said(compare: Compare) -> None:
    scene = compare(KEPT + removed("tenant=t17"), LIVE, owner=None, ledger_known=False)
    assert deleted(scene) == []
    assert told(scene) == [
        ("warning", "`removed` names `tenant=t17`, and nobody can tell what that matches, because bucket reconciler could not be read"),
    ]  # fmt: skip


def test_an_entry_that_has_ended_is_not_looked_at(compare: Compare) -> None:
    assert told(compare(KEPT + removed("stream/ODL_*", 9, ", until: 2026-05-31"), LIVE)) == []


# Hostile names


@pytest.mark.parametrize("name", ["[a]", "?", "a=b", "!x", "[!a]", "\\", "ü", "a b", "😀", "]", "{}"])
def test_a_name_with_signs_of_patterns_is_matched_by_its_letters(compare: Compare, name: str) -> None:
    scene = compare(KEPT + removed("stream/*"), KEPT)
    at = Address.of("stream", name)
    owned = replace(scene.ledger[Address.of("stream", "KEPT")], labels={"odd": name})
    strange = replace(scene, ledger={**scene.ledger, at: owned})
    assert at in strange.view().changes
    labelled = replace(compare(KEPT + removed("odd=" + name.replace("\\", "\\")), KEPT), ledger=strange.ledger)
    assert at in labelled.view().changes


def test_a_name_with_a_slash_in_its_record_breaks_nothing(compare: Compare) -> None:
    scene = compare(KEPT + removed("stream/*", 1), KEPT)
    odd = dict.fromkeys(
        (Address.of("stream", "a/b"), Address.of("stream", "c")), scene.ledger[Address.of("stream", "KEPT")]
    )
    plan = replace(scene, ledger={**scene.ledger, **odd}).plan()
    assert {one.address for one in plan.changes if one.is_blocked} == {"stream/a/b", "stream/c"}
