"""What differs, what only looks different, and who moved it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.changes.change import Action, Change, FieldClass
from reconciler.kinds.fields.canonical_form import patch
from reconciler.model.resource import Config, ServerDefault
from tests.core.making import applied, compared, found, wanted

SMALL = st.integers(0, 2)
CONFIGS = st.dictionaries(
    st.sampled_from(["max_age", "subjects", "metadata", "placement", "sources"]),
    st.none(),
    max_size=5,
).flatmap(
    lambda names: st.fixed_dictionaries(
        {
            name: {
                "max_age": st.integers(1, 3),
                "subjects": st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
                "metadata": st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), min_size=1),
                "placement": st.fixed_dictionaries({"tags": st.lists(st.sampled_from("abc"), min_size=1)}),
                "sources": st.lists(st.fixed_dictionaries({"name": st.sampled_from("AB")}), min_size=1, max_size=2),
            }[name]
            for name in names
        }
    )
)


def paths(change: Change) -> list[str]:
    return [field.path for field in change.fields]


def after(change: Change, live: Config) -> dict[str, Any]:
    """Live with the patch of the change applied, as an executor does it."""
    set_, unset = patch(change)
    body = {**live, **set_}
    if "metadata" in set_:
        body["metadata"] = {**live.get("metadata", {}), **set_["metadata"]}
    for path in unset:
        if path.startswith("metadata."):
            body["metadata"] = {k: v for k, v in body["metadata"].items() if k != path.removeprefix("metadata.")}
        else:
            body.pop(path, None)
    return {name: value for name, value in body.items() if value != {}}


def test_what_is_not_live_is_created() -> None:
    assert compared(wanted({"max_age": 1}), None).action is Action.CREATE


def test_what_equals_live_and_is_ours_is_kept() -> None:
    assert compared(wanted({"max_age": 1}), {"max_age": 1}, applied({"max_age": 1})).action is Action.KEEP


def test_what_equals_live_and_is_not_yet_ours_is_adopted() -> None:
    assert compared(wanted({"max_age": 1}), {"max_age": 1}).action is Action.ADOPT


def test_what_differs_is_updated_whether_ours_or_not() -> None:
    assert compared(wanted({"max_age": 1}), {"max_age": 2}).action is Action.UPDATE


def test_a_field_the_file_leaves_out_goes_back_to_its_default() -> None:
    (field,) = compared(wanted({}), {"max_age": 5}).fields
    assert (field.path, field.live, field.desired) == ("max_age", 5, None)


WINDOW = {"duplicate_window": ServerDefault(120, most=120)}


def test_a_field_left_out_equals_what_a_stock_server_fills_in() -> None:
    assert compared(wanted({}, filled=WINDOW), {"duplicate_window": 120}).action is Action.ADOPT


@pytest.mark.parametrize("live", [1, 119, 121, None])
def test_a_field_left_out_differs_from_anything_else(live: int | None) -> None:
    (field,) = compared(wanted({}, filled=WINDOW), {"duplicate_window": live} if live else {}).fields
    assert (field.live, field.desired, field.filled) == (live, 120, "default")


def test_a_field_left_out_equals_what_this_server_filled_in_when_we_wrote_it() -> None:
    owned = applied({}, filled={"duplicate_window": 60})
    assert compared(wanted({}, filled=WINDOW), {"duplicate_window": 60}, owned).action is Action.KEEP


def test_what_this_server_filled_in_is_what_it_goes_back_to() -> None:
    owned = applied({}, filled={"duplicate_window": 60})
    change = compared(wanted({}, filled=WINDOW), {"duplicate_window": 120}, owned)
    assert change.desired is not None
    assert change.desired.leaves_to_server("duplicate_window")
    (field,) = change.fields
    assert (field.desired, field.field_class) == (60, FieldClass.DRIFTED)


def test_a_value_that_the_file_said_once_is_not_what_the_server_fills_in() -> None:
    owned = applied({"duplicate_window": 60})
    (field,) = compared(wanted({}, filled=WINDOW), {"duplicate_window": 60}, owned).fields
    assert (field.desired, field.field_class) == (120, FieldClass.CONFIG)


def test_what_the_server_filled_in_is_forgotten_where_it_would_not_fill_it_in_any_more() -> None:
    owned = applied({}, filled={"duplicate_window": 300})
    (field,) = compared(wanted({}, filled=WINDOW), {"duplicate_window": 300}, owned).fields
    assert field.desired == 120


def test_what_something_else_decided_then_is_no_limit_of_the_server() -> None:
    owned = applied({"max_age": 60}, filled={"duplicate_window": 60}, expected={"duplicate_window": 60})
    change = compared(wanted({}, filled=WINDOW), {"max_age": 60, "duplicate_window": 60}, owned)
    assert [(one.path, one.desired, one.field_class) for one in change.fields] == [
        ("duplicate_window", 120, FieldClass.CONFIG), ("max_age", None, FieldClass.CONFIG),
    ]  # fmt: skip


def test_less_than_what_something_else_decided_then_is_a_limit_of_the_server() -> None:
    owned = applied({"max_age": 60}, filled={"duplicate_window": 30}, expected={"duplicate_window": 60})
    change = compared(wanted({}, filled=WINDOW), {"max_age": 60, "duplicate_window": 30}, owned)
    assert [one.path for one in change.fields] == ["max_age"]


def test_the_order_of_an_unordered_list_does_not_differ() -> None:
    assert compared(wanted({"subjects": ["b", "a"]}), {"subjects": ["a", "b"]}).fields == ()


def test_an_unordered_list_keeps_the_live_order_in_what_is_sent() -> None:
    change = compared(wanted({"subjects": ["b", "a"], "max_age": 1}), {"subjects": ["a", "b"]})
    assert change.becomes("subjects") == ["a", "b"]


def test_an_unordered_list_with_another_item_differs_as_a_whole() -> None:
    (field,) = compared(wanted({"subjects": ["b", "a", "c"]}), {"subjects": ["a", "b"]}).fields
    assert (field.path, field.live, field.desired) == ("subjects", ["a", "b"], ["b", "a", "c"])


def test_a_repeated_item_is_not_the_same_as_a_single_one() -> None:
    assert paths(compared(wanted({"subjects": ["a", "a"]}), {"subjects": ["a", "b"]})) == ["subjects"]


def test_the_order_of_an_ordered_list_differs() -> None:
    assert paths(compared(wanted({"backoff": [2, 1]}), {"backoff": [1, 2]})) == ["backoff"]


def test_the_order_of_an_unordered_list_inside_a_mapping_does_not_differ() -> None:
    desired = wanted({"placement": {"cluster": "C", "tags": ["b", "a"]}})
    assert compared(desired, {"placement": {"cluster": "C", "tags": ["a", "b"]}}).fields == ()


def test_metadata_that_somebody_else_wrote_is_kept() -> None:
    change = compared(wanted({"metadata": {"team": "a"}}), {"metadata": {"theirs": "x", "team": "a"}})
    assert change.fields == ()


def test_metadata_that_we_applied_and_the_file_dropped_goes() -> None:
    change = compared(wanted({}), {"metadata": {"team": "a", "theirs": "x"}}, applied({"metadata": {"team": "a"}}))
    assert paths(change) == ["metadata.team"]
    assert patch(change) == ({"metadata": {"theirs": "x"}}, ("metadata.team",))


def test_metadata_of_the_file_wins_over_live() -> None:
    (field,) = compared(wanted({"metadata": {"team": "b"}}), {"metadata": {"team": "a"}}).fields
    assert (field.path, field.live, field.desired) == ("metadata.team", "a", "b")


def test_the_last_metadata_of_ours_is_unset_key_by_key() -> None:
    change = compared(wanted({}), {"metadata": {"team": "a"}}, applied({"metadata": {"team": "a"}}))
    assert patch(change) == ({}, ("metadata.team",))


def test_an_unmanaged_field_is_left_as_found() -> None:
    assert compared(wanted({"max_age": 1}, unmanaged=("max_age",)), {"max_age": 2}).fields == ()


def test_an_unmanaged_field_that_is_absent_live_stays_absent() -> None:
    assert compared(wanted({"max_age": 1}, unmanaged=("max_age",)), {}).fields == ()


def test_an_unmanaged_path_inside_a_mapping_leaves_the_rest_managed() -> None:
    desired = wanted({"placement": {"cluster": "C", "preferred": "n1"}}, unmanaged=("placement.preferred",))
    assert paths(compared(desired, {"placement": {"cluster": "D", "preferred": "n2"}})) == ["placement.cluster"]


def test_an_unmanaged_path_takes_what_live_lacks_out_of_what_is_wanted() -> None:
    desired = wanted({"placement": {"cluster": "C", "preferred": "n1"}}, unmanaged=("placement.preferred",))
    assert paths(compared(desired, {})) == ["placement"]
    assert compared(desired, {"placement": {"cluster": "C"}}).fields == ()
    assert compared(desired, {"placement": {"cluster": "C"}}).becomes("placement") == {"cluster": "C"}


def test_an_unmanaged_path_that_is_all_there_is_leaves_nothing_to_compare() -> None:
    desired = wanted({"placement": {"preferred": "n1"}}, unmanaged=("placement.preferred",))
    change = compared(desired, {})
    assert (change.action, change.becomes("placement")) == (Action.ADOPT, None)


def test_an_unmanaged_path_goes_as_deep_as_it_says() -> None:
    live = {"mirror": {"name": "O", "external": {"api": "$JS.theirs.API", "deliver": "theirs"}}}
    desired = wanted({"mirror": {"name": "O", "external": {"api": "$JS.ours.API"}}}, unmanaged=("mirror.external.api",))
    assert paths(compared(desired, live)) == ["mirror.external.deliver"]


def test_an_unmanaged_metadata_key_is_left_as_found() -> None:
    desired = wanted({"metadata": {"team": "a"}}, unmanaged=("metadata.state",))
    owned = applied({"metadata": {"team": "a", "state": "1"}})
    assert compared(desired, {"metadata": {"team": "a", "state": "2"}}, owned).fields == ()


@pytest.mark.parametrize("said", [{"metadata": {"app.kubernetes.io/name": "ours"}}, {}], ids=["said", "not said"])
def test_an_unmanaged_metadata_key_may_hold_dots(said: dict[str, Any]) -> None:
    desired = wanted(said, unmanaged=("metadata.app.kubernetes.io/name",))
    owned = applied({"metadata": {"app.kubernetes.io/name": "ours"}})
    assert compared(desired, {"metadata": {"app.kubernetes.io/name": "theirs"}}, owned).fields == ()


SHIFTED = {
    "the first goes": ("AB", "B", ["sources"]), "one comes before": ("A", "BA", ["sources"]),
    "the last goes": ("AB", "A", ["sources[1]"]), "one comes last": ("A", "AB", ["sources[1]"]),
    "another one": ("AB", "AC", ["sources[1].name"]),
}  # fmt: skip


@pytest.mark.parametrize(("before", "then", "named"), SHIFTED.values(), ids=SHIFTED.keys())
def test_a_list_whose_items_move_differs_as_a_whole(before: str, then: str, named: list[str]) -> None:
    live, desired = ({"sources": [{"name": one} for one in said]} for said in (before, then))
    assert paths(compared(wanted(desired), live)) == named


def test_a_difference_deep_inside_is_named_by_its_path() -> None:
    (field,) = compared(
        wanted({"sources": [{"name": "A"}, {"name": "B", "filter_subject": "b.>"}]}),
        {"sources": [{"name": "A"}, {"name": "B", "filter_subject": "x.>"}]},
    ).fields
    assert (field.path, field.live, field.desired) == ("sources[1].filter_subject", "x.>", "b.>")


def test_a_plain_list_deep_inside_differs_as_a_whole() -> None:
    (field,) = compared(wanted({"placement": {"tags": ["a", "c"]}}), {"placement": {"tags": ["a", "b"]}}).fields
    assert (field.path, field.live, field.desired) == ("placement.tags", ["a", "b"], ["a", "c"])


def test_an_added_item_of_a_list_of_mappings_is_named_by_its_place() -> None:
    (field,) = compared(wanted({"sources": [{"name": "A"}, {"name": "B"}]}), {"sources": [{"name": "A"}]}).fields
    assert (field.path, field.live, field.desired) == ("sources[1]", None, {"name": "B"})


def test_a_field_added_inside_a_mapping_is_named_by_its_path() -> None:
    (field,) = compared(wanted({"placement": {"cluster": "C", "tags": ["a"]}}), {"placement": {"cluster": "C"}}).fields
    assert (field.path, field.live, field.desired) == ("placement.tags", None, ["a"])


@pytest.mark.parametrize(
    ("live", "desired", "last", "expected"),
    [
        (1, 2, 1, FieldClass.CONFIG),
        (1, 2, 2, FieldClass.DRIFTED),
        (1, 2, 3, FieldClass.BOTH),
        (1, 2, None, FieldClass.BOTH),
    ],
)
def test_who_moved_a_field_follows_from_what_was_applied(live: int, desired: int, last: int, expected: str) -> None:
    owned = applied({"max_age": last} if last else {})
    (field,) = compared(wanted({"max_age": desired}), {"max_age": live}, owned).fields
    assert field.field_class == expected


def test_without_a_record_a_difference_is_nobodys() -> None:
    (field,) = compared(wanted({"max_age": 2}), {"max_age": 1}).fields
    assert field.field_class is FieldClass.PLAIN


def test_a_field_the_record_left_open_is_never_drift() -> None:
    (field,) = compared(wanted({"max_age": 2}), {"max_age": 1}, applied({}, "max_age")).fields
    assert field.field_class is FieldClass.PLAIN


def test_a_field_that_had_its_default_when_applied_and_was_set_since_has_drifted() -> None:
    (field,) = compared(wanted({}), {"max_age": 1}, applied({})).fields
    assert field.field_class is FieldClass.DRIFTED


def test_who_moved_a_nested_field_is_told_at_its_depth() -> None:
    live = {"placement": {"cluster": "D", "preferred": "n1"}}
    owned = applied({"placement": {"cluster": "C", "preferred": "n1"}})
    change = compared(wanted({"placement": {"cluster": "C", "preferred": "n2"}}), live, owned)
    classes = {field.path: field.field_class for field in change.fields}
    assert classes == {"placement.cluster": FieldClass.DRIFTED, "placement.preferred": FieldClass.CONFIG}


def test_a_field_in_sync_says_nothing_whatever_the_record_says() -> None:
    assert compared(wanted({"max_age": 2}), {"max_age": 2}, applied({"max_age": 7})).fields == ()


def test_a_patch_sets_what_is_wanted_and_unsets_what_is_not() -> None:
    change = compared(wanted({"max_age": 2}), {"max_age": 1, "no_ack": True})
    assert patch(change) == ({"max_age": 2}, ("no_ack",))


def test_a_patch_replaces_nested_fields_whole() -> None:
    desired, live = {"placement": {"cluster": "C", "tags": ["a"]}}, {"placement": {"cluster": "C", "tags": ["b"]}}
    assert patch(compared(wanted(desired), live)) == (desired, ())


@given(CONFIGS, CONFIGS, st.none() | CONFIGS)
def test_after_the_patch_nothing_differs(desired: Config, live: Config, last: Config | None) -> None:
    owned = applied(last) if last is not None else None
    change = compared(wanted(desired), live, owned)
    assert compared(wanted(desired), after(change, live), owned).fields == ()


@given(CONFIGS)
def test_nothing_differs_from_itself(config: Config) -> None:
    assert compared(wanted(config), config).fields == ()


@given(CONFIGS, CONFIGS)
def test_every_difference_is_told_with_both_values_and_nothing_else_is(desired: Config, live: Config) -> None:
    change = compared(wanted(desired), live)
    assert all(field.live != field.desired for field in change.fields)
    assert {field.top for field in change.fields} == differing(desired, live)


def differing(desired: Config, live: Config) -> set[str]:
    """By the definition: subjects and tags in any order, and metadata of others may stay."""

    def plain(config: Config) -> dict[str, Any]:
        tags = {"tags": sorted(config["placement"]["tags"])} if "placement" in config else None
        return {**config, "subjects": sorted(config.get("subjects", ())), "placement": tags, "metadata": None}

    one, other = plain(desired), plain(live)
    ours = desired.get("metadata", {}).items() - live.get("metadata", {}).items()
    return {name for name in one | other if one.get(name) != other.get(name)} | ({"metadata"} if ours else set())


def test_of_someone_elses_resource_only_what_is_written_is_compared() -> None:
    desired = wanted({"subjects": ["a"]})
    desired = type(desired)(address=desired.address, config=desired.config, external=True)
    live = found({"subjects": ["a"], "max_age": 7})
    from reconciler.changes.diff import resource_change

    assert resource_change(desired, live, None, {}).action is Action.KEEP
