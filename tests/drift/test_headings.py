"""Each field and each object under one heading: changed outside, waiting to be applied, gone, made anew, somebody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from reconciler.changes.change import FieldClass
from reconciler.journeys.drift.drift import Standing
from tests.drift.looking import APPLIED, drift_text, field, item, look, seen, with_record
from tests.support.topologies import scene

DAY = 86_400_000_000_000
WIDER = APPLIED.replace("max_age: 7d", "max_age: 9d")


def test_nothing_that_is_as_applied_is_listed(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert (found.items, found.exit_code, found.in_sync) == ((), 0, 1)


def test_a_field_somebody_changed_outside_drifted(tmp_path: Path) -> None:
    found = look(tmp_path, outside={"max_age": DAY})
    one = field(found, "max_age")
    assert (one.change.field_class, one.applied, one.drifted) == (FieldClass.DRIFTED, 7 * DAY, True)
    assert found.exit_code == 3


def test_a_field_only_the_file_changed_is_pending_and_no_drift(tmp_path: Path) -> None:
    found = look(tmp_path, desired=WIDER)
    assert (item(found).standing, field(found, "max_age").drifted, found.exit_code) == (Standing.PENDING, False, 0)


def test_a_field_both_changed_drifted_and_keeps_all_three_values(tmp_path: Path) -> None:
    found = look(tmp_path, desired=WIDER, outside={"max_age": DAY})
    one = field(found, "max_age")
    assert (one.change.field_class, one.applied, one.change.live, one.change.desired) == (
        FieldClass.BOTH, 7 * DAY, DAY, 9 * DAY,
    )  # fmt: skip
    assert found.exit_code == 3


def test_live_that_equals_the_file_is_in_sync_whatever_was_applied(tmp_path: Path) -> None:
    assert look(tmp_path, desired=WIDER, outside={"max_age": 9 * DAY}).exit_code == 0


def test_what_drifts_and_what_waits_stand_side_by_side(tmp_path: Path) -> None:
    found = look(tmp_path, desired=WIDER, outside={"max_msgs": 6})
    assert (field(found, "max_age").drifted, field(found, "max_msgs").drifted) == (False, True)


def test_a_key_inside_metadata_is_compared_with_that_key_as_applied(tmp_path: Path) -> None:
    applied = "streams:\n  S: {subjects: [s.>], metadata: {my.team: a}}\n"
    found = look(tmp_path, desired=applied, applied=applied, outside={"metadata": {"my.team": "b"}})
    assert (field(found, "metadata.my.team").applied, found.exit_code) == ("a", 3)


def test_what_was_applied_and_is_gone_is_missing(tmp_path: Path) -> None:
    found = look(tmp_path, raw={"streams": {"S": None}})
    assert (item(found).standing, found.exit_code) == (Standing.MISSING, 3)


def test_what_was_declared_since_and_is_not_there_is_pending(tmp_path: Path) -> None:
    found = look(tmp_path, desired=APPLIED + "  T: {subjects: [t.>]}\n")
    assert (item(found, "stream/T").standing, found.exit_code) == (Standing.PENDING, 0)


CALLED, RENAMED = (
    f"""
streams:
  S: {{subjects: [s.>], consumers: {{{name}: {{max_deliver: 5}}}}}}
"""
    for name in ("old", "new")
)
RENAMED += "moved: [{from: consumer/S/old, to: consumer/S/new, reason: clearer}]\n"


def test_what_the_file_renamed_since_is_pending_and_no_drift(tmp_path: Path) -> None:
    found = look(tmp_path, RENAMED, CALLED)
    one = item(found, "consumer/S/new")
    assert (one.standing, found.exit_code) == (Standing.PENDING, 0)
    assert one.reason == "it is consumer/S/old under a new name; not applied yet"


def test_what_somebody_changed_under_its_old_name_drifted(tmp_path: Path) -> None:
    found = look(tmp_path, RENAMED, CALLED, raw={"consumers": {"S": {"old": {"config": {"max_deliver": 6}}}}})
    one = field(found, "max_deliver", "consumer/S/new")
    assert (one.applied, one.drifted, found.exit_code) == (5, True, 3)


def test_what_was_made_anew_under_its_old_name_is_told(tmp_path: Path) -> None:
    """Nobody asks the new name who it was."""
    raw = {"consumers": {"S": {"old": {"created": "2027-05-02T00:00:00Z"}}}}
    was = scene(tmp_path, RENAMED, CALLED, raw=raw, server="2.15")
    found = seen(with_record(was, {"seen": NEW}, "consumer/S/old"))
    assert (item(found, "consumer/S/new").standing, found.exit_code) == (Standing.RECREATED, 3)


def test_where_nothing_is_remembered_the_file_is_what_counts(tmp_path: Path) -> None:
    found = look(tmp_path, desired=WIDER + "  T: {subjects: [t.>]}\n", owner=None)
    assert (item(found).standing, item(found, "stream/T").standing) == (Standing.CHANGED, Standing.MISSING)


def test_without_the_bucket_it_is_a_plain_difference_and_says_so(tmp_path: Path) -> None:
    """Nobody can tell whether it drifted or waits for an apply, and of what is as declared, whether anything was applied."""
    found = look(tmp_path, outside={"max_age": DAY}, known=False)
    assert (field(found, "max_age").change.field_class, found.exit_code, found.ledger_known) == (
        FieldClass.PLAIN, 1, False,
    )  # fmt: skip
    same = look(tmp_path / "same", known=False)
    assert same.exit_code == 1
    assert "Bucket `reconciler` could not be read" in drift_text(same), "nobody is left to guess why it ends with 1"


def test_what_another_topology_owns_is_foreign(tmp_path: Path) -> None:
    found = look(tmp_path, owner="billing")
    assert item(found).standing is Standing.FOREIGN
    assert "billing" in item(found).reason


def test_what_is_foreign_is_not_among_what_is_as_declared(tmp_path: Path) -> None:
    found = look(tmp_path, owner="billing")
    assert (found.counts["foreign"], found.in_sync) == (1, 0)


QUEUE = "streams: {S: {subjects: [s.*], groups: {g: {type: elastic, max_members: 2, members: [a]%s}}}}\n"


@pytest.mark.parametrize(
    ("edited", "said"),
    [({"max_age": DAY}, "max_age differs"), ({"discard": "old", "max_msgs": 5}, "discard, max_msgs differ")],
)
def test_a_group_whose_queue_somebody_edited_drifted_and_no_apply_puts_it_back(
    edited: dict[str, object], said: str, tmp_path: Path
) -> None:
    raw = {"streams": {"S-g": {"config": edited}}}
    found = look(tmp_path, QUEUE % "", QUEUE % "", raw=raw)
    one = item(found, "elastic_group/S/g")
    assert [(two.path, two.change.live, two.is_drift, two.is_sayable, two.stays) for two in one.fields] == [
        ("queue_stream", said, True, False, True)
    ]
    assert (found.exit_code, found.in_sync, one.is_restorable, one.has_drift_left) == (3, 1, False, True)


EARLY = QUEUE % ", partitioning_filters: [{filter: s.*, partitioning_wildcards: [1]}]"
OLD_FORM = '{"max_members":2,"filter":"s.*","partitioning_wildcards":[1],"members":["a"]}'


@pytest.mark.parametrize(
    ("queue", "said", "code"),
    [
        ({"config": {"max_age": DAY}}, ["max_age differs"], 3),
        ({"config": {"sources": None}}, ["sources differs"], 3),
        (None, ["missing"], 3),
        ({}, [], 0),
    ],
)
def test_a_queue_under_a_record_of_the_first_version_drifts_as_any_other(
    queue: dict[str, object] | None, said: list[str], code: int, tmp_path: Path
) -> None:
    raw = {"entries": {"elastic-consumer-groups": {"S.g": OLD_FORM}}, "streams": {"S-g": queue}}
    found = look(tmp_path, EARLY, EARLY, raw=raw)
    assert [(one.path, one.change.live) for it in found.items for one in it.fields] == [
        ("queue_stream", live) for live in said
    ]
    assert found.exit_code == code


def test_a_queue_left_as_found_and_one_in_another_implementations_form_are_no_drift(tmp_path: Path) -> None:
    left = QUEUE % ", unmanaged: [queue_stream]"
    assert look(tmp_path / "a", left, left, raw={"streams": {"S-g": {"config": {"max_age": DAY}}}}).exit_code == 0
    form = {
        "discard": "old",
        "sources": [{"name": "S", "subject_transforms": [{"src": ">", "dest": "{{partition(2)}}.>"}]}],
    }
    assert look(tmp_path / "b", QUEUE % "", QUEUE % "", raw={"streams": {"S-g": {"config": form}}}).exit_code == 0


def test_the_same_topology_from_another_repository_is_foreign(tmp_path: Path) -> None:
    found = look(tmp_path, owner_source="github.com/org/old", source="github.com/org/new")
    assert item(found).standing is Standing.FOREIGN


def test_what_is_ours_and_no_longer_declared_is_orphaned_and_no_drift(tmp_path: Path) -> None:
    found = look(
        tmp_path, desired="streams:\n  T: {external: true}\n", raw={"streams": {"T": {"config": {"name": "T"}}}}
    )
    assert (item(found).standing, found.exit_code) == (Standing.ORPHANED, 0)


def test_of_a_missing_bucket_and_its_stream_the_bucket_tells_it(tmp_path: Path) -> None:
    found = look(tmp_path, desired="kv_buckets: {B: {}}\nstreams: {KV_B: {external: true}}\n")
    assert {one.address for one in found.items} == {"stream/S", "kv_bucket/B"}


def test_a_stream_of_others_that_is_not_as_expected_is_not_counted_as_declared(tmp_path: Path) -> None:
    raw = {"streams": {"T": {"config": {"name": "T", "subjects": ["other"]}}}}
    for folder, is_there in (("there", True), ("missing", False)):
        desired = APPLIED + "  T: {external: true, subjects: [t]}\n"
        found = look(tmp_path / folder, desired=desired, raw=raw if is_there else {})
        (told,) = found.items
        assert (told.address, told.standing) == ("stream/T", Standing.CHANGED if is_there else Standing.MISSING)
        assert found.in_sync == 1


def test_what_cannot_be_read_is_unknown_and_ends_with_1(tmp_path: Path) -> None:
    found = look(tmp_path, raw={"streams": {"S": None}, "unknown": {"stream/S": "no answer in time"}})
    assert (item(found).standing, found.exit_code) == (Standing.UNKNOWN, 1)


def test_a_field_left_to_the_server_when_it_was_applied_never_drifts(tmp_path: Path) -> None:
    found = look(tmp_path, desired=WIDER, outside={"max_age": DAY}, record={"left": ("max_age",)})
    assert (field(found, "max_age").drifted, found.exit_code) == (False, 0)


def test_a_field_the_applying_tool_did_not_know_yet_never_drifts(tmp_path: Path) -> None:
    found = look(tmp_path, outside={"allow_msg_ttl": True}, record={"knows": "2.10"}, server="2.12")
    assert (field(found, "allow_msg_ttl").drifted, found.exit_code) == (False, 0)


NEW = {"created": "2026-05-02T00:00:00Z", "at": 100, "server": "2.15.0"}


@pytest.mark.parametrize(
    ("seen_then", "raw", "another"),
    [
        pytest.param({**NEW, "server": "2.12.8"}, {}, True, id="created differs and it went backwards"),
        pytest.param({**NEW, "server": "2.12.8"}, {"state": {"last_seq": 200}}, False, id="only created differs"),
        pytest.param({**NEW, "created": "2026-05-01T00:00:00Z"}, {}, False, id="only the position went back"),
        pytest.param({**NEW, "server": "2.12.8"}, {"config": {"storage": "memory"}}, False, id="memory starts anew"),
        pytest.param({}, {}, False, id="remembered before identities were"),
    ],
)
def test_recreated_needs_another_creation_and_a_state_that_went_backwards(
    tmp_path: Path, seen_then: dict[str, object], raw: dict[str, object], another: bool
) -> None:
    text = APPLIED if "config" not in raw else APPLIED.replace("subjects", "storage: memory, subjects")
    found = look(tmp_path, text, text, record={"seen": seen_then}, raw={"streams": {"S": raw}} if raw else {})
    assert [one.standing for one in found.items] == ([Standing.RECREATED] if another else [])


def test_from_2_15_on_another_creation_alone_says_so(tmp_path: Path) -> None:
    state = {"streams": {"S": {"state": {"last_seq": 200}}}}
    found = look(tmp_path, record={"seen": NEW}, raw=state, server="2.15")
    assert item(found).standing is Standing.RECREATED


def test_coverage_counts_what_anybody_declares(tmp_path: Path) -> None:
    extras = {name: {"config": {"name": name}, "state": {}} for name in ("X", "Y", "Z")}
    found = look(tmp_path, raw={"streams": extras})
    assert (found.coverage.extras, found.coverage.percent) == (("stream/X", "stream/Y", "stream/Z"), 25)


def test_one_extra_in_a_thousand_is_not_100_percent(tmp_path: Path) -> None:
    streams = "streams:\n" + "".join(f"  S{n}: {{}}\n" for n in range(999))
    found = seen(scene(tmp_path, streams, streams, raw={"streams": {"X": {"config": {"name": "X"}, "state": {}}}}))
    assert found.coverage.percent == 99


def test_the_window_that_servers_forget_is_nothing_of_a_mirror(tmp_path: Path) -> None:
    text = "streams: {O: {subjects: [o]}, M: {mirror: {name: O}}}"
    raw = {"streams": {"M": {"config": {"duplicate_window": 120_000_000_000}}}}
    plan = scene(tmp_path, text, text, raw=raw).plan()
    assert [change.fields for change in plan.changes] == []


@pytest.mark.parametrize(("server", "codes"), [("2.10.9", ["XX114"]), ("2.16", ["XX114"]), ("2.11", []), ("2.15", [])])
def test_a_server_that_no_rule_was_measured_on_is_told_in_drift_and_in_plans(
    server: str, codes: list[str], tmp_path: Path
) -> None:
    found = scene(tmp_path, APPLIED, APPLIED, server=server)
    assert ([finding.code for finding in seen(found).diagnostics], seen(found).exit_code) == (codes, 0)
    assert [finding.code for finding in found.plan().diagnostics] == codes
